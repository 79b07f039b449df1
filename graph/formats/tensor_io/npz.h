// NumPy's .npz archives: named tensors, one .npy member each. Element types as in npy.h.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/atomic_file.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// Stored and compressed archives, zip64 included. Names come without ".npy"; a member with another suffix, or two of one name, is
// BadInputError, as everything malformed.
absl::StatusOr<std::map<std::string, HostTensor>> ReadNpz(const std::string& path);

// The same from the bytes of a whole file; `path` begins error messages.
absl::StatusOr<std::map<std::string, HostTensor>> ParseNpz(absl::string_view archive, absl::string_view path);

// Uncompressed, in the order of the names, without time stamps: equal tensors give equal files.
absl::Status WriteNpz(const std::string& path, const std::map<std::string, HostTensor>& tensors, AtomicFileWriter::Options options = {});
// The same, complete and not committed: for an AtomicFileSet.
absl::StatusOr<AtomicFileWriter> MakeNpz(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                                         AtomicFileWriter::Options options = {});

}  // namespace ampc
