#include "graph/ops/sort_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTopKV2(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> k, ReadIntArg(ctx, "K", "k", 4));
  if (k.has_value() && *k < 0) return Fail(ctx, 1, "k is ", *k, ", needs at least 0");
  return InferSorted(ctx, ctx.op().GetInt("axis"), k.value_or(kUnknownDim), 2);
}

}  // namespace

OpDef TopKV2Def() {
  OpDef def("top_k_v2");
  def.Doc(
         "Out: the k largest (or smallest) elements of X along 'axis', in order, Indices: where they were; of equal elements the first, "
         "and NaN is above every number. K replaces the attribute. Without 'sorted' the order is the same.")
      .In("X")
      .HostIn("K")
      .Out("Out")
      .Out("Indices", kAsIs)
      .A("k", 1)
      .A("axis", -1)
      .A("largest", true)
      .A("sorted", true)
      .Infer(InferTopKV2)
      .GradientOp({"X Indices K", "Out", "X"})
      .Alias("onnx", "TopK");
  return SortAmp(def);
}

}  // namespace ampc::ops
