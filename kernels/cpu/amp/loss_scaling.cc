// check_finite_and_unscale and update_loss_scaling, by the rule of device kernels: every element of every gradient is multiplied by
// the reciprocal of the scale, and the results, rounded to their type, are what is tested. (The framework's CPU kernel tests the
// operands and stops at the first tensor with a bad one.)
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/loss_scale.h"
#include "kernels/cpu/amp/unscale_loop.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/optimizer/loss_scaling_spec.h"

namespace ampc {
namespace {

constexpr int64_t kTile = 1 << 11;
constexpr int64_t kGrain = 1 << 14;

// Whether elements [first, last) are finite in the type that is computed in, when they are unscaled.
bool Looks(const void* x, DType dtype, int64_t first, int64_t last, double scale) {
  bool finite = true;
  if (dtype == DType::kF64) {
    const double inverse = 1 / scale;
    for (int64_t i = first; i < last; ++i) finite &= std::isfinite(static_cast<const double*>(x)[i] * inverse);
    return finite;
  }
  const float inverse = static_cast<float>(1 / scale);
  float results[kTile];
  for (int64_t i = first; i < last; i += kTile) {
    finite &= simd::ScaleAndTest(static_cast<const float*>(x) + i, inverse, results, std::min(kTile, last - i));
  }
  return finite;
}

// Unscales elements [first, last); whether all results are finite.
bool Unscale(const void* x, void* out, DType dtype, int64_t first, int64_t last, double scale) {
  bool finite = true;
  if (dtype == DType::kF64) {
    const double inverse = 1 / scale;
    for (int64_t i = first; i < last; ++i) {
      const double y = static_cast<const double*>(x)[i] * inverse;
      static_cast<double*>(out)[i] = y;
      finite &= std::isfinite(y);
    }
    return finite;
  }
  const float inverse = static_cast<float>(1 / scale);
  for (int64_t i = first; i < last; i += kTile) {
    const int64_t n = std::min(kTile, last - i);
    float* y = static_cast<float*>(out) + i;
    const bool all = simd::ScaleAndTest(static_cast<const float*>(x) + i, inverse, y, n);
    RoundTo(dtype, y, n);
    finite &= all && (dtype == DType::kF32 || simd::AllFinite(y, n));  // rounding may overflow
  }
  return finite;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnscale(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(ScaledGradients g, ReadScaledGradients(view));
  const DType scale_type = StorageType(view.InDesc("Scale").dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(scale_type, {DType::kF32, DType::kF64}));
  KernelTraits traits;
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  traits.rounds_results = true;
  traits.in_place_input = g.in_place_input();
  const int found_at = view.Out("FoundInfinite");
  return MakeLambdaKernel(std::move(traits), [g = std::move(g), scale_type, scale_at = view.In("Scale"), found_at](const KernelArgs& args) {
    const double scale = ReadAsDouble(args.inputs[scale_at], scale_type);
    std::atomic<bool> finite{true};
    for (size_t i = 0; i < g.descs.size(); ++i) {
      ParallelFor(args.threads, g.descs[i].NumElements(), kGrain, [&](int64_t first, int64_t last) {
        const void* x = args.inputs[g.first_in + i];
        const bool all = g.first_out < 0 ? Looks(x, g.descs[i].dtype, first, last, scale)
                                         : Unscale(x, args.outputs[g.first_out + i], g.descs[i].dtype, first, last, scale);
        if (!all) finite = false;
      });
    }
    *static_cast<bool*>(args.outputs[found_at]) = !finite;
    return absl::OkStatus();
  });
}

struct Update {
  ScaledGradients gradients;
  LossScalePolicy policy;
  int found = 0, scale = 0, good = 0, bad = 0, stop = -1;  // operands
  int scale_out = 0, good_out = 0, bad_out = 0;            // results; -1: not wanted
  bool always_stop = false;
  bool is_double = false;
};

template <typename T>
void Store(const KernelArgs& args, int result, T value) {
  if (result >= 0) *static_cast<T*>(args.outputs[result]) = value;
}

// The scale and the counters, which stay as they are under `stop`.
template <typename T>
void UpdateState(const Update& u, const KernelArgs& args, bool found, bool stop) {
  LossScaleState<T> state{*static_cast<const T*>(args.inputs[u.scale]), *static_cast<const int32_t*>(args.inputs[u.good]),
                          *static_cast<const int32_t*>(args.inputs[u.bad])};
  if (!stop) state = NextLossScale(state, found, u.policy);
  Store(args, u.scale_out, state.scale);
  Store(args, u.good_out, state.good);
  Store(args, u.bad_out, state.bad);
}

void RunUpdate(const Update& u, const KernelArgs& args) {
  const bool found = *static_cast<const bool*>(args.inputs[u.found]);
  const bool stop = u.always_stop || (u.stop >= 0 && *static_cast<const bool*>(args.inputs[u.stop]));
  const ScaledGradients& g = u.gradients;
  for (size_t i = 0; i < g.descs.size(); ++i) {
    const char* x = static_cast<const char*>(args.inputs[g.first_in + i]);
    char* out = static_cast<char*>(args.outputs[g.first_out + i]);
    if (x == out && !found) continue;
    ParallelFor(args.threads, g.descs[i].StorageBytes(), 1 << 17, [&](int64_t first, int64_t last) {
      if (found) {
        std::memset(out + first, 0, last - first);
      } else {
        std::memcpy(out + first, x + first, last - first);
      }
    });
  }
  if (u.is_double) {
    UpdateState<double>(u, args, found, stop);
  } else {
    UpdateState<float>(u, args, found, stop);
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeUpdate(const KernelSpec& spec) {
  const SpecView view(spec);
  Update u;
  AMPC_ASSIGN_OR_RETURN(u.gradients, ReadScaledGradients(view));
  const Op& op = view.op();
  u.policy = ReadLossScalePolicy(op);
  u.always_stop = op.GetBool("stop_update");
  u.found = view.In("FoundInfinite");
  u.scale = view.In("PrevLossScaling");
  u.good = view.In("InGoodSteps");
  u.bad = view.In("InBadSteps");
  u.stop = view.In("StopUpdate");
  u.scale_out = view.Out("LossScaling");
  u.good_out = view.Out("OutGoodSteps");
  u.bad_out = view.Out("OutBadSteps");
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("PrevLossScaling").dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("InGoodSteps").dtype, {DType::kI32}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("InBadSteps").dtype, {DType::kI32}));
  u.is_double = view.InDesc("PrevLossScaling").dtype == DType::kF64;
  KernelTraits traits;
  traits.rounds_results = true;
  traits.in_place_input = u.gradients.in_place_input();
  return MakeLambdaKernel(std::move(traits), [u = std::move(u)](const KernelArgs& args) {
    RunUpdate(u, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLossScaling(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"check_finite_and_unscale", &MakeUnscale, types}));
  return registry->Add({"update_loss_scaling", &MakeUpdate, types});
}

}  // namespace ampc
