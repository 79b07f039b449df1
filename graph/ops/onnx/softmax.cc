// Softmax, LogSoftmax and Hardmax: along one axis from operator set 13 on, before that over all dims from `axis` on.
#include <vector>

#include "graph/ops/bounds.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/softmax.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// exp(x) over its sum, the largest taken away first, for types without a kernel.
Var* PlainSoftmax(Lowering& l, Var* x, int64_t axis) {
  Var* e = Map(l, "exp", l.Binary("elementwise_sub", x, Reduced(l, "reduce_max", x, {axis}, true)));
  return l.Binary("elementwise_div", e, Reduced(l, "reduce_sum", e, {axis}, true));
}

// 1 at the first largest element along `axis`, 0 elsewhere.
Var* Hardmax(Lowering& l, Var* x, int64_t axis) {
  const int64_t depth = DimOf(l, x, axis);
  const DType dtype = TypeOf(l, x);
  if (!l.ok()) return x;
  Var* at = Map(l, "arg_max", x, {{"axis", axis}, {"keepdims", false}});
  Var* hot = Map(l, "one_hot_v2", at, {{"depth", depth}, {"dtype", dtype}});
  const int rank = x->type.rank();
  if (axis == rank - 1) return hot;
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i) perm.push_back(i < axis ? i : i == axis ? rank - 1 : i - 1);
  return l.Transpose(hot, std::move(perm));
}

Var* Along(Lowering& l, Var* x, int64_t axis) {
  const absl::string_view type = TypeName(l.op().def());
  if (type == "Hardmax") return Hardmax(l, x, axis);
  if (type == "LogSoftmax") return Map(l, "log_softmax", x, {{"axis", axis}});
  return SoftmaxAlong(l, x, axis);
}

// Whether every dim of `x` from `first` on but the one at `axis` is 1: then there is but one axis to go along.
bool OnlyAxis(const Var* x, int64_t axis) {
  for (int64_t i = axis + 1; i < x->type.rank(); ++i) {
    if (x->type.dims[i] != 1) return false;
  }
  return true;
}

void LowerSoftmax(Lowering& l) {
  Var* x = l.In("input");
  const int rank = l.Rank(x);
  if (rank < 0) return;
  // Before 13 the axis may be the rank: rows of no dims, each of one element.
  if (l.since() < 13 && l.GetInt("axis") == rank) return l.Result("output", Along(l, l.Unsqueeze(x, {rank}), rank));
  const int64_t axis = AxisOf(l, x, l.GetInt("axis"));
  if (!l.ok()) return;
  if (l.since() >= 13 || OnlyAxis(x, axis)) return l.Result("output", Along(l, x, axis));
  // The dims from `axis` on become one and are then split again: all but one of them have to be known.
  std::vector<int64_t> dims(axis, 0);
  int unknown = 0;
  for (int64_t i = axis; i < rank; ++i) {
    dims.push_back(IsKnown(x->type.dims[i]) ? x->type.dims[i] : -1);
    unknown += dims.back() < 0;
  }
  if (unknown > 1) return l.NeedsShape("the shape of '" + x->name() + "'");
  Var* rows = Map(l, "flatten_contiguous_range", x, {{"start_axis", axis}, {"stop_axis", int64_t{rank - 1}}});
  l.Result("output", l.Reshape(Along(l, rows, axis), std::move(dims)));
}

}  // namespace

Var* SoftmaxAlong(Lowering& l, Var* x, int64_t axis) {
  return TypeOf(l, x) == DType::kF64 ? PlainSoftmax(l, x, axis) : Map(l, "softmax", x, {{"axis", axis}});
}

void AddSoftmax(OnnxOps& ops) {
  ops.Add("Softmax").Like("softmax").Lower(&LowerSoftmax).Infer(&InferSameType);
  ops.Add("LogSoftmax").Like("log_softmax").Lower(&LowerSoftmax).Infer(&InferSameType);
  ops.Add("Hardmax")
      .Amp(AmpClass::kWidest,
           "values that differ in fp32 may be equal in f16, and another be the first: the operand does not become low for it")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .BoundsAre(&ops::Between<0, 1>)
      .Lower(&LowerSoftmax)
      .Infer(&InferSameType);
}

}  // namespace ampc::onnx
