// Operators that read or write at positions which an operand gives.
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

void LowerGather(Lowering& l) {
  Var* x = l.In("data");
  const int axis = AxisAttr(l, "axis", x);
  if (!l.ok()) return;
  l.Result("output", Take(l, x, IndexAlong(l, l.In("indices"), x, axis), axis));
}

// The part of `x` that an index with these dims covers: in every dim but the axis it may be shorter.
Var* CutToIndex(Lowering& l, Var* x, Var* index, int axis) {
  const int rank = l.Rank(x);
  if (l.Rank(index) != rank) {
    if (l.ok()) Wrong(l, absl::StrCat("indices has rank ", index->type.rank(), ", needs ", rank, " like data"));
    return x;
  }
  std::vector<int64_t> longer;
  bool known = true;
  for (int i = 0; i < rank; ++i) {
    const int64_t have = x->type.dims[i], want = index->type.dims[i];
    if (i == axis || (have == want && have != kUnknownDim)) continue;
    longer.push_back(i);
    known = known && IsKnown(want);
  }
  if (longer.empty()) return x;
  Lowering::Attrs attrs = {{"axes", WholeNumbers(longer)}, {"starts", Ints(longer.size(), 0)}};
  if (known) {
    std::vector<int64_t> ends;
    for (int64_t i : longer) ends.push_back(index->type.dims[i]);
    attrs.push_back({"ends", WholeNumbers(ends)});
    return l.Op("slice", {{"Input", x}}, attrs);
  }
  std::vector<Var*> ends;
  for (int64_t i : longer) ends.push_back(DimsOf(l, index, static_cast<int>(i), static_cast<int>(i) + 1));
  return l.Op("slice", {{"Input", x}, {"EndsTensor", Join(l, ends)}}, attrs);
}

void LowerGatherElements(Lowering& l) {
  Var* x = l.In("data");
  const int axis = AxisAttr(l, "axis", x);
  if (!l.ok()) return;
  const Index index = IndexAlong(l, l.In("indices"), x, axis);
  x = CutToIndex(l, x, index.numbers, axis);
  Lowering::Attrs attrs = {{"Axis", int32_t{axis}}};
  if (index.from_end) attrs.push_back({"from_end", true});
  l.Result("output", l.Op("take_along_axis", {{"Input", x}, {"Index", index.numbers}}, attrs, "Result"));
}

// 0, 1, ... along one dim of `dims`, the same along all others.
HostTensor Counting(const std::vector<int64_t>& dims, size_t along) {
  int64_t total = 1, inner = 1;
  for (int64_t d : dims) total *= d;
  for (size_t i = along + 1; i < dims.size(); ++i) inner *= dims[i];
  std::vector<int64_t> values(total);
  for (int64_t i = 0; i < total; ++i) values[i] = i / inner % dims[along];
  return HostTensor::FromValues<int64_t>(dims, values);
}

void LowerGatherND(Lowering& l) {
  Var *x = l.In("data"), *index = l.In("indices");
  const int rank = l.Rank(index);
  const int64_t batch = l.since() < 12 ? 0 : l.GetInt("batch_dims");
  if (l.Rank(x) < 0 || rank < 0) return;
  if (rank < 1 || batch < 0 || batch >= rank || batch >= x->type.rank()) return Wrong(l, absl::StrCat("batch_dims is ", batch));
  if (!IsKnown(index->type.dims.back())) return l.NeedsShape("the last dim of the indices");
  const std::optional<std::vector<int64_t>> known = l.Ints(index);
  Lowering::Attrs attrs;
  if (!known || std::any_of(known->begin(), known->end(), [](int64_t i) { return i < 0; })) attrs.push_back({"from_end", true});
  if (batch > 0) {  // an index names its own position in the batch
    const auto dims = l.Shape(index);
    if (!dims) return;
    std::vector<int64_t> one(dims->begin(), dims->end() - 1);
    one.push_back(1);
    std::vector<Var*> parts;
    for (int64_t b = 0; b < batch; ++b) parts.push_back(l.Cast(l.Const(Counting(one, b)), index->type.dtype));
    parts.push_back(index);
    index = l.Op("concat", {{"X", parts}}, {{"axis", int32_t{rank - 1}}});
  }
  l.Result("output", l.Op("gather_nd", {{"X", x}, {"Index", index}}, attrs));
}

