#include "kernels/cuda/optimizer/updates.h"

#include <type_traits>

#include "kernels/common/update_rules.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/cuda/multi_tensor/chunks.h"
#include "kernels/cuda/multi_tensor/vectors.h"

namespace ampc::cuda {
namespace {

constexpr int kRun = 4;  // elements of a step of a thread: 16 bytes of f32

// Stands for a type that is known when the kernel runs: f32, f16 or bf16.
struct AnyFloat {};

template <class T>
struct RealOf {
  using Type = float;
};
template <>
struct RealOf<double> {
  using Type = double;
};
template <class T>
using Real = typename RealOf<T>::Type;

template <int kCount, class T>
AMPC_HOST_DEVICE inline void LoadFrom(const void* array, DType type, int64_t i, Real<T> (&values)[kCount]) {
  if constexpr (std::is_same_v<T, AnyFloat>) {
    switch (type) {
      case DType::kF16: return LoadFrom<kCount, Half>(array, type, i, values);
      case DType::kBF16: return LoadFrom<kCount, BFloat16>(array, type, i, values);
      default: return LoadFrom<kCount, float>(array, type, i, values);
    }
  } else {
    LoadRun<kCount>(static_cast<const T*>(array) + i, values);
  }
}

template <int kCount, class T>
AMPC_HOST_DEVICE inline void StoreTo(void* array, DType type, int64_t i, const Real<T> (&values)[kCount]) {
  if constexpr (std::is_same_v<T, AnyFloat>) {
    switch (type) {
      case DType::kF16: return StoreTo<kCount, Half>(array, type, i, values);
      case DType::kBF16: return StoreTo<kCount, BFloat16>(array, type, i, values);
      default: return StoreTo<kCount, float>(array, type, i, values);
    }
  } else {
    StoreRun<kCount>(static_cast<T*>(array) + i, values);
  }
}

AMPC_HOST_DEVICE inline bool IsAligned(const UpdateTensor& t) {
  uintptr_t bits = 0;
  for (const void* at : {t.grad, t.weight, static_cast<const void*>(t.weight_out), static_cast<const void*>(t.low_out), t.moments[0],
                         t.moments[1], static_cast<const void*>(t.moments_out[0]), static_cast<const void*>(t.moments_out[1])}) {
    bits |= reinterpret_cast<uintptr_t>(at);
  }
  return bits % kAccessBytes == 0;
}

// The types of a parameter's arrays: W of what is computed with, L of the low copy beside a master, G and M.
template <class W, class L, class G, class M>
struct Types {
  using Weight = W;
  using Low = L;
  using Grad = G;
  using Moment = M;
  using T = Real<W>;
};

template <class T>
AMPC_HOST_DEVICE inline T Power(const UpdateTensor& t, int k) {
  return *static_cast<const T*>(t.powers[k]);
}

// The factor of a gradient before anything else. A thread divides once.
template <class T>
AMPC_HOST_DEVICE inline T GradFactor(const UpdateParams& p) {
  return static_cast<T>(1 / p.grad_scale.Get());
}

template <class T>
AMPC_HOST_DEVICE inline T LearningRate(const UpdateParams& p) {
  return static_cast<T>(p.lr.Get());
}

// The rule of this step for a parameter, by tag.
template <class T>
AMPC_HOST_DEVICE inline SgdRule<T> MakeRule(const UpdateParams& p, const UpdateTensor&, int64_t, SgdRule<T>) {
  return {LearningRate<T>(p)};
}
template <class T>
AMPC_HOST_DEVICE inline MomentumRule<T> MakeRule(const UpdateParams& p, const UpdateTensor&, int64_t, MomentumRule<T>) {
  return {LearningRate<T>(p), static_cast<T>(p.mu), static_cast<T>(p.rescale), static_cast<T>(p.decay), p.nesterov};
}
template <class T>
AMPC_HOST_DEVICE inline AdamRule<T> MakeRule(const UpdateParams& p, const UpdateTensor& t, int64_t, AdamRule<T>) {
  return MakeAdamRule<T>(static_cast<T>(p.beta1.Get()), static_cast<T>(p.beta2.Get()), static_cast<T>(p.epsilon.Get()),
                         LearningRate<T>(p) * static_cast<T>(p.lr_ratio), static_cast<T>(p.coeff), Power<T>(t, 0), Power<T>(t, 1));
}
// `index`: where the tensor's ratio lies in the workspace; -1: before it is known.
template <class T>
AMPC_HOST_DEVICE inline LambRule<T> MakeRule(const UpdateParams& p, const UpdateTensor& t, int64_t index, LambRule<T>) {
  LambRule<T> rule = MakeLambRule<T>(static_cast<T>(p.beta1.Get()), static_cast<T>(p.beta2.Get()), static_cast<T>(p.epsilon.Get()),
                                     static_cast<T>(p.decay), LearningRate<T>(p), Power<T>(t, 0), Power<T>(t, 1));
  if (index >= 0) rule.rate *= static_cast<T>(p.workspace[index]);
  return rule;
}

template <class Rule>
inline constexpr int kMoments = 2;
template <class T>
inline constexpr int kMoments<SgdRule<T>> = 0;
template <class T>
inline constexpr int kMoments<MomentumRule<T>> = 1;

// kCount elements from `i` on, with their gradients.
template <int kCount, int kMomentCount, class Types>
struct Run {
  using T = typename Types::T;
  T grad[kCount], param[kCount], moment1[kCount], moment2[kCount];

