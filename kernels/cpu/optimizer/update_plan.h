// UpdatePlan: what every kernel of an optimizer op reads from its spec, and the loop over a parameter that they share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/optimizer/update_loops.h"
#include "kernels/parallel.h"
#include "kernels/round.h"

namespace ampc {

inline constexpr int64_t kUpdateTile = 1 << 11;
inline constexpr int64_t kUpdateGrain = 1 << 14;

struct UpdatePlan {
  // Flat positions; -1 for what the op has not.
  int weight = -1;                    // what is computed with: MasterParam, else Param
  int grad = -1, skip = -1;
  int moments[2] = {-1, -1}, powers[2] = {-1, -1};
  int weight_out = -1, low_out = -1;  // low_out: ParamOut beside a master weight
  int moments_out[2] = {-1, -1}, powers_out[2] = {-1, -1};
  int64_t elements = 0;
  DType type = DType::kInvalid;       // of ParamOut
  DType moment_type = DType::kInvalid;
  bool is_double = false;
  ScalarInput lr;
  std::vector<std::pair<int, int>> kept;  // operand and result, for a step that is skipped
  std::vector<int64_t> kept_bytes;

  bool Skips(const KernelArgs& args) const { return skip >= 0 && *static_cast<const bool*>(args.inputs[skip]); }
  // Every result is its operand: nothing to do where they share memory.
  void Keep(const KernelArgs& args) const;
  KernelTraits Traits() const;
};

// `moments`: the op's moment slots, each with a result named <slot>Out; likewise `powers`. Unsupported types name the op.
absl::StatusOr<UpdatePlan> ReadUpdatePlan(const SpecView& view, std::vector<const char*> moments, std::vector<const char*> powers);

// The arrays of elements [first, first + n).
template <typename T>
simd::UpdateRun<T> RunAt(const UpdatePlan& plan, const KernelArgs& args, int64_t first) {
  const auto in = [&](int at) { return at < 0 ? nullptr : static_cast<const T*>(args.inputs[at]) + first; };
  const auto out = [&](int at) { return at < 0 ? nullptr : static_cast<T*>(args.outputs[at]) + first; };
  return {in(plan.weight),       in(plan.grad),     in(plan.moments[0]),      in(plan.moments[1]),
          out(plan.weight_out), out(plan.low_out), out(plan.moments_out[0]), out(plan.moments_out[1])};
}

// Rounds what was computed in f32 to the declared low types.
void RoundRun(const UpdatePlan& plan, const simd::UpdateRun<float>& run, int64_t n);
inline void RoundRun(const UpdatePlan&, const simd::UpdateRun<double>&, int64_t) {}

// Applies `rule` to all elements.
template <typename T, typename Rule>
void UpdateAll(const UpdatePlan& plan, const KernelArgs& args, const Rule& rule) {
  ParallelFor(args.threads, plan.elements, kUpdateGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i += kUpdateTile) {
      const int64_t n = std::min(kUpdateTile, last - i);
      const simd::UpdateRun<T> run = RunAt<T>(plan, args, i);
      simd::Update(rule, run, n);
      RoundRun(plan, run, n);
    }
  });
}

// The kernel that calls `step<float>(plan, args)` or `step<double>(plan, args)` unless the step is skipped. `step` is a generic
// functor with a call operator template <typename T>.
template <typename Step>
std::unique_ptr<Kernel> MakeUpdateKernel(UpdatePlan plan, KernelTraits traits, Step step) {
  return MakeLambdaKernel(std::move(traits), [plan = std::move(plan), step = std::move(step)](const KernelArgs& args) {
    if (plan.Skips(args)) {
      plan.Keep(args);
    } else if (plan.is_double) {
      step.template operator()<double>(plan, args);
    } else {
      step.template operator()<float>(plan, args);
    }
    return absl::OkStatus();
  });
}

}  // namespace ampc
