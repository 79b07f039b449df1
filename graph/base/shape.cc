#include "graph/base/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/packed.h"

namespace ampc {

std::optional<int64_t> NumElements(absl::Span<const int64_t> dims) {
  int64_t nonzero = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    empty = empty || dim == 0;
    if (__builtin_mul_overflow(nonzero, std::max<int64_t>(dim, 1), &nonzero)) return std::nullopt;
  }
  return empty ? 0 : nonzero;
}

std::optional<int64_t> NumBytes(DType dtype, absl::Span<const int64_t> dims) {
  const std::optional<int64_t> elements = NumElements(dims);
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(SizeOf(dtype)), &bytes)) return std::nullopt;
  return bytes;
}

std::optional<int64_t> NumFileBytes(DType dtype, absl::Span<const int64_t> dims) {
  const std::optional<int64_t> bytes = NumBytes(dtype, dims);
  return bytes.has_value() && IsPacked(dtype) ? PackedBytes(BitsOf(dtype), *bytes) : bytes;
}

absl::InlinedVector<int64_t, 4> RowMajorStrides(absl::Span<const int64_t> dims) {
  absl::InlinedVector<int64_t, 4> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::string ShapeToString(absl::Span<const int64_t> dims) {
  const auto format = [](std::string* out, int64_t dim) { absl::StrAppend(out, dim < 0 ? "?" : absl::StrCat(dim)); };
  return absl::StrCat("[", absl::StrJoin(dims, ", ", format), "]");
}

}  // namespace ampc
