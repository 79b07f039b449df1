#include "graph/ops/cost_util.h"
#include "graph/ops/detection_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

absl::Status InferBoxCoder(InferContext& ctx) {
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "PriorBox", 2, 2, 1));
  const Op& op = ctx.op();
  const std::string type = op.GetString("code_type");
  const bool encode = type == "encode_center_size";
  if (!encode && type != "decode_center_size") {
    return Fail(ctx, 2, "code_type is '", type, "', needs encode_center_size or decode_center_size");
  }
  AMPC_RETURN_IF_ERROR(NeedRank(ctx, "TargetBox", encode ? 2 : 3, encode ? 2 : 3, 3));
  AMPC_RETURN_IF_ERROR(NeedSameDType(ctx, "PriorBox", "TargetBox", 4));
  const size_t variances = op.GetFloats("variance").size();
  if (variances != 0 && variances != 4) return Fail(ctx, 5, "variance has ", variances, " numbers, needs 4 or none");
  if (variances != 0 && ctx.Has("PriorBoxVar")) return Fail(ctx, 5, "there are PriorBoxVar and variance, needs one of them");
  const int64_t axis = op.GetInt("axis");
  if (axis != 0 && axis != 1) return Fail(ctx, 6, "axis is ", axis, ", needs 0 or 1");
  const TensorType& prior = ctx.In("PriorBox");
  const TensorType& target = ctx.In("TargetBox");
  for (const TensorType* t : {&prior, &target}) {
    if (t->has_rank && Differ(t->dims.back(), 4))
      return Fail(ctx, 7, t == &prior ? "PriorBox" : "TargetBox", " is ", ToString(*t), ", needs 4 numbers per box");
  }
  if (ctx.Has("PriorBoxVar") && prior.has_rank && !Compatible(ctx.In("PriorBoxVar"), prior)) {
    return Fail(ctx, 8, "PriorBoxVar is ", ToString(ctx.In("PriorBoxVar")), ", needs ", ToString(prior), " like PriorBox");
  }
  TensorType out(prior.dtype, {kUnknownDim, kUnknownDim, 4});
  if (encode) {
    if (target.has_rank) out.dims[0] = target.dims[0];
    if (prior.has_rank) out.dims[1] = prior.dims[0];
  } else if (target.has_rank) {
    out.dims = target.dims;
    out.dims[2] = 4;
    const int64_t along = out.dims[axis == 0 ? 1 : 0];
    if (prior.has_rank && Differ(prior.dims[0], along))
      return Fail(ctx, 9, "PriorBox has ", prior.dims[0], " boxes, needs ", along, " like TargetBox");
  }
  ctx.Out("OutputBox", out);
  return absl::OkStatus();
}

}  // namespace

OpDef BoxCoderDef() {
  OpDef def("box_coder");
  def.Doc(
         "Boxes relative to prior boxes: encode_center_size makes offsets of the centres and logarithms of the sizes of TargetBox [n, 4] "
         "against every PriorBox [m, 4]; decode_center_size turns TargetBox [n, m, 4] back into corners, the priors lying along dim 1 - "
         "axis.")
      .In("PriorBox")
      .OptIn("PriorBoxVar")
      .In("TargetBox")
      .Out("OutputBox")
      .A("code_type", "encode_center_size")
      .A("box_normalized", true)
      .A("axis", 0)
      .A("variance", Floats{})
      .Infer(InferBoxCoder)
      .CostIs(PerResult<4>)
      .Gradient("none: used on constants and in inference only");
  return BoxAmp(def);
}

}  // namespace ampc::ops
