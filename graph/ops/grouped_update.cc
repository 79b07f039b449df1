#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/cost_util.h"
#include "graph/ops/infer_util.h"
#include "graph/ops/scaling_util.h"

namespace ampc::ops {
namespace {

// Operand slots with one operand per parameter. Which of them an op has is the business of its kernel.
constexpr const char* kPerParam[] = {"Grad", "MasterParam", "Velocity", "Moment1", "Moment2", "Beta1Pow", "Beta2Pow"};

bool IsPower(absl::string_view slot) { return slot == "Beta1Pow" || slot == "Beta2Pow"; }

absl::Status CheckOperand(const InferContext& ctx, absl::string_view slot, int i) {
  const TensorType& type = ctx.In(slot, i);
  const TensorType& param = ctx.In("Param", i);
  if (IsPower(slot)) {
    if (type.has_rank && Differ(Product(type.dims), 1))
      return Fail(ctx, 3, slot, " ", i, " has ", Product(type.dims), " elements, needs 1");
    return absl::OkStatus();
  }
  if (type.has_rank && param.has_rank && !Compatible(param, type.WithDType(param.dtype))) {
    return Fail(ctx, 4, slot, " ", i, " is ", ToString(type), ", needs the shape of Param ", i, ", ", ToString(param));
  }
  if (slot == "MasterParam" && type.dtype != DType::kF32 && type.dtype != DType::kInvalid) {
    return Fail(ctx, 5, slot, " ", i, " is ", Name(type.dtype), ", needs f32");
  }
  return absl::OkStatus();
}

absl::Status InferGroupedUpdate(InferContext& ctx) {
  const std::string op = ctx.op().GetString("op");
  if (!std::set<std::string>{"sgd", "momentum", "adam", "adamw", "lamb"}.contains(op)) {
    return Fail(ctx, 1, "op is '", op, "', needs sgd, momentum, adam, adamw or lamb");
  }
  const int params = ctx.Count("Param");
  for (const char* slot : kPerParam) {
    if (!ctx.Has(slot)) continue;
    if (ctx.Count(slot) != params) return Fail(ctx, 2, slot, " has ", ctx.Count(slot), " operands, needs ", params, ", as many as Param");
    for (int i = 0; i < params; ++i) AMPC_RETURN_IF_ERROR(CheckOperand(ctx, slot, i));
  }
  AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "LearningRate", {DType::kF32, DType::kF64}, 6));
  if (ctx.Has("SkipUpdate")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "SkipUpdate", {DType::kBool}, 7));
  if (ctx.Has("GradScale")) AMPC_RETURN_IF_ERROR(NeedScalar(ctx, "GradScale", {DType::kF32, DType::kF64}, 9));
  for (const SlotDef& result : ctx.op().def().outputs) {
    const std::string slot = result.name.substr(0, result.name.size() - 3);  // without "Out"
    const int results = ctx.NumOut(result.name);
    if (results != 0 && results != ctx.Count(slot)) {
      return Fail(ctx, 8, result.name, " has ", results, " results, needs ", ctx.Count(slot), ", as many as ", slot, " has operands");
    }
    for (int i = 0; i < results; ++i) ctx.Out(result.name, i, ctx.In(slot, i));
  }
  return absl::OkStatus();
}

}  // namespace

OpDef GroupedUpdateDef() {
  OpDef def("grouped_update");
  def.Doc(
         "The optimizer op 'op' on each Param with the Grad and the states at the same place, one after the other: what a plan makes of "
         "update "
         "ops that agree in everything else. Nothing changes where SkipUpdate.")
      .VarIn("Param", kAsIs)
      .VarIn("Grad", kAsIs)
      .In("LearningRate", kAsIs)
      .OptIn("SkipUpdate", kAsIs)
      .OptIn("GradScale", kAsIs);
  for (const char* slot : kPerParam) {
    if (absl::string_view(slot) != "Grad") def.OptVarIn(slot, kAsIs);
  }
  def.VarOut("ParamOut", kAsIs);
  for (const char* slot : kPerParam) {
    if (absl::string_view(slot) == "Grad") continue;
    def.StateOut(absl::StrCat(slot, "Out"));
    def.outputs.back().variadic = true;
  }
  def.outputs[0].overwrites = true;
  // The attributes of the single ops; kernels read those of 'op'.
  return std::move(def.Required("op", "")
                       .A("multi_precision", false)
                       .A("mu", 0.0f)
                       .A("use_nesterov", false)
                       .A("regularization_method", "")
                       .A("regularization_coeff", 0.0f)
                       .A("rescale_grad", 1.0f)
                       .A("beta1", 0.9f)
                       .A("beta2", 0.999f)
                       .A("epsilon", 1e-8f)
                       .A("use_global_beta_pow", false)
                       .A("lr_ratio", 1.0f)
                       .A("coeff", 0.01f)
                       .A("with_decay", false)
                       .A("weight_decay", 0.0f)
                       .A("always_adapt", false)
                       .Infer(InferGroupedUpdate)
                       .CostIs(PerOperand<15>)
                       .Amp(kNever, "updates weights in the type that they are stored in; a low weight is updated through its fp32 master")
                       .Gradient("none: an update of weights is not differentiated")
                       .Impure());
}

}  // namespace ampc::ops
