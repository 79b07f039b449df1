#include "graph/ops/gradients.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

constexpr GradientRow kRows[] = {
    {"abs", "X", "Out", "X"},
    {"acos", "X", "Out", "X"},
    {"acosh", "X", "Out", "X"},
    {"addmm", "Input X Y", "Out", "Input X Y"},
    {"affine_channel", "X Scale Bias", "Out", "X Scale Bias"},
    {"affine_grid", "Theta OutputShape", "Output", "Theta"},
    {"argsort", "X Indices", "Out", "X"},
    {"asin", "X", "Out", "X"},
    {"asinh", "X", "Out", "X"},
    {"atan", "X", "Out", "X"},
    {"atan2", "X1 X2", "Out", "X1 X2"},
    {"atanh", "X", "Out", "X"},
    {"batch_norm", "X Scale Bias MeanOut VarianceOut SavedMean SavedVariance ReserveSpace", "Y", "X Scale Bias"},
    {"bicubic_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"bilinear_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"bmm", "X Y", "Out", "X Y"},
    {"brelu", "X", "Out", "X"},
    {"ceil", "", "Out", "X"},
    {"celu", "X", "Out", "X"},
    {"clip", "X Min Max", "Out", "X"},
    {"concat", "X AxisTensor", "Out", "X"},
    {"conv2d", "Input Filter", "Output", "Input Filter"},
    {"conv2d_transpose", "Input Filter", "Output", "Input Filter"},
    {"conv3d", "Input Filter", "Output", "Input Filter"},
    {"conv3d_transpose", "Input Filter", "Output", "Input Filter"},
    {"cos", "X", "Out", "X"},
    {"cosh", "X", "Out", "X"},
    {"cross_entropy", "X Label", "Y", "X"},
    {"cumprod", "X Out", "Out", "X"},
    {"cumsum", "X", "Out", "X"},
    {"depthwise_conv2d", "Input Filter", "Output", "Input Filter"},
    {"depthwise_conv2d_transpose", "Input Filter", "Output", "Input Filter"},
    {"dot", "X Y", "Out", "X Y"},
    {"dropout", "Mask", "Out", "X"},
    {"einsum", "Operands InnerCache", "Out", "Operands"},
    {"elementwise_add", "X Y", "Out", "X Y"},
    {"elementwise_div", "X Y Out", "Out", "X Y"},
    {"elementwise_fmax", "X Y", "Out", "X Y"},
    {"elementwise_fmin", "X Y", "Out", "X Y"},
    {"elementwise_max", "X Y", "Out", "X Y"},
    {"elementwise_min", "X Y", "Out", "X Y"},
    {"elementwise_mod", "X Y", "Out", "X Y"},
    {"elementwise_mul", "X Y", "Out", "X Y"},
    {"elementwise_pow", "X Y", "Out", "X Y"},
    {"elementwise_sub", "X Y", "Out", "X Y"},
    {"elu", "X", "Out", "X"},
    {"erf", "X", "Out", "X"},
    {"exp", "Out", "Out", "X"},
    {"expand_as_v2", "X Y", "Out", "X"},
    {"expand_v2", "X Shape expand_shapes_tensor", "Out", "X"},
    {"expm1", "Out", "Out", "X"},
    {"flatten", "X", "Out", "X"},
    {"flatten2", "XShape", "Out", "X"},
    {"flatten_contiguous_range", "XShape", "Out", "X"},
    {"floor", "", "Out", "X"},
    {"frobenius_norm", "X Out", "Out", "X"},
    {"gather", "X Index Axis", "Out", "X"},
    {"gather_nd", "X Index", "Out", "X"},
    {"gelu", "X", "Out", "X"},
    {"grid_sampler", "X Grid", "Output", "X Grid"},
    {"group_norm", "X Scale Bias Mean Variance", "Y", "X Scale Bias"},
    {"hard_shrink", "X", "Out", "X"},
    {"hard_sigmoid", "Out", "Out", "X"},
    {"hard_swish", "X", "Out", "X"},
    {"index_sample", "X Index", "Out", "X"},
    {"index_select", "X Index", "Out", "X"},
    {"instance_norm", "X Scale Bias SavedMean SavedVariance", "Y", "X Scale Bias"},
    {"layer_norm", "X Scale Bias Mean Variance", "Y", "X Scale Bias"},
    {"leaky_relu", "X", "Out", "X"},
    {"linear_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"log", "X", "Out", "X"},
    {"log10", "X", "Out", "X"},
    {"log1p", "X", "Out", "X"},
    {"log2", "X", "Out", "X"},
    {"log_softmax", "Out", "Out", "X"},
    {"logsigmoid", "X", "Out", "X"},
    {"logsumexp", "X Out", "Out", "X"},
    {"lookup_table", "W Ids", "Out", "W"},
    {"lookup_table_v2", "W Ids", "Out", "W"},
    {"masked_select", "X Mask", "Y", "X"},
    {"matmul", "X Y", "Out", "X Y"},
    {"matmul_v2", "X Y", "Out", "X Y"},
    {"mean", "X", "Out", "X"},
    {"meshgrid", "X", "Out", "X"},
    {"mish", "X", "Out", "X"},
    {"mul", "X Y", "Out", "X Y"},
    {"mv", "X Vec", "Out", "X Vec"},
    {"nearest_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"p_norm", "X Out", "Out", "X"},
    {"pad", "X", "Out", "X"},
    {"pad2d", "X Paddings", "Out", "X"},
    {"pad3d", "X Paddings", "Out", "X"},
    {"pixel_shuffle", "X", "Out", "X"},
    {"pool2d", "X Out", "Out", "X"},
    {"pool3d", "X Out", "Out", "X"},
    {"pow", "X FactorTensor", "Out", "X"},
    {"prelu", "X Alpha", "Out", "X Alpha"},
    {"reciprocal", "Out", "Out", "X"},
    {"reduce_max", "X Out", "Out", "X"},
    {"reduce_mean", "X", "Out", "X"},
    {"reduce_min", "X Out", "Out", "X"},
    {"reduce_prod", "X Out", "Out", "X"},
    {"reduce_sum", "X", "Out", "X"},
    {"relu", "Out", "Out", "X"},
    {"relu6", "Out", "Out", "X"},
    {"reshape", "X", "Out", "X"},
    {"reshape2", "XShape", "Out", "X"},
    {"rnn", "Input PreState WeightList SequenceLength DropoutState Reserve Out", "Out State", "Input PreState WeightList"},
    {"roi_align", "X ROIs RoisNum", "Out", "X"},
    {"roll", "X ShiftsTensor", "Out", "X"},
    {"round", "", "Out", "X"},
    {"rsqrt", "Out", "Out", "X"},
    {"scatter", "Ids Updates", "Out", "X Updates"},
    {"scatter_nd_add", "Index Updates", "Out", "X Updates"},
    {"selu", "Out", "Out", "X"},
    {"sigmoid", "Out", "Out", "X"},
    {"sign", "", "Out", "X"},
    {"silu", "X", "Out", "X"},
    {"sin", "X", "Out", "X"},
    {"sinh", "X", "Out", "X"},
    {"slice", "Input StartsTensor EndsTensor StridesTensor StartsTensorList EndsTensorList StridesTensorList", "Out", "Input"},
    {"softmax", "Out", "Out", "X"},
    {"softmax_with_cross_entropy", "Label Softmax", "Loss", "Logits"},
    {"softplus", "X", "Out", "X"},
    {"softshrink", "X", "Out", "X"},
    {"softsign", "X", "Out", "X"},
    {"sqrt", "Out", "Out", "X"},
    {"square", "X", "Out", "X"},
    {"squeeze", "X", "Out", "X"},
    {"squeeze2", "XShape", "Out", "X"},
    {"stack", "X", "Y", "X"},
    {"stanh", "X", "Out", "X"},
    {"strided_slice", "Input StartsTensor EndsTensor StridesTensor StartsTensorList EndsTensorList StridesTensorList", "Out", "Input"},
    {"swish", "X", "Out", "X"},
    {"take_along_axis", "Input Index", "Result", "Input"},
    {"tan", "X", "Out", "X"},
    {"tanh", "Out", "Out", "X"},
    {"tanh_shrink", "X", "Out", "X"},
    {"thresholded_relu", "X", "Out", "X"},
    {"tile", "X RepeatTimes repeat_times_tensor", "Out", "X"},
    {"top_k", "X Indices", "Out", "X"},
    {"top_k_v2", "X Indices", "Out", "X"},
    {"transpose", "X", "Out", "X"},
    {"transpose2", "XShape", "Out", "X"},
    {"tril_triu", "X", "Out", "X"},
    {"trilinear_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"trunc", "", "Out", "X"},
    {"unsqueeze", "X", "Out", "X"},
    {"unsqueeze2", "XShape", "Out", "X"},
    {"where", "Condition X Y", "Out", "X Y"},
};

// The type of the gradient of forward operand `slot`: the operand's own where the gradient op reads it, else that of a result alike, else
// what XShape remembers, else that of the gradient it starts from.
TensorType GradientType(const InferContext& ctx, absl::string_view slot, int i) {
  if (ctx.Has(slot)) return ctx.In(slot, i);
  if (ctx.Has("Softmax")) return ctx.In("Softmax");
  const SlotDef& start = ctx.op().def().inputs.back();  // <result>@GRAD comes last
  TensorType type = ctx.In(start.name);
  if (!ctx.Has("XShape")) return type;
  const TensorType& shape = ctx.In("XShape");
  if (!shape.has_rank || shape.rank() == 0) return TensorType::Unranked(type.dtype);
  return TensorType(type.dtype, Dims(shape.dims.begin() + 1, shape.dims.end()));
}

absl::Status InferGradient(InferContext& ctx) {
  for (const SlotDef& slot : ctx.op().def().outputs) {
    const absl::string_view operand = absl::StripSuffix(slot.name, "@GRAD");
    for (int i = 0; i < ctx.NumOut(slot.name); ++i) {
      if (ctx.Has(operand) && i >= ctx.Count(operand)) return Fail(ctx, 1, slot.name, " has more results than ", operand, " operands");
      ctx.Out(slot.name, i, GradientType(ctx, operand, i));
    }
  }
  return absl::OkStatus();
}

// The slots named in `names`, with `suffix`. A row may name slots that only some ops of its family have.
void AddSlots(const OpDef& forward, absl::string_view names, absl::string_view suffix, std::vector<SlotDef>& to) {
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    const int input = forward.InputSlot(name), output = forward.OutputSlot(name);
    if (input < 0 && output < 0) continue;
    SlotDef slot = input >= 0 ? forward.inputs[input] : forward.outputs[output];
    absl::StrAppend(&slot.name, suffix);
    slot.precision = kAsIs;
    slot.overwrites = false;
    to.push_back(std::move(slot));
  }
}

}  // namespace

absl::Span<const GradientRow> GradientRows() { return kRows; }

OpDef GradientOf(const OpDef& forward, const GradientRow& row) {
  OpDef def(forward.gradient);
  def.Doc(absl::StrCat("The gradient of ", forward.name, "."));
  AddSlots(forward, row.needs, "", def.inputs);
  AddSlots(forward, row.of, "@GRAD", def.inputs);
  AddSlots(forward, row.gives, "@GRAD", def.outputs);
  for (SlotDef& slot : def.outputs) slot.optional = true;
  def.attrs = forward.attrs;
  for (AttrDef& attr : def.attrs) attr.retarget = false;
  def.pure = true;
  return def.Infer(InferGradient)
      .CostIs(PerOperand<2>)
      .Amp(kNever, "made after the forward pass was decided; takes the types of the values whose gradient it computes")
      .Gradient("none: a gradient is not differentiated again");
}

}  // namespace ampc::ops