std::string ScatterReduction(Lowering& l) { return l.since() < 16 ? "none" : l.GetString("reduction"); }

void LowerScatterElements(Lowering& l) {
  Var* x = l.In("data");
  l.Result("output", l.Op("put_along_axis", {{"Input", x}, {"Index", l.In("indices")}, {"Value", l.In("updates")}},
                          {{"Axis", WholeNumber(l.GetInt("axis"))}, {"Reduce", ScatterReduction(l)}}, "Result"));
}

void LowerScatterND(Lowering& l) {
  l.Result("output", l.Op("scatter_nd_update", {{"X", l.In("data")}, {"Index", l.In("indices")}, {"Updates", l.In("updates")}},
                          {{"reduce", ScatterReduction(l)}}));
}

AmpClass ScatterClass(const ampc::Op& op) {
  const std::string reduction = op.GetString("reduction", "none");
  return reduction == "none" || reduction == "max" || reduction == "min" ? AmpClass::kWidest : AmpClass::kDeny;
}

// ONNX Runtime has f16 for the maximum and the minimum of ScatterElements, and not for ScatterND's.
AmpClass ScatterNdClass(const ampc::Op& op) { return op.GetString("reduction", "none") == "none" ? AmpClass::kWidest : AmpClass::kDeny; }

void LowerNonZero(Lowering& l) {
  Var* x = l.In("X");
  if (l.Rank(x) == 0) x = l.Unsqueeze(x, {0});
  l.Result("Y", l.Transpose(l.Op("where_index", {{"Condition", x}}), {1, 0}));
}

void LowerCompress(Lowering& l) {
  Var* x = l.In("input");
  int axis = 0;
  if (l.HasAttr("axis")) {
    axis = AxisAttr(l, "axis", x);
  } else {
    x = l.Reshape(x, {-1});
  }
  Var* chosen = l.Op("where_index", {{"Condition", l.In("condition")}});
  l.Result("output", l.Op("gather", {{"X", x}, {"Index", chosen}}, {{"axis", int32_t{axis}}}));
}

void LowerTopK(Lowering& l) {
  std::vector<Lowering::Operand> operands = {{"X", l.In("X")}};
  Lowering::Attrs attrs = {{"axis", WholeNumber(l.GetInt("axis"))}};
  if (l.since() < 10) attrs.push_back({"k", WholeNumber(l.GetInt("k"))});
  if (l.since() >= 10) operands.push_back({"K", l.In("K")});
  if (l.since() >= 11) {
    attrs.push_back({"largest", l.GetInt("largest") != 0});
    attrs.push_back({"sorted", l.GetInt("sorted") != 0});
  }
  const std::vector<Var*> best = l.Ops("top_k_v2", operands, attrs, {"Out", "Indices"});
  l.Result("Values", best[0]);
  l.Result("Indices", best[1]);
}

void LowerUnique(Lowering& l) {
  Var* x = l.In("X");
  Lowering::Attrs attrs = {{"is_sorted", l.GetInt("sorted") != 0}, {"flatten", !l.HasAttr("axis")}};
  if (l.HasAttr("axis")) attrs.push_back({"axis", int32_t{AxisAttr(l, "axis", x)}});
  const std::vector<Var*> found = l.Ops("unique", {{"X", x}}, attrs, {"Out", "Indices", "Index", "Counts"});
  constexpr absl::string_view kFormals[] = {"Y", "indices", "inverse_indices", "counts"};
  for (int i = 0; i < 4; ++i) l.Result(kFormals[i], found[i]);
}

