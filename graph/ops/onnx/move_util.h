// What the records that move data share: lists for attributes, axes, and dims as values of a program.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

using Ints = std::vector<int32_t>;

inline constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();
// For attributes of 32 bits: bounds beyond them mean "to the end" and are cut to the largest number.
Ints ToInts(const std::vector<int64_t>& values);
// The op is wrong: an error of the model with the op's place.
void Wrong(Lowering& l, absl::string_view what);
// `axis` in [0, rank), counted from the end where it is negative; 0 and the error otherwise.
int Axis(Lowering& l, int64_t axis, int rank);
// The attribute of that name as an axis of `x`; without its rank only where it does not count from the end.
int AxisAttr(Lowering& l, absl::string_view name, const Var* x);

// The dims [begin, end) of `x`, whose rank is known, as i64 [end - begin]; a constant where they are known.
Var* DimsOf(Lowering& l, Var* x, int begin, int end);
// One of them, of rank 0, as a number of `dtype`.
Var* DimOf(Lowering& l, Var* x, int axis, DType dtype);
// Every dim is known; without a word about what is needed.
bool IsStatic(const Var* x);
// Vectors one after the other.
Var* Join(Lowering& l, std::vector<Var*> parts);
// Indices along `axis` of `x` with those below 0 counted from the end; `index` itself where there are none.
Var* WrapIndex(Lowering& l, Var* index, Var* x, int axis);
// The slices of `x` along `axis` that `index`, of any rank and from 0 on, names: dims of x before the axis, of the index, of x after it.
Var* Take(Lowering& l, Var* x, Var* index, int axis);
// The slices of `x` along `axis` at these positions.
Var* TakeConst(Lowering& l, Var* x, const std::vector<int64_t>& positions, int axis);

}  // namespace ampc::onnx