  AMPC_HOST_DEVICE void Load(const UpdateParams& p, const UpdateTensor& t, T factor, int64_t i) {
    LoadFrom<kCount, typename Types::Weight>(t.weight, p.weight, i, param);
    LoadFrom<kCount, typename Types::Grad>(t.grad, p.grad, i, grad);
    for (int k = 0; k < kCount; ++k) grad[k] = grad[k] * factor;
    if constexpr (kMomentCount > 0) LoadFrom<kCount, typename Types::Moment>(t.moments[0], p.moment, i, moment1);
    if constexpr (kMomentCount > 1) LoadFrom<kCount, typename Types::Moment>(t.moments[1], p.moment, i, moment2);
  }
  AMPC_HOST_DEVICE void Store(const UpdateParams& p, const UpdateTensor& t, int64_t i) const {
    StoreTo<kCount, typename Types::Weight>(t.weight_out, p.weight, i, param);
    if constexpr (!std::is_same_v<T, double>) {
      if (t.low_out != nullptr) StoreTo<kCount, typename Types::Low>(t.low_out, p.low, i, param);
    }
    if constexpr (kMomentCount > 0) StoreTo<kCount, typename Types::Moment>(t.moments_out[0], p.moment, i, moment1);
    if constexpr (kMomentCount > 1) StoreTo<kCount, typename Types::Moment>(t.moments_out[1], p.moment, i, moment2);
  }
  AMPC_HOST_DEVICE UpdateElement<T> Element(int k) const {
    UpdateElement<T> e{param[k], 0, 0};
    if constexpr (kMomentCount > 0) e.moment1 = moment1[k];
    if constexpr (kMomentCount > 1) e.moment2 = moment2[k];
    return e;
  }
  template <class Rule>
  AMPC_HOST_DEVICE void Step(const Rule& rule) {
    for (int k = 0; k < kCount; ++k) {
      UpdateElement<T> e = Element(k);
      Apply(rule, grad[k], e);
      param[k] = e.param;
      if constexpr (kMomentCount > 0) moment1[k] = e.moment1;
      if constexpr (kMomentCount > 1) moment2[k] = e.moment2;
    }
  }
};

// f(Run&, int64_t i) for element i and those with it: whole runs where memory is aligned, single elements else.
template <int kMomentCount, class Types, class F>
AMPC_HOST_DEVICE inline void ForRun(bool aligned, int64_t i, int64_t n, F f) {
  if (aligned && i + kRun <= n) {
    Run<kRun, kMomentCount, Types> run;
    return f(run, i);
  }
  for (int64_t k = i; k < n && k < i + kRun; ++k) {
    Run<1, kMomentCount, Types> run;
    f(run, k);
  }
}

template <class Rule, class T>
struct ApplyRun {
  const UpdateParams& p;
  const UpdateTensor& t;
  const Rule& rule;
  T factor;
  int64_t begin;
  template <class R>
  AMPC_HOST_DEVICE void operator()(R& run, int64_t i) const {
    run.Load(p, t, factor, begin + i);
    run.Step(rule);
    run.Store(p, t, begin + i);
  }
};

// A step that is skipped.
struct KeepRun {
  const UpdateParams& p;
  const UpdateTensor& t;
  int64_t begin;
  template <int kCount, int kMomentCount, class Types>
  AMPC_HOST_DEVICE void operator()(Run<kCount, kMomentCount, Types>& run, int64_t i) const {
    using T = typename Types::T;
    run.Load(p, t, T(1), begin + i);
    T low[kCount] = {};
    if constexpr (!std::is_same_v<T, double>) {
      if (t.low_out != nullptr) LoadFrom<kCount, typename Types::Low>(t.low, p.low, begin + i, low);
    }
    run.Store(p, t, begin + i);
    if constexpr (!std::is_same_v<T, double>) {
      if (t.low_out != nullptr) StoreTo<kCount, typename Types::Low>(t.low_out, p.low, begin + i, low);
    }
  }
};

template <class Rule, class Types>
struct Update {
  // Four arrays of f32, or of doubles, are what spills otherwise.
  static constexpr bool kIsLarge = kMoments<Rule> > 0 && sizeof(typename Types::Grad) >= sizeof(float);
  UpdateParams p;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const UpdateTensor& t, const TensorPlace& place, int64_t begin, int64_t n) const {
    const bool aligned = IsAligned(t);
    const int64_t runs = (n + kRun - 1) / kRun;
    if (p.skip != nullptr && *p.skip) {
      if (t.weight_out == t.weight && t.low_out == t.low && t.moments_out[0] == t.moments[0] && t.moments_out[1] == t.moments[1]) return;
      const KeepRun keep{p, t, begin};
      team.For(runs, [=](int64_t i) { ForRun<kMoments<Rule>, Types>(aligned, i * kRun, n, keep); });
      return;
    }
    const Rule rule = MakeRule(p, t, place.index, Rule());
    using T = typename Types::T;
    const ApplyRun<Rule, T> apply{p, t, rule, GradFactor<T>(p), begin};
    team.For(runs, [=](int64_t i) { ForRun<kMoments<Rule>, Types>(aligned, i * kRun, n, apply); });
  }
};

// The sums of squares of a chunk's elements and of its directions, for lamb.
struct Squares {
  double param = 0, direction = 0;
};
struct AddSquares {
  AMPC_HOST_DEVICE Squares operator()(const Squares& a, const Squares& b) const { return {a.param + b.param, a.direction + b.direction}; }
};

template <class T>
struct SquaresOfRun {
  const UpdateParams& p;
  const UpdateTensor& t;
  const LambRule<T>& rule;
  T factor;
  int64_t begin;
  Squares* sum;
  template <class R>
  AMPC_HOST_DEVICE void operator()(R& run, int64_t i) const {
    run.Load(p, t, factor, begin + i);
    T of_param = 0, of_direction = 0;
    for (int k = 0; k < static_cast<int>(sizeof(run.param) / sizeof(T)); ++k) {
      UpdateElement<T> e = run.Element(k);
      NextMoments(rule, run.grad[k], e);
      const T d = LambDirection(rule, e);
      of_param += e.param * e.param;
      of_direction += d * d;
    }
    sum->param += of_param;
    sum->direction += of_direction;
  }
};

// The workspace of lamb: the ratio of each tensor, then two sums per chunk.
AMPC_HOST_DEVICE inline double* SumsOfChunk(const UpdateParams& p, int64_t tensors, int64_t chunk) {
  return p.workspace + tensors + 2 * chunk;
}

template <class Types>
struct LambNorms {
  static constexpr bool kIsLarge = true;
  UpdateParams p;
  int64_t tensors;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const UpdateTensor& t, const TensorPlace& place, int64_t begin, int64_t n) const {
    using T = typename Types::T;
    if (p.skip != nullptr && *p.skip) return;
    const bool aligned = IsAligned(t);
    const LambRule<T> rule = MakeRule(p, t, -1, LambRule<T>());
    const T factor = GradFactor<T>(p);
    const Squares total = team.Reduce((n + kRun - 1) / kRun, Squares(),
                                      [&](int64_t i) {
                                        Squares sum;
                                        ForRun<2, Types>(aligned, i * kRun, n, SquaresOfRun<T>{p, t, rule, factor, begin, &sum});
                                        return sum;
                                      },
                                      AddSquares());
    double* to = SumsOfChunk(p, tensors, place.first_chunk + begin / kChunk);
    team.Once([=] {
      to[0] = total.param;
      to[1] = total.direction;
    });
  }
};

