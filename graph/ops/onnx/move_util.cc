#include "graph/ops/onnx/move_util.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/op.h"

namespace ampc::onnx {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();

}  // namespace

Ints ToInts(const std::vector<int64_t>& values) {
  Ints out;
  for (int64_t v : values) out.push_back(static_cast<int32_t>(std::clamp(v, kLeast, kMost)));
  return out;
}

void Wrong(Lowering& l, absl::string_view what) { l.Fail(BadInputError(absl::StrCat(Describe(l.op()), ": ", what))); }

int Axis(Lowering& l, int64_t axis, int rank) {
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at >= 0 && at < rank) return static_cast<int>(at);
  if (rank >= 0) Wrong(l, absl::StrCat("axis is ", axis, ", needs ", -rank, " to ", rank - 1));
  return 0;
}

int AxisAttr(Lowering& l, absl::string_view name, const Var* x) {
  const int64_t axis = l.GetInt(name);
  if (axis >= 0 && !x->type.has_rank) return static_cast<int>(axis);
  return Axis(l, axis, l.Rank(x));
}

Var* DimsOf(Lowering& l, Var* x, int begin, int end) {
  const Dims& dims = x->type.dims;
  end = std::min(end, x->type.rank());
  begin = std::min(begin, end);
  if (std::all_of(dims.begin() + begin, dims.begin() + end, IsKnown)) return l.Const({dims.begin() + begin, dims.begin() + end});
  Var* shape = l.Cast(l.Op("shape", {{"Input", x}}), DType::kI64);
  if (begin == 0 && end == x->type.rank()) return shape;
  return l.Op("slice", {{"Input", shape}}, {{"axes", Ints{0}}, {"starts", Ints{begin}}, {"ends", Ints{end}}});
}

Var* DimOf(Lowering& l, Var* x, int axis, DType dtype) {
  if (axis < x->type.rank() && IsKnown(x->type.dims[axis])) return l.ConstScalar(static_cast<double>(x->type.dims[axis]), dtype);
  Var* shape = l.Op("shape", {{"Input", x}});
  return l.Cast(
      l.Op("slice", {{"Input", shape}}, {{"axes", Ints{0}}, {"starts", Ints{axis}}, {"ends", Ints{axis + 1}}, {"decrease_axis", Ints{0}}}),
      dtype);
}

bool IsStatic(const Var* x) { return x->type.IsStatic(); }

Var* Join(Lowering& l, std::vector<Var*> parts) {
  return parts.size() == 1 ? parts[0] : l.Op("concat", {{"X", std::move(parts)}}, {{"axis", int32_t{0}}});
}

Var* WrapIndex(Lowering& l, Var* index, Var* x, int axis) {
  const int64_t size = axis < x->type.rank() ? x->type.dims[axis] : kUnknownDim;
  if (std::optional<std::vector<int64_t>> known = l.Ints(index); known && index->type.IsStatic()) {
    if (std::all_of(known->begin(), known->end(), [](int64_t i) { return i >= 0; })) return index;
    if (IsKnown(size)) {
      for (int64_t& i : *known) i += i < 0 ? size : 0;
      return l.Const(HostTensor::FromValues<int64_t>(index->type.dims, *known));
    }
  }
  if (size == 0) return index;
  // What is out of range below is taken modulo the size too; above it stays and is found.
  Var* wrapped = l.Binary("elementwise_mod", index, DimOf(l, x, axis, index->type.dtype));
  return l.Binary("elementwise_max", index, wrapped);
}

Var* Take(Lowering& l, Var* x, Var* index, int axis) {
  const int rank = l.Rank(index);
  if (rank <= 1) return l.Op("gather", {{"X", x}, {"Index", index}}, {{"axis", int32_t{axis}}});
  const int of_x = axis == 0 ? 1 : l.Rank(x);
  if (!l.ok()) return x;
  // The last dim of the index counts the dims that it names.
  Var* by_one = l.Unsqueeze(index, {rank});
  if (axis == 0) return l.Op("gather_nd", {{"X", x}, {"Index", by_one}});
  std::vector<int> to_front = {axis};
  for (int i = 0; i < of_x; ++i) {
    if (i != axis) to_front.push_back(i);
  }
  Var* taken = l.Op("gather_nd", {{"X", l.Transpose(x, to_front)}, {"Index", by_one}});
  std::vector<int> back;
  for (int i = 0; i < axis; ++i) back.push_back(rank + i);
  for (int i = 0; i < rank; ++i) back.push_back(i);
  for (int i = axis + 1; i < of_x; ++i) back.push_back(rank + i - 1);
  return l.Transpose(taken, back);
}

Var* TakeConst(Lowering& l, Var* x, const std::vector<int64_t>& positions, int axis) {
  return l.Op("index_select", {{"X", x}, {"Index", l.Const(positions)}}, {{"dim", int32_t{axis}}});
}

}  // namespace ampc::onnx
