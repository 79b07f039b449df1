#include "kernels/cpu/optimizer/update_plan.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/simd/elementwise.h"

namespace ampc {
namespace {

// Operand `in` and its result `out` by slot, both needed.
absl::Status Pair(const SpecView& view, absl::string_view in, absl::string_view out, UpdatePlan& plan, int* at, int* at_out) {
  *at = view.In(in);
  *at_out = view.Out(out);
  if (*at_out < 0) return view.Unsupported(absl::StrCat("runs only with the result ", out));
  plan.kept.emplace_back(*at, *at_out);
  plan.kept_bytes.push_back(view.OutDesc(out).StorageBytes());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UpdatePlan> ReadUpdatePlan(const SpecView& view, std::vector<const char*> moments, std::vector<const char*> powers) {
  UpdatePlan plan;
  int param = -1, param_out = -1;
  AMPC_RETURN_IF_ERROR(Pair(view, "Param", "ParamOut", plan, &param, &param_out));
  plan.type = view.OutDesc("ParamOut").dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(plan.type, {DType::kF32, DType::kF64}));
  plan.is_double = plan.type == DType::kF64;
  plan.elements = view.OutDesc("ParamOut").NumElements();
  plan.weight = param;
  plan.weight_out = param_out;
  if (view.In("MasterParam") >= 0) {
    AMPC_RETURN_IF_ERROR(Pair(view, "MasterParam", "MasterParamOut", plan, &plan.weight, &plan.weight_out));
    plan.low_out = param_out;
  }
  for (size_t i = 0; i < moments.size(); ++i) {
    AMPC_RETURN_IF_ERROR(Pair(view, moments[i], absl::StrCat(moments[i], "Out"), plan, &plan.moments[i], &plan.moments_out[i]));
    plan.moment_type = view.InDesc(moments[i]).dtype;
    AMPC_RETURN_IF_ERROR(view.CheckType(plan.moment_type, {StorageType(plan.type)}));
  }
  for (size_t i = 0; i < powers.size(); ++i) {
    AMPC_RETURN_IF_ERROR(Pair(view, powers[i], absl::StrCat(powers[i], "Out"), plan, &plan.powers[i], &plan.powers_out[i]));
    AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc(powers[i]).dtype, {StorageType(plan.type)}));
  }
  plan.grad = view.In("Grad");
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Grad").dtype, {StorageType(plan.type)}));
  plan.skip = view.In("SkipUpdate");
  plan.lr = ScalarInput(view, "LearningRate", 0);
  return plan;
}

void UpdatePlan::Keep(const KernelArgs& args) const {
  for (size_t i = 0; i < kept.size(); ++i) {
    const void* from = args.inputs[kept[i].first];
    void* to = args.outputs[kept[i].second];
    if (from != to) std::memcpy(to, from, static_cast<size_t>(kept_bytes[i]));
  }
}

KernelTraits UpdatePlan::Traits() const {
  KernelTraits traits;
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  traits.rounds_results = true;
  traits.in_place_input = kept[0].first;
  return traits;
}

void RoundRun(const UpdatePlan& plan, const simd::UpdateRun<float>& run, int64_t n) {
  RoundTo(plan.type, run.copy_out != nullptr ? run.copy_out : run.param_out, n);
  if (run.moment1_out != nullptr) RoundTo(plan.moment_type, run.moment1_out, n);
  if (run.moment2_out != nullptr) RoundTo(plan.moment_type, run.moment2_out, n);
}

}  // namespace ampc
