// lamb: the norms of the parameter and of the step, then the step. The norms are added up in double over blocks of fixed size.
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/optimizer/squares.h"
#include "kernels/cpu/optimizer/update_plan.h"

namespace ampc {
namespace {

struct LambStep {
  double beta1, beta2, epsilon, decay;
  bool adapts;  // the rate is scaled by the norms

  template <typename T>
  void operator()(const UpdatePlan& plan, const KernelArgs& args) const {
    const T power1 = *static_cast<const T*>(args.inputs[plan.powers[0]]), power2 = *static_cast<const T*>(args.inputs[plan.powers[1]]);
    simd::LambRule<T> rule{static_cast<T>(beta1), static_cast<T>(beta2), static_cast<T>(epsilon), static_cast<T>(decay),
                           1 - power1,            1 - power2,            static_cast<T>(plan.lr.Get(args))};
    const T ratio = Moments(plan, args, rule);
    rule.rate *= ratio;
    ParallelFor(args.threads, plan.elements, kUpdateGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += kUpdateTile) {
        const int64_t n = std::min(kUpdateTile, last - i);
        simd::UpdateRun<T> run = RunAt<T>(plan, args, i);
        run.moment1 = run.moment1_out;
        run.moment2 = run.moment2_out;
        simd::Update(rule, run, n);
        RoundRun(plan, run, n);
      }
    });
    *static_cast<T*>(args.outputs[plan.powers_out[0]]) = power1 * rule.beta1;
    *static_cast<T*>(args.outputs[plan.powers_out[1]]) = power2 * rule.beta2;
  }

 private:
  // The first sweep; |param| / |direction|, 1 where it does not adapt.
  template <typename T>
  T Moments(const UpdatePlan& plan, const KernelArgs& args, const simd::LambRule<T>& rule) const {
    const int64_t blocks = NumBlocks(plan.elements);
    double* of_param = static_cast<double*>(args.workspace);
    double* of_step = of_param + blocks;
    ParallelFor(args.threads, blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        of_param[b] = of_step[b] = 0;
        const int64_t end = std::min((b + 1) * kNormBlock, plan.elements);
        for (int64_t i = b * kNormBlock; i < end; i += kUpdateTile) {
          const int64_t n = std::min(kUpdateTile, end - i);
          const simd::UpdateRun<T> run = RunAt<T>(plan, args, i);
          T direction[kUpdateTile];
          simd::LambMoments(rule, run, direction, n);
          if (!adapts) continue;
          of_param[b] += Squares(run.param, n);
          of_step[b] += Squares(direction, n);
        }
      }
    });
    const T p = static_cast<T>(std::sqrt(Total(of_param, blocks))), d = static_cast<T>(std::sqrt(Total(of_step, blocks)));
    return adapts && p > 0 && d > 0 ? p / d : 1;
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeLamb(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(UpdatePlan plan, ReadUpdatePlan(SpecView(spec), {"Moment1", "Moment2"}, {"Beta1Pow", "Beta2Pow"}));
  const Op& op = *spec.op;
  const double decay = op.GetFloat("weight_decay");
  KernelTraits traits = plan.Traits();
  traits.workspace_bytes = 2 * NumBlocks(plan.elements) * static_cast<int64_t>(sizeof(double));
  const LambStep step{op.GetFloat("beta1"), op.GetFloat("beta2"), op.GetFloat("epsilon"), decay, decay > 0 || op.GetBool("always_adapt")};
  return MakeUpdateKernel(std::move(plan), std::move(traits), step);
}

}  // namespace

absl::Status RegisterLamb(KernelRegistry* registry) {
  return registry->Add({"lamb", &MakeLamb, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
