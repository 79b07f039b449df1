// The safetensors file with a program's weights, for the formats that keep them in one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "graph/program.h"

namespace ampc {

// "x.prog" -> "x.safetensors".
std::string WeightFileBeside(const std::string& program_path);

// Reads references to tensors by name; the file stays mapped as long as a reference lives.
class WeightFile {
 public:
  static absl::StatusOr<WeightFile> Open(const std::string& path);

  // BadInput when the file has no such tensor, Unsupported for a foreign element type.
  absl::StatusOr<WeightRef> Find(absl::string_view name) const;
  // The shape of that tensor; null when the file does not have it.
  const std::vector<int64_t>* Dims(absl::string_view name) const;
  uint64_t size() const { return source_->bytes().size(); }
  uint64_t header_hash() const { return header_hash_; }
  const std::string& path() const { return source_->path(); }

 private:
  std::shared_ptr<const WeightSource> source_;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
  uint64_t header_hash_ = 0;
};

// The key of every variable with a stored weight, by Var::id; "" for the others. A variable's name, unless another block uses
// it too.
std::vector<std::string> WeightKeys(const Program& program);

// The identity of a file that was just written.
struct WrittenWeights {
  uint64_t size = 0;
  uint64_t header_hash = 0;
};
// Writes the weights that have a key, transformed, under it, as a file of `files`. Nothing is written when there are none.
absl::StatusOr<WrittenWeights> WriteWeightFile(const Program& program, const std::vector<std::string>& keys, const std::string& path,
                                               const SaveOptions& options, AtomicFileSet* files);

}  // namespace ampc
