#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferIncrement(InferContext& ctx) {
  const TensorType& x = ctx.In("X");
  if (x.has_rank && Differ(Product(x.dims), 1)) return Fail(ctx, 1, "X has ", Product(x.dims), " elements, needs 1");
  ctx.Out("Out", x);
  return absl::OkStatus();
}

}  // namespace

OpDef IncrementDef() {
  return MayOverwrite(OpDef("increment")
                          .Doc("Out = X + step, one element: counters of loops and steps.")
                          .In("X", kAsIs)
                          .Out("Out", kAsIs)
                          .A("step", 1.0f)
                          .Use(AttrUse::kAdds)
                          .Infer(InferIncrement)
                          .CostIs(PerResult<1>)
                          .Amp(kNever, "counts: in f16 a counter stops at 2048")
                          .Gradient("none: a counter is not differentiated"));
}

}  // namespace ampc::ops
