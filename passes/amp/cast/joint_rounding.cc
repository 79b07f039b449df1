#include "passes/amp/cast/joint_rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc {
namespace {

constexpr int kBiasSteps = 4;  // how far around bias is looked; each step has its own mean

// The numbers of a low type.
class Grid {
 public:
  explicit Grid(DType low) : half_(low == DType::kF16) {}

  float Nearest(double value) const {
    const auto f = static_cast<float>(value);
    return half_ ? static_cast<float>(Half(f)) : static_cast<float>(BFloat16(f));
  }
  bool IsNormal(float number) const { return InRange(Magnitude(number)); }
  // Calls see(neighbour) for `number` and those up to `steps` around it, the nearest first, as far as they are normal.
  template <typename See>
  void ForEachAround(float number, int steps, const See& see) const {
    see(number);
    if (!IsNormal(number)) return;
    for (int step = 1; step <= steps; ++step) {
      for (const int magnitude : {Magnitude(number) + step, Magnitude(number) - step}) {
        if (InRange(magnitude)) see(std::copysign(FromMagnitude(magnitude), number));
      }
    }
  }
  // In units in the last place. Both have the same sign.
  int Distance(float a, float b) const { return std::abs(Magnitude(a) - Magnitude(b)); }
  // One unit in the last place of a value of that size.
  double Ulp(double value) const {
    const int least = half_ ? -14 : -126;
    return std::ldexp(1.0, std::max(value == 0 ? least : std::ilogb(value), least) - (half_ ? 10 : 7));
  }

 private:
  bool InRange(int magnitude) const {
    return half_ ? magnitude >= 0x0400 && magnitude <= 0x7bff : magnitude >= 0x0080 && magnitude <= 0x7f7f;
  }
  int Magnitude(float number) const { return (half_ ? Half(number).bits : BFloat16(number).bits) & 0x7fff; }
  float FromMagnitude(int magnitude) const {
    const auto bits = static_cast<uint16_t>(magnitude);
    return half_ ? static_cast<float>(Half::FromBits(bits)) : static_cast<float>(BFloat16::FromBits(bits));
  }

  bool half_;
};

class JointRounding {
 public:
  JointRounding(const NormChannel& exact, const NormChannel& alone, const NormRetyped& retyped, float epsilon, DType low)
      : exact_(exact), alone_(alone), retyped_(retyped), epsilon_(epsilon), grid_(low), a_(Factor(exact)), b_(Shift(exact, a_)) {}

  NormChannel Result() {
    if (!std::isfinite(a_) || !std::isfinite(b_) || !RoundsOnly()) return alone_;
    best_ = alone_;
    if (retyped_.scale && retyped_.variance) ChooseFactor();
    ChooseShift();
    return best_;
  }

 private:
  double Factor(const NormChannel& c) const { return c.scale / std::sqrt(static_cast<double>(c.variance) + epsilon_); }
  static double Shift(const NormChannel& c, double a) { return c.bias - c.mean * a; }

  // Nothing was clamped or became zero.
  bool RoundsOnly() const {
    for (float NormChannel::*number : {&NormChannel::scale, &NormChannel::bias, &NormChannel::mean, &NormChannel::variance}) {
      const double exact = exact_.*number, alone = alone_.*number;
      if (!(std::fabs(exact - alone) <= grid_.Ulp(exact)) || (alone == 0 && exact != 0)) return false;
    }
    return true;
  }

  void ChooseFactor() {
    if (!grid_.IsNormal(alone_.scale) || !grid_.IsNormal(alone_.variance)) return;
    double least = std::fabs(Factor(alone_) - a_);
    grid_.ForEachAround(alone_.variance, kMostUnits, [&](float variance) {
      NormChannel c = alone_;
      c.variance = variance;
      c.scale = grid_.Nearest(a_ * std::sqrt(static_cast<double>(variance) + epsilon_));
      const double error = std::fabs(Factor(c) - a_);
      if (!(error < least) || !grid_.IsNormal(c.scale) || grid_.Distance(c.scale, alone_.scale) > kMostUnits) return;
      least = error;
      best_ = c;
    });
  }

  // The factor is chosen; b is to be what it was with the exact one.
  void ChooseShift() {
    const double a = Factor(best_);
    least_shift_ = std::fabs(Shift(best_, a) - b_);
    most_shift_ = kMostUnits * grid_.Ulp(std::max<double>(std::fabs(exact_.bias), std::fabs(exact_.mean * a_)));
    if (retyped_.bias) {
      grid_.ForEachAround(alone_.mean, retyped_.mean ? kMostUnits : 0,
                          [&](float mean) { TryShift(a, mean, grid_.Nearest(b_ + mean * a)); });
    }
    // If mean is the finer of the two.
    if (retyped_.mean && a != 0) {
      grid_.ForEachAround(alone_.bias, retyped_.bias ? kBiasSteps : 0,
                          [&](float bias) { TryShift(a, grid_.Nearest((bias - b_) / a), bias); });
    }
  }

  void TryShift(double a, float mean, float bias) {
    NormChannel c = best_;
    c.mean = mean;
    c.bias = bias;
    const double error = std::fabs(Shift(c, a) - b_);
    if (!(error < least_shift_) || std::fabs(bias - exact_.bias) > most_shift_ || std::fabs((mean - exact_.mean) * a_) > most_shift_)
      return;
    if ((mean != alone_.mean && !grid_.IsNormal(mean)) || (bias != alone_.bias && !grid_.IsNormal(bias))) return;
    least_shift_ = error;
    best_ = c;
  }

  const NormChannel exact_, alone_;
  const NormRetyped retyped_;
  const double epsilon_;
  const Grid grid_;
  const double a_, b_;
  NormChannel best_;
  double least_shift_ = 0, most_shift_ = 0;
};

}  // namespace

NormChannel RoundJointly(const NormChannel& exact, const NormChannel& alone, const NormRetyped& retyped, float epsilon, DType low) {
  return JointRounding(exact, alone, retyped, epsilon, low).Result();
}

}  // namespace ampc
