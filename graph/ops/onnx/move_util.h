// Common parts of the records that move data: lists for attributes, axes, and dims as values of a program.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

using Ints = std::vector<int32_t>;

inline constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();
// The attribute with these numbers: of 32 bits where all fit, as files have them, else of 64. A record reads both as int64_t.
AttrValue WholeNumber(int64_t value);
AttrValue WholeNumbers(const std::vector<int64_t>& values);
// The op is wrong: an error of the model with the op's place.
void Wrong(Lowering& l, absl::string_view what);
// `axis` in [0, rank), counted from the end where it is negative; 0 and the error otherwise.
int Axis(Lowering& l, int64_t axis, int rank);
// The attribute of that name as an axis of `x`; without its rank only where it does not count from the end.
int AxisAttr(Lowering& l, absl::string_view name, const Var* x);

// The numbers of `v`, which has to be known: integers, or as operator set 1 has them, floats that are whole; absent, and
// the state, otherwise.
std::optional<std::vector<int64_t>> NeedWhole(Lowering& l, Var* v);

// The dims [begin, end) of `x`, whose rank is known, as i64 [end - begin]; a constant where they are known.
Var* DimsOf(Lowering& l, Var* x, int begin, int end);
// One of them, of rank 0, as a number of `dtype`.
Var* DimOf(Lowering& l, Var* x, int axis, DType dtype);
// Every dim is known; without a word about what is needed.
bool IsStatic(const Var* x);
// Vectors one after the other.
Var* Join(Lowering& l, std::vector<Var*> parts);
// An index, and the attribute of the ops that take it: whether numbers below 0 count from the end.
struct Index {
  Var* numbers = nullptr;
  bool from_end = false;
};
// Along `axis` of `x`, where numbers below 0 count from the end. Those that are known and right are counted here.
Index IndexAlong(Lowering& l, Var* index, const Var* x, int axis);
// The slices of `x` along `axis` that an index of any rank names: dims of x before the axis, of the index, of x after it.
Var* Take(Lowering& l, Var* x, const Index& index, int axis);
// The slices of `x` along `axis` at position(0), ..., position(count - 1); the error where there cannot be so many.
Var* TakeConst(Lowering& l, Var* x, int64_t count, const std::function<int64_t(int64_t)>& position, int axis);

}  // namespace ampc::onnx
