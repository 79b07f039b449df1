#include "graph/ops/gradients.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/host_tensor.h"
#include "graph/op_registry.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/program.h"

namespace ampc::ops {
namespace {

// Of `pad`: what was there before the padding.
absl::Status InferPadGradient(InferContext& ctx) {
  TensorType type = ctx.In("Out@GRAD");
  const std::vector<int64_t> paddings = ctx.op().GetInts("paddings");
  if (type.has_rank && paddings.size() != 2 * type.dims.size()) return Fail(ctx, 1, "paddings has ", paddings.size(), " numbers for rank ", type.rank());
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (IsKnown(type.dims[i])) type.dims[i] -= paddings[2 * i] + paddings[2 * i + 1];
  }
  ctx.Out("X@GRAD", std::move(type));
  return absl::OkStatus();
}

// Of `pixel_shuffle`: channels go back into the depth.
absl::Status InferPixelShuffleGradient(InferContext& ctx) {
  TensorType type = ctx.In("Out@GRAD");
  const int64_t factor = ctx.op().GetInt("upscale_factor", 1);
  const bool last = ctx.op().GetString("data_format", "NCHW") == "NHWC";
  if (type.has_rank && (type.rank() != 4 || factor < 1)) return Fail(ctx, 1, "needs 4 dimensions and a factor of 1 or more, the gradient is ", ToString(type));
  for (size_t i = 1; i < type.dims.size(); ++i) {
    if (IsKnown(type.dims[i])) type.dims[i] = i == (last ? 3 : 1) ? type.dims[i] * factor * factor : type.dims[i] / factor;
  }
  ctx.Out("X@GRAD", std::move(type));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"abs", "X", "Out", "X"},
    {"acos", "X", "Out", "X"},
    {"acosh", "X", "Out", "X"},
    {"addmm", "Input X Y", "Out", "Input X Y"},
    {"affine_channel", "X Scale", "Out", "X Scale Bias", "Scale"},
    {"affine_grid", "Theta OutputShape", "Output", "Theta"},
    {"argsort", "X Indices", "Out", "X"},
    {"asin", "X", "Out", "X"},
    {"asinh", "X", "Out", "X"},
    {"atan", "X", "Out", "X"},
    {"atan2", "X1 X2", "Out", "X1 X2"},
    {"atanh", "X", "Out", "X"},
    {"batch_norm", "X Scale Bias MeanOut? VarianceOut? SavedMean SavedVariance ReserveSpace?", "Y", "X Scale Bias"},
    {"bicubic_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"bilinear_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"bmm", "X Y", "Out", "X Y"},
    {"brelu", "X", "Out", "X"},
    {"ceil", "", "Out", "X"},
    {"celu", "X", "Out", "X"},
    {"clip", "X Min Max", "Out", "X"},
    {"concat", "X AxisTensor", "Out", "X"},
    {"conv2d", "Input Filter", "Output", "Input Filter"},
    {"conv2d_transpose", "Input Filter Bias", "Output", "Input Filter"},
    {"conv3d", "Input Filter", "Output", "Input Filter"},
    {"conv3d_transpose", "Input Filter", "Output", "Input Filter"},
    {"cos", "X", "Out", "X"},
    {"cosh", "X", "Out", "X"},
    {"cross_entropy", "X Label", "Y", "X"},
    {"cumprod", "X Out", "Out", "X"},
    {"cumsum", "X", "Out", "X"},
    {"depthwise_conv2d", "Input Filter", "Output", "Input Filter"},
    {"depthwise_conv2d_transpose", "Input Filter Bias", "Output", "Input Filter"},
    {"dot", "X Y", "Out", "X Y"},
    {"dropout", "Mask", "Out", "X"},
    {"einsum", "Operands InnerCache?", "Out", "Operands"},
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
    {"elu", "X Out?", "Out", "X"},
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
    {"group_norm", "X Y? Scale Bias Mean Variance", "Y", "X Scale Bias"},
    {"hard_shrink", "X", "Out", "X"},
    {"hard_sigmoid", "Out", "Out", "X"},
    {"hard_swish", "X", "Out", "X"},
    {"index_sample", "X Index", "Out", "X"},
    {"index_select", "X Index", "Out", "X"},
    {"instance_norm", "X Scale SavedMean SavedVariance", "Y", "X Scale Bias", "Scale"},
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
    {"pad", "", "Out", "X", "", InferPadGradient},
    {"pad2d", "X Paddings", "Out", "X"},
    {"pad3d", "X Paddings", "Out", "X"},
    {"pixel_shuffle", "", "Out", "X", "", InferPixelShuffleGradient},
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
    {"rnn", "Input PreState WeightList SequenceLength DropoutState? Reserve? Out", "Out State", "Input PreState WeightList"},
    {"roi_align", "X ROIs RoisNum", "Out", "X"},
    {"roll", "X ShiftsTensor", "Out", "X"},
    {"round", "", "Out", "X"},
    {"rsqrt", "Out", "Out", "X"},
    {"scatter", "Ids Updates", "Out", "X Updates"},
    {"scatter_nd_add", "Index Updates", "Out", "X Updates"},
    {"selu", "Out", "Out", "X"},
    {"sigmoid", "Out", "Out", "X"},
    {"silu", "X Out?", "Out", "X"},
    {"sin", "X", "Out", "X"},
    {"sinh", "X", "Out", "X"},
    {"slice", "Input StartsTensor EndsTensor StartsTensorList EndsTensorList", "Out", "Input"},
    {"softmax", "Out", "Out", "X"},
    {"softmax_with_cross_entropy", "Label Softmax", "Loss", "Logits", "Softmax"},
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
    {"top_k_v2", "X Indices K", "Out", "X"},
    {"transpose", "X Out?", "Out", "X"},
    {"transpose2", "XShape", "Out", "X"},
    {"tril_triu", "", "Out", "X"},
    {"trilinear_interp_v2", "X OutSize SizeTensor Scale", "Out", "X"},
    {"trunc", "", "Out", "X"},
    {"unsqueeze", "X", "Out", "X"},
    {"unsqueeze2", "XShape AxesTensor AxesTensorList", "Out", "X"},
    {"where", "Condition X Y", "Out", "X Y"},
};