template <class T>
struct LambRatio {
  UpdateParams p;
  int64_t tensors;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const UpdateTensor& t, const TensorPlace& place) const {
    if (p.skip != nullptr && *p.skip) return;
    const double* sums = SumsOfChunk(p, tensors, place.first_chunk);
    const Squares total = team.Reduce(
        p.adapts ? ChunksOf(t.elements) : 0, Squares(),
        [=](int64_t i) {
          return Squares{sums[2 * i], sums[2 * i + 1]};
        },
        AddSquares());
    double* to = p.workspace + place.index;
    team.Once([=] { *to = static_cast<double>(TrustRatio<T>(total.param, total.direction)); });
  }
};

// Moves beta1^t and beta2^t, behind the launches that read them.
template <class T>
struct MovePowers {
  UpdateParams p;
  template <class Team>
  AMPC_DEVICE void operator()(Team& team, const UpdateTensor& t, const TensorPlace&) const {
    const bool moves = p.own_powers && !(p.skip != nullptr && *p.skip);
    team.Once([=, this] {
      for (int k = 0; k < 2; ++k) {
        const T power = Power<T>(t, k), beta = static_cast<T>((k == 0 ? p.beta1 : p.beta2).Get());
        *static_cast<T*>(t.powers_out[k]) = moves ? power * beta : power;
      }
    });
  }
};

