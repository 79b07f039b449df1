#include "graph/ops/sort_util.h"

namespace ampc::ops {
namespace {

absl::Status InferTopK(InferContext& ctx) {
  AMPC_ASSIGN_OR_RETURN(const std::optional<int64_t> k, ReadIntArg(ctx, "K", "k", 4));
  if (k.has_value() && *k < 1) return Fail(ctx, 1, "k is ", *k, ", needs at least 1");
  return InferSorted(ctx, -1, k.value_or(kUnknownDim), 2);
}

}  // namespace

OpDef TopKDef() {
  OpDef def("top_k");
  def.Doc("top_k_v2 of the largest elements along the last axis.")
      .In("X")
      .HostIn("K")
      .Out("Out")
      .Out("Indices", kAsIs)
      .A("k", 1)
      .Infer(InferTopK)
      .GradientOp({"X Indices", "Out", "X"});
  return SortAmp(def);
}

}  // namespace ampc::ops
