// The optimizers' arithmetic on one element, for host and device, and the numbers of a step that it needs. Each operation is rounded by
// itself, in the order written here: the vector loops of the CPU (kernels/cpu/optimizer/update_loops.h) give the same bits. T is float or
// double.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc {

enum class UpdateKind : uint8_t { kSgd, kMomentum, kAdam, kLamb };

template <typename T>
struct SgdRule {
  T lr;  // p - lr * g
};

template <typename T>
struct MomentumRule {
  T lr, mu, rescale, decay;
  bool nesterov;  // g = g * rescale + decay * p; v = v * mu + g; p - lr * v, or p - (g + v * mu) * lr
};

template <typename T>
struct AdamRule {
  T beta1, beta2;
  T rate;     // lr * (sqrt(1 - beta2^t) / (1 - beta1^t))
  T epsilon;  // epsilon * sqrt(1 - beta2^t)
  T keep;     // adamw: p * keep first
};

template <typename T>
struct LambRule {
  T beta1, beta2, epsilon, decay;
  T correct1, correct2;  // 1 - beta1^t, 1 - beta2^t
  T rate;                // lr * |p| / |d|
};

// The rules of a step. `power1` and `power2` are beta1^t and beta2^t; `coeff` is adamw's decay, 0 for adam.
template <typename T>
AMPC_HOST_DEVICE inline AdamRule<T> MakeAdamRule(T beta1, T beta2, T epsilon, T lr, T coeff, T power1, T power2) {
  const T root = std::sqrt(1 - power2);
  return {beta1, beta2, lr * (root / (1 - power1)), epsilon * root, 1 - lr * coeff};
}

template <typename T>
AMPC_HOST_DEVICE inline LambRule<T> MakeLambRule(T beta1, T beta2, T epsilon, T decay, T lr, T power1, T power2) {
  return {beta1, beta2, epsilon, decay, 1 - power1, 1 - power2, lr};
}

// lamb's factor of the rate from the sums of squares of the parameter and of the direction.
template <typename T>
AMPC_HOST_DEVICE inline T TrustRatio(double squares_of_param, double squares_of_direction) {
  const T p = static_cast<T>(std::sqrt(squares_of_param)), d = static_cast<T>(std::sqrt(squares_of_direction));
  return p > 0 && d > 0 ? p / d : T(1);
}

// The state of an element that an update changes.
template <typename T>
struct UpdateElement {
  T param;
  T moment1;  // momentum: the velocity
  T moment2;
};

template <typename T>
AMPC_HOST_DEVICE inline void Apply(const SgdRule<T>& rule, T g, UpdateElement<T>& e) {
  e.param = e.param - rule.lr * g;
}

template <typename T>
AMPC_HOST_DEVICE inline void Apply(const MomentumRule<T>& rule, T g, UpdateElement<T>& e) {
  g = g * rule.rescale;
  if (rule.decay != 0) g = g + e.param * rule.decay;  // 0 * p is not 0 for every p
  e.moment1 = e.moment1 * rule.mu + g;
  e.param = e.param - (rule.nesterov ? (g + e.moment1 * rule.mu) * rule.lr : rule.lr * e.moment1);
}

template <typename T, typename Rule>
AMPC_HOST_DEVICE inline void NextMoments(const Rule& rule, T g, UpdateElement<T>& e) {
  e.moment1 = rule.beta1 * e.moment1 + (1 - rule.beta1) * g;
  e.moment2 = rule.beta2 * e.moment2 + (1 - rule.beta2) * g * g;
}

template <typename T>
AMPC_HOST_DEVICE inline void Apply(const AdamRule<T>& rule, T g, UpdateElement<T>& e) {
  NextMoments(rule, g, e);
  const T step = e.moment1 / (std::sqrt(e.moment2) + rule.epsilon);
  e.param = e.param * rule.keep - rule.rate * step;
}

// lamb's direction from the new moments.
template <typename T>
AMPC_HOST_DEVICE inline T LambDirection(const LambRule<T>& rule, const UpdateElement<T>& e) {
  const T step = e.moment1 / rule.correct1 / (std::sqrt(e.moment2 / rule.correct2) + rule.epsilon);
  return step + rule.decay * e.param;
}

template <typename T>
AMPC_HOST_DEVICE inline void Apply(const LambRule<T>& rule, T g, UpdateElement<T>& e) {
  NextMoments(rule, g, e);
  e.param = e.param - rule.rate * LambDirection(rule, e);
}

}  // namespace ampc
