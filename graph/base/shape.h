// Arithmetic on concrete shapes. Dimensions are int64_t in row-major order (the last one moves fastest).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"

namespace ampc {

// Product of the dimensions; 1 for rank 0. nullopt when a dimension is negative or the product leaves int64_t (a zero elsewhere
// does not excuse either, so that strides of an accepted shape never overflow).
std::optional<int64_t> NumElements(absl::Span<const int64_t> dims);

// NumElements times SizeOf(dtype); nullopt as above or when the bytes leave int64_t.
std::optional<int64_t> NumBytes(DType dtype, absl::Span<const int64_t> dims);

// The same for a file, where small elements are packed (packed.h).
std::optional<int64_t> NumFileBytes(DType dtype, absl::Span<const int64_t> dims);

// Elements to step over per dimension; the dimensions must have passed NumElements.
absl::InlinedVector<int64_t, 4> RowMajorStrides(absl::Span<const int64_t> dims);

// "[2, 3]"; a negative dimension prints as "?".
std::string ShapeToString(absl::Span<const int64_t> dims);

}  // namespace ampc
