// sgd, momentum, adam, adamw: the device kernels' rules (rescale_grad and lr_ratio always count; the framework's CPU kernels leave them
// out in places), in f32 on the master weight where there is one. The learning rate is not rounded to the type of a low parameter.
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/optimizer/update_plan.h"

namespace ampc {
namespace {

struct SgdStep {
  template <typename T>
  void operator()(const UpdatePlan& plan, const KernelArgs& args) const {
    UpdateAll<T>(plan, args, simd::SgdRule<T>{static_cast<T>(plan.lr.Get(args))});
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSgd(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(UpdatePlan plan, ReadUpdatePlan(SpecView(spec), {}, {}));
  KernelTraits traits = plan.Traits();
  return MakeUpdateKernel(std::move(plan), std::move(traits), SgdStep());
}

struct MomentumStep {
  double mu, rescale, decay;
  bool nesterov;

  template <typename T>
  void operator()(const UpdatePlan& plan, const KernelArgs& args) const {
    UpdateAll<T>(plan, args,
                 simd::MomentumRule<T>{static_cast<T>(plan.lr.Get(args)), static_cast<T>(mu), static_cast<T>(rescale),
                                       static_cast<T>(decay), nesterov});
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMomentum(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(UpdatePlan plan, ReadUpdatePlan(SpecView(spec), {"Velocity"}, {}));
  const Op& op = *spec.op;
  const double decay = op.GetString("regularization_method") == "l2_decay" ? op.GetFloat("regularization_coeff") : 0;
  KernelTraits traits = plan.Traits();
  return MakeUpdateKernel(std::move(plan), std::move(traits),
                          MomentumStep{op.GetFloat("mu"), op.GetFloat("rescale_grad"), decay, op.GetBool("use_nesterov")});
}

struct AdamStep {
  ScalarInput beta1, beta2, epsilon;
  bool own_powers;
  double lr_ratio = 1, coeff = 0;  // adamw

  template <typename T>
  void operator()(const UpdatePlan& plan, const KernelArgs& args) const {
    const T b1 = static_cast<T>(beta1.Get(args)), b2 = static_cast<T>(beta2.Get(args));
    const T power1 = *static_cast<const T*>(args.inputs[plan.powers[0]]), power2 = *static_cast<const T*>(args.inputs[plan.powers[1]]);
    const T lr = static_cast<T>(plan.lr.Get(args)) * static_cast<T>(lr_ratio);
    const T root = std::sqrt(1 - power2);
    UpdateAll<T>(plan, args,
                 simd::AdamRule<T>{b1, b2, lr * (root / (1 - power1)), static_cast<T>(epsilon.Get(args)) * root,
                                   1 - lr * static_cast<T>(coeff)});
    *static_cast<T*>(args.outputs[plan.powers_out[0]]) = own_powers ? power1 * b1 : power1;
    *static_cast<T*>(args.outputs[plan.powers_out[1]]) = own_powers ? power2 * b2 : power2;
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAdam(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(UpdatePlan plan, ReadUpdatePlan(view, {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}));
  const Op& op = *spec.op;
  AdamStep step{ScalarInput(view, "Beta1Tensor", op.GetFloat("beta1")), ScalarInput(view, "Beta2Tensor", op.GetFloat("beta2")),
                ScalarInput(view, "EpsilonTensor", op.GetFloat("epsilon")), !op.GetBool("use_global_beta_pow")};
  if (op.type() == "adamw") {
    step.lr_ratio = op.GetFloat("lr_ratio");
    step.coeff = op.GetBool("with_decay") ? op.GetFloat("coeff") : 0;
  }
  KernelTraits traits = plan.Traits();
  return MakeUpdateKernel(std::move(plan), std::move(traits), step);
}

}  // namespace

absl::Status RegisterOptimizers(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"sgd", &MakeSgd, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"momentum", &MakeMomentum, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"adam", &MakeAdam, types}));
  return registry->Add({"adamw", &MakeAdam, types});
}

}  // namespace ampc