// The type of the gradient of forward operand `slot`; `row` says where it comes from.
TensorType GradientType(const InferContext& ctx, const GradientRow& row, absl::string_view slot, int i) {
  if (ctx.Has(slot)) return ctx.In(slot, i);
  if (row.like[0] != 0) return ctx.Has(row.like) ? ctx.In(row.like) : TensorType::Unranked(DType::kInvalid);
  const absl::string_view of = row.of;
  const std::string start = absl::StrCat(of.substr(0, of.find(' ')), "@GRAD");
  if (!ctx.Has(start)) return TensorType::Unranked(DType::kInvalid);
  TensorType type = ctx.In(start);
  if (!ctx.Has("XShape")) return type;
  const TensorType& shape = ctx.In("XShape");
  if (!shape.has_rank || shape.rank() == 0) return TensorType::Unranked(type.dtype);
  return TensorType(type.dtype, Dims(shape.dims.begin() + 1, shape.dims.end()));
}

// The types that CheckForward gives the forward op's operands.
class ForwardTypes final : public TypeEnv {
 public:
  bool PlansMemory() const override { return true; }
};

// The operand of the gradient op in that place, with its value where it steers shapes and is known.
Var* CopyOperand(const InferContext& ctx, const SlotDef& slot, int i, Block& block) {
  Var* copy = block.AddVar(block.UniqueName(slot.name), VarKind::kTemp, ctx.In(slot.name, i));
  if (!slot.host_value || !copy->type.IsStatic()) return copy;
  const std::optional<std::vector<int64_t>> ints = ctx.Ints(slot.name, i);
  if (!ints.has_value() || static_cast<int64_t>(ints->size()) != copy->type.NumElements()) return copy;
  copy->type.dtype = DType::kI64;
  copy->literal = std::make_shared<const HostTensor>(HostTensor::FromValues<int64_t>(copy->type.dims, *ints));
  return copy;
}

// The forward op, alone in a program, on the operands that the gradient op reads; one that it computes the gradient of only is like that gradient
// (unless the row has an inference of its own, which says otherwise), and statistics are like Scale. False where it needs another one.
bool MakeForward(const InferContext& ctx, const GradientRow& row, Block& block, Op* forward) {
  for (size_t s = 0; s < forward->def().inputs.size(); ++s) {
    const SlotDef& slot = forward->def().inputs[s];
    std::vector<Var*> operands;
    const int count = ctx.op().def().InputSlot(slot.name) < 0 ? 0 : ctx.Count(slot.name);
    for (int i = 0; i < count; ++i) operands.push_back(CopyOperand(ctx, slot, i, block));
    if (operands.empty() && !slot.optional) {
      const bool given = ctx.op().def().OutputSlot(slot.name + "@GRAD") >= 0;
      if (given && row.infer != nullptr) return false;
      if (!given && !(ctx.op().def().InputSlot("Scale") >= 0 && ctx.Has("Scale"))) return false;
      TensorType type = given ? GradientType(ctx, row, slot.name, 0) : ctx.In("Scale");
      operands.push_back(block.AddVar(block.UniqueName(slot.name), VarKind::kTemp, std::move(type)));
    }
    forward->SetInputs(static_cast<int>(s), operands);
  }
  for (size_t s = 0; s < forward->def().outputs.size(); ++s) {
    const std::string& name = forward->def().outputs[s].name;
    const std::string& shown = ctx.op().outputs()[0]->name();  // messages name the gradient op by its result
    std::vector<Var*> results = {block.AddVar(block.UniqueName(s == 0 ? shown : name), VarKind::kTemp, TensorType())};
    const int count = ctx.op().def().InputSlot(name + "@GRAD") < 0 ? 1 : ctx.Count(name + "@GRAD");
    for (int i = 1; i < count; ++i) results.push_back(block.AddVar(block.UniqueName(name), VarKind::kTemp, TensorType()));
    forward->SetOutputs(static_cast<int>(s), results);
  }
  for (const Attr& attr : ctx.op().attrs()) forward->SetAttr(attr.name, attr.value);
  return true;
}