template <class Types>
int LaunchLamb(void* stream, const UpdateTensor* tensors, int64_t n, const UpdateParams& p) {
  using T = typename Types::T;
  if (p.adapts) {
    if (const int code = ForEachChunk(stream, tensors, n, LambNorms<Types>{p, n}); code != 0) return code;
  }
  if (const int code = ForEachTensor(stream, tensors, n, LambRatio<T>{p, n}); code != 0) return code;
  return ForEachChunk(stream, tensors, n, Update<LambRule<T>, Types>{p});
}

template <class Types>
int LaunchTyped(void* stream, const UpdateTensor* tensors, int64_t n, const UpdateParams& p) {
  using T = typename Types::T;
  int code = 0;
  switch (p.rule) {
    case UpdateKind::kSgd: return ForEachChunk(stream, tensors, n, Update<SgdRule<T>, Types>{p});
    case UpdateKind::kMomentum: return ForEachChunk(stream, tensors, n, Update<MomentumRule<T>, Types>{p});
    case UpdateKind::kAdam: code = ForEachChunk(stream, tensors, n, Update<AdamRule<T>, Types>{p}); break;
    case UpdateKind::kLamb: code = LaunchLamb<Types>(stream, tensors, n, p); break;
  }
  return code != 0 ? code : ForEachTensor(stream, tensors, n, MovePowers<T>{p});
}

}  // namespace

bool TakesTypes(const UpdateParams& p) {
  const auto low = [](DType t) { return t == DType::kF16 || t == DType::kBF16; };
  const auto known = [low](DType t) { return t == DType::kF32 || low(t); };
  if (p.weight == DType::kF64) return !p.has_master && p.grad == DType::kF64 && p.moment == DType::kF64;
  if (!p.has_master) return known(p.weight) && known(p.grad) && known(p.moment);
  return p.weight == DType::kF32 && low(p.low) && (p.grad == p.low || p.grad == DType::kF32) && p.moment == DType::kF32;
}

int LaunchUpdate(void* stream, const UpdateTensor* tensors, int64_t n, const UpdateParams& p) {
  if (p.weight == DType::kF64) return LaunchTyped<Types<double, double, double, double>>(stream, tensors, n, p);
  const bool wide = p.grad == DType::kF32;
  if (p.has_master && p.low == DType::kF16) {
    if (wide) return LaunchTyped<Types<float, Half, float, float>>(stream, tensors, n, p);
    return LaunchTyped<Types<float, Half, Half, float>>(stream, tensors, n, p);
  }
  if (p.has_master) {
    if (wide) return LaunchTyped<Types<float, BFloat16, float, float>>(stream, tensors, n, p);
    return LaunchTyped<Types<float, BFloat16, BFloat16, float>>(stream, tensors, n, p);
  }
  if (wide && p.weight == DType::kF32 && p.moment == DType::kF32)
    return LaunchTyped<Types<float, float, float, float>>(stream, tensors, n, p);
  return LaunchTyped<Types<AnyFloat, AnyFloat, AnyFloat, AnyFloat>>(stream, tensors, n, p);
}

}  // namespace ampc::cuda
