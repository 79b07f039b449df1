#include "graph/ops/scatter_util.h"

#include <string>

#include "graph/ops/infer_util.h"

namespace ampc::ops {

absl::Status NeedReduction(const InferContext& ctx, absl::string_view attr, int c) {
  const std::string reduction = ctx.op().GetString(attr);
  if (reduction == "assign") return absl::OkStatus();  // Paddle's word for none
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return absl::OkStatus();
  }
  return Fail(ctx, c, attr, " is '", reduction, "', needs none, add, mul, max or min");
}

}  // namespace ampc::ops