// Each position of the first steps of a sequence comes from the opposite one.
void LowerReverseSequence(Lowering& l) {
  Var *x = l.In("input"), *lengths = l.In("sequence_lens");
  const int rank = l.Rank(x);
  const int batch = Axis(l, l.GetInt("batch_axis"), rank), time = Axis(l, l.GetInt("time_axis"), rank);
  if (!l.ok()) return;
  if (batch == time || batch > 1 || time > 1) return Wrong(l, "batch_axis and time_axis need to be 0 and 1");
  const int64_t n = x->type.dims[batch], steps = x->type.dims[time];
  if (!IsKnown(n) || !IsKnown(steps)) return l.NeedsShape("the batch and the steps");
  const std::vector<int64_t> dims = {n, steps};
  Var* step = l.Const(Counting(dims, 1));
  Var* length = l.Reshape(lengths, {n, 1});
  Var* opposite = l.Binary("elementwise_sub", l.Binary("elementwise_sub", length, l.ConstScalar(1, DType::kI64)), step);
  Var* reversed = l.Op("less_than", {{"X", step}, {"Y", l.Op("expand_v2", {{"X", length}}, {{"shape", WholeNumbers(dims)}})}});
  Var* from = l.Op("where", {{"Condition", reversed}, {"X", opposite}, {"Y", step}});
  Var* image = l.Const(Counting(dims, 0));
  Var* index = l.Op("stack", {{"X", {image, from}}}, {{"axis", int32_t{2}}}, "Y");
  std::vector<int> swapped = {1, 0};
  for (int i = 2; i < rank; ++i) swapped.push_back(i);
  Var* rows = l.Op("gather_nd", {{"X", batch == 0 ? x : l.Transpose(x, swapped)}, {"Index", index}});
  l.Result("Y", batch == 0 ? rows : l.Transpose(rows, swapped));
}

void LowerNonMaxSuppression(Lowering& l) {
  std::vector<Lowering::Operand> operands = {{"Boxes", l.In("boxes")}, {"Scores", l.In("scores")}};
  if (l.Has("max_output_boxes_per_class")) operands.push_back({"MaxOutputBoxes", l.In("max_output_boxes_per_class")});
  if (l.Has("iou_threshold")) operands.push_back({"IouThreshold", l.In("iou_threshold")});
  if (l.Has("score_threshold")) operands.push_back({"ScoreThreshold", l.In("score_threshold")});
  l.Result("selected_indices", l.Op("non_max_suppression", operands, {{"center_point_box", l.GetInt("center_point_box") != 0}}));
}

}  // namespace

void AddIndex(OnnxOps& ops) {
  ops.Add("Gather").Like("gather").Lower(&LowerGather);
  ops.Add("GatherElements").Like("take_along_axis").Lower(&LowerGatherElements);
  ops.Add("GatherND").Like("gather_nd").Lower(&LowerGatherND);
  ops.Add("Scatter").Like("put_along_axis").Lower(&LowerScatterElements);
  ops.Add("ScatterElements").Like("put_along_axis").AmpWhen(&ScatterClass).Lower(&LowerScatterElements);
  ops.Add("ScatterND").Like("scatter_nd_update").AmpWhen(&ScatterNdClass).Lower(&LowerScatterND);
  ops.Add("NonZero").Like("where_index").Lower(&LowerNonZero);
  ops.Add("Compress").Like("gather").Lower(&LowerCompress).AsIs({"condition"});
  ops.Add("TopK").Like("top_k_v2").Lower(&LowerTopK);
  ops.Add("Unique").Like("unique").Lower(&LowerUnique);
  ops.Add("ReverseSequence").Like("gather_nd").Lower(&LowerReverseSequence);
  ops.Add("NonMaxSuppression")
      .Like("non_max_suppression")
      .Lower(&LowerNonMaxSuppression)
      .Fp32({"boxes", "scores"})
      .AsIs({"iou_threshold", "score_threshold"});
}

}  // namespace ampc::onnx
