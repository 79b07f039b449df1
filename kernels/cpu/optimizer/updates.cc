// sgd, momentum, adam, adamw, lamb, and grouped_update, which is one of them on several parameters: the device kernels' rules (rescale_grad
// and lr_ratio always count; the framework's CPU kernels leave them out in places), in f32 on the master weight where there is one. The
// learning rate is not rounded to the type of a low parameter.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/update_rules.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/optimizer/squares.h"
#include "kernels/cpu/optimizer/update_loops.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/optimizer/update_spec.h"

namespace ampc {
namespace {

constexpr int64_t kTile = 1 << 11;
constexpr int64_t kGrain = 1 << 14;

// The arrays of a parameter's elements from `first` on.
template <typename T>
simd::UpdateRun<T> RunAt(const UpdateOperands& p, const KernelArgs& args, int64_t first) {
  const auto in = [&](int at) { return at < 0 ? nullptr : static_cast<const T*>(args.inputs[at]) + first; };
  const auto out = [&](int at) { return at < 0 ? nullptr : static_cast<T*>(args.outputs[at]) + first; };
  return {in(p.weight),      in(p.grad),     in(p.moments[0]),      in(p.moments[1]),
          out(p.weight_out), out(p.low_out), out(p.moments_out[0]), out(p.moments_out[1])};
}

// Gradients of a piece that are divided by GradScale, as vector loops read them.
template <typename T>
class Unscaled {
 public:
  Unscaled(const UpdateSpec& spec, const KernelArgs& args) : inverse_(static_cast<T>(1 / spec.grad_scale.Get(args))) {}
  void Put(simd::UpdateRun<T>& run, int64_t n) {
    if (inverse_ == 1) return;
    for (int64_t i = 0; i < n; ++i) grad_[i] = run.grad[i] * inverse_;
    run.grad = grad_;
  }

