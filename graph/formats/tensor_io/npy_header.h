// The header of NumPy's array format, versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"

namespace ampc {

struct NpyHeader {
  DType dtype = DType::kInvalid;
  bool big_endian = false;
  bool fortran_order = false;  // the first dimension moves fastest in the file
  std::vector<int64_t> dims;   // their bytes fit in int64_t
  size_t data_offset = 0;      // of the first element, from the start of the file
};

inline constexpr size_t kMaxNpyHeader = size_t{1}
                                        << 20;  // bytes before the data; NumPy itself writes at most 64 kB but for thousands of dimensions

// `file` begins with the header and may go on behind it. BadInputError for a malformed header, UnsupportedError for an element type
// that ampc does not have (it names those it has); both begin with `name`.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file, absl::string_view name);

// The error of `found` bytes of data where the header says others.
absl::Status WrongNpySize(const NpyHeader& header, absl::string_view name, uint64_t found);

// The header NumPy writes for a little-endian, row-major array; a multiple of 64 bytes. `dtype` is not kBF16 and not kInvalid.
std::string MakeNpyHeader(DType dtype, absl::Span<const int64_t> dims);

}  // namespace ampc