// As many elements, where both are counted; the dims themselves, where there are as many.
bool SameDims(const TensorType& a, const TensorType& b) {
  if (!a.has_rank || !b.has_rank) return true;
  if (a.rank() != b.rank()) return !Differ(Product(a.dims), Product(b.dims));
  for (int i = 0; i < a.rank(); ++i) {
    if (Differ(a.dims[i], b.dims[i])) return false;
  }
  return true;
}

// Holds the results that the gradient op reads, and their gradients, against the forward op's inference, so that no kernel reads behind an operand.
// Only where memory is planned: files of different versions declare open dims and statistics in ways that a run never sees.
absl::Status CheckForward(const InferContext& ctx, const GradientRow& row) {
  if (!ctx.PlansMemory()) return absl::OkStatus();
  Program program("forward");
  const OpDef& def = *Ops().Find(row.forward);
  const std::unique_ptr<Op> forward = program.main().NewOp(&def);
  if (!MakeForward(ctx, row, program.main(), forward.get())) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(*forward, ForwardTypes()));
  for (size_t s = 0, flat = 0; s < def.outputs.size(); flat += forward->outputs(static_cast<int>(s)).size(), ++s) {
    for (const std::string& slot : {def.outputs[s].name, def.outputs[s].name + "@GRAD"}) {
      const int count = ctx.op().def().InputSlot(slot) < 0 ? 0 : ctx.Count(slot);
      for (int i = 0; i < count && i < static_cast<int>(forward->outputs(static_cast<int>(s)).size()); ++i) {
        const std::optional<TensorType>& want = types[flat + static_cast<size_t>(i)];
        if (!want.has_value() || SameDims(*want, ctx.In(slot, i))) continue;
        return Fail(ctx, 6, slot, " is ", ToString(ctx.In(slot, i)), ", ", row.forward, " on these operands gives ", ToString(*want));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status InferGradient(InferContext& ctx) {
  const GradientRow& row = *FindGradientRow(ctx.op().type());
  if (ctx.op().outputs().empty()) return Fail(ctx, 4, "has no result, needs one");
  if (ctx.Has("XShape") && ctx.In("XShape").has_rank && ctx.In("XShape").rank() == 0) return Fail(ctx, 5, "XShape has rank 0, needs a 0 and the dims of X");
  AMPC_RETURN_IF_ERROR(CheckForward(ctx, row));
  if (row.infer != nullptr) return row.infer(ctx);
  for (const SlotDef& slot : ctx.op().def().outputs) {
    const absl::string_view operand = absl::StripSuffix(slot.name, "@GRAD");
    for (int i = 0; i < ctx.NumOut(slot.name); ++i) {
      if (ctx.Has(operand) && i >= ctx.Count(operand)) return Fail(ctx, 1, slot.name, " has more results than ", operand, " operands");
      ctx.Out(slot.name, i, GradientType(ctx, row, operand, i));
    }
  }
  return absl::OkStatus();
}

// The slots named in `names`, with `suffix`. A row may name slots that only some ops of its family have.
void AddSlots(const OpDef& forward, absl::string_view names, absl::string_view suffix, std::vector<SlotDef>& to) {
  for (absl::string_view name : absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    const bool optional = absl::ConsumeSuffix(&name, "?");
    const int input = forward.InputSlot(name), output = forward.OutputSlot(name);
    if (input < 0 && output < 0) continue;
    SlotDef slot = input >= 0 ? forward.inputs[input] : forward.outputs[output];
    absl::StrAppend(&slot.name, suffix);
    slot.optional = slot.optional || optional;
    slot.precision = kAsIs;
    slot.overwrites = false;
    to.push_back(std::move(slot));
  }
}

}  // namespace

absl::Span<const GradientRow> GradientRows() { return kRows; }

const GradientRow* FindGradientRow(absl::string_view gradient_op) {
  if (!absl::ConsumeSuffix(&gradient_op, "_grad")) return nullptr;
  const auto before = [](const GradientRow& row, absl::string_view name) { return row.forward < name; };
  const GradientRow* row = std::lower_bound(std::begin(kRows), std::end(kRows), gradient_op, before);
  return row != std::end(kRows) && row->forward == gradient_op ? row : nullptr;
}

bool IsReadIfThere(const GradientRow& row, absl::string_view slot) {
  const std::vector<absl::string_view> names = absl::StrSplit(row.needs, ' ');
  return std::find(names.begin(), names.end(), absl::StrCat(slot, "?")) != names.end();
}

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