 private:
  T inverse_;
  T grad_[kTile];
};

// Rounds what was computed in f32 to the declared low types.
void RoundRun(const UpdateSpec& spec, const simd::UpdateRun<float>& run, int64_t n) {
  RoundTo(spec.param_type, run.copy_out != nullptr ? run.copy_out : run.param_out, n);
  if (run.moment1_out != nullptr) RoundTo(spec.moment_type, run.moment1_out, n);
  if (run.moment2_out != nullptr) RoundTo(spec.moment_type, run.moment2_out, n);
}
void RoundRun(const UpdateSpec&, const simd::UpdateRun<double>&, int64_t) {}

// update(run, n) for pieces of the parameter, and rounds what it wrote.
template <typename T, typename Update>
void ForTiles(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args, Update update) {
  ParallelFor(args.threads, p.elements, kGrain, [&](int64_t first, int64_t last) {
    Unscaled<T> unscaled(spec, args);
    for (int64_t i = first; i < last; i += kTile) {
      const int64_t n = std::min(kTile, last - i);
      simd::UpdateRun<T> run = RunAt<T>(p, args, i);
      unscaled.Put(run, n);
      update(run, n);
      RoundRun(spec, run, n);
    }
  });
}

template <typename T, typename Rule>
void UpdateAll(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args, const Rule& rule) {
  ForTiles<T>(spec, p, args, [&rule](simd::UpdateRun<T>& run, int64_t n) { simd::Update(rule, run, n); });
}

// beta1^t and beta2^t.
template <typename T>
struct Powers {
  Powers(const UpdateOperands& p, const KernelArgs& args)
      : first(*static_cast<const T*>(args.inputs[p.powers[0]])), second(*static_cast<const T*>(args.inputs[p.powers[1]])) {}
  T first, second;
};

template <typename T>
void StorePowers(const UpdateOperands& p, const KernelArgs& args, T first, T second) {
  *static_cast<T*>(args.outputs[p.powers_out[0]]) = first;
  *static_cast<T*>(args.outputs[p.powers_out[1]]) = second;
}

template <typename T>
void Adam(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args) {
  const T beta1 = static_cast<T>(spec.beta1.Get(args)), beta2 = static_cast<T>(spec.beta2.Get(args));
  const Powers<T> powers(p, args);
  const T lr = static_cast<T>(spec.lr.Get(args)) * static_cast<T>(spec.lr_ratio);
  UpdateAll<T>(
      spec, p, args,
      MakeAdamRule<T>(beta1, beta2, static_cast<T>(spec.epsilon.Get(args)), lr, static_cast<T>(spec.coeff), powers.first, powers.second));
  StorePowers<T>(p, args, spec.own_powers ? powers.first * beta1 : powers.first, spec.own_powers ? powers.second * beta2 : powers.second);
}

// The first sweep of lamb: the new moments, and |param| / |direction|. The norms are added up in double over blocks of fixed size.
template <typename T>
T LambMoments(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args, const LambRule<T>& rule) {
  const int64_t blocks = NumBlocks(p.elements);
  double* of_param = static_cast<double*>(args.workspace);
  double* of_step = of_param + blocks;
  ParallelFor(args.threads, blocks, 1, [&](int64_t first, int64_t last) {
    Unscaled<T> unscaled(spec, args);
    for (int64_t b = first; b < last; ++b) {
      of_param[b] = of_step[b] = 0;
      const int64_t end = std::min((b + 1) * kNormBlock, p.elements);
      for (int64_t i = b * kNormBlock; i < end; i += kTile) {
        const int64_t n = std::min(kTile, end - i);
        simd::UpdateRun<T> run = RunAt<T>(p, args, i);
        unscaled.Put(run, n);
        T direction[kTile];
        simd::LambMoments(rule, run, direction, n);
        if (!spec.adapts) continue;
        of_param[b] += Squares(run.param, n);
        of_step[b] += Squares(direction, n);
      }
    }
  });
  return spec.adapts ? TrustRatio<T>(Total(of_param, blocks), Total(of_step, blocks)) : T(1);
}

template <typename T>
void Lamb(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args) {
  const Powers<T> powers(p, args);
  LambRule<T> rule =
      MakeLambRule<T>(static_cast<T>(spec.beta1.Get(args)), static_cast<T>(spec.beta2.Get(args)), static_cast<T>(spec.epsilon.Get(args)),
                      static_cast<T>(spec.decay), static_cast<T>(spec.lr.Get(args)), powers.first, powers.second);
  rule.rate *= LambMoments<T>(spec, p, args, rule);
  ForTiles<T>(spec, p, args, [&rule](simd::UpdateRun<T>& run, int64_t n) {
    run.moment1 = run.moment1_out;
    run.moment2 = run.moment2_out;
    simd::Update(rule, run, n);
  });
  StorePowers<T>(p, args, powers.first * rule.beta1, powers.second * rule.beta2);
}

template <typename T>
void UpdateParam(const UpdateSpec& spec, const UpdateOperands& p, const KernelArgs& args) {
  const T lr = static_cast<T>(spec.lr.Get(args));
  switch (spec.kind) {
    case UpdateKind::kSgd: return UpdateAll<T>(spec, p, args, SgdRule<T>{lr});
    case UpdateKind::kMomentum:
      return UpdateAll<T>(
          spec, p, args,
          MomentumRule<T>{lr, static_cast<T>(spec.mu), static_cast<T>(spec.rescale), static_cast<T>(spec.decay), spec.nesterov});
    case UpdateKind::kAdam: return Adam<T>(spec, p, args);
    case UpdateKind::kLamb: return Lamb<T>(spec, p, args);
  }
}

struct Kept {
  int from, to;
  size_t bytes;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeUpdate(const KernelSpec& kernel_spec) {
  AMPC_ASSIGN_OR_RETURN(UpdateSpec spec, ReadUpdateSpec(SpecView(kernel_spec)));
  std::vector<Kept> kept;
  for (const auto& [from, to] : KeptValues(spec)) kept.push_back({from, to, static_cast<size_t>(kernel_spec.outputs[to].StorageBytes())});
  KernelTraits traits;
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  traits.rounds_results = true;
  if (!spec.params.empty()) traits.in_place_input = spec.params[0].low >= 0 ? spec.params[0].low : spec.params[0].weight;
  for (const UpdateOperands& p : spec.params) {
    if (spec.kind != UpdateKind::kLamb) break;
    traits.workspace_bytes = std::max(traits.workspace_bytes, 2 * NumBlocks(p.elements) * static_cast<int64_t>(sizeof(double)));
  }
  return MakeLambdaKernel(std::move(traits), [spec = std::move(spec), kept = std::move(kept)](const KernelArgs& args) {
    if (spec.skip >= 0 && *static_cast<const bool*>(args.inputs[spec.skip])) {
      for (const Kept& k : kept) {
        if (k.bytes > 0 && args.inputs[k.from] != args.outputs[k.to]) std::memcpy(args.outputs[k.to], args.inputs[k.from], k.bytes);
      }
      return absl::OkStatus();
    }
    for (const UpdateOperands& p : spec.params) spec.is_double ? UpdateParam<double>(spec, p, args) : UpdateParam<float>(spec, p, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterOptimizers(KernelRegistry* registry) {
  for (const char* op : {"sgd", "momentum", "adam", "adamw", "lamb", "grouped_update"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeUpdate, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
