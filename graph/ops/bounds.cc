#include "graph/ops/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace ampc::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Bounds Times(const Bounds& a, const Bounds& b) {
  const auto [low, high] = std::minmax({Product(a.low, b.low), Product(a.low, b.high), Product(a.high, b.low), Product(a.high, b.high)});
  return {low, high};
}

Bounds Inverse(const Bounds& a) { return a.low > 0 || a.high < 0 ? Bounds{1 / a.high, 1 / a.low} : Bounds(); }

Bounds Square(const Bounds& a) {
  const double least = a.low <= 0 && a.high >= 0 ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
  return {least * least, a.Magnitude() * a.Magnitude()};
}

// Of x * gate(x), whose smallest value is -`dip`.
Bounds Gated(const Bounds& a, double dip) { return {a.low >= 0 ? 0 : std::max(-dip, a.low), std::max(0.0, a.high)}; }

// The smallest value of x / (1 + exp(-x)) is -0.27847, of x * tanh(softplus(x)) -0.30885, of gelu -0.17005.
constexpr double kSiluDip = 0.2785, kLargestDip = 0.309;

}  // namespace

Bounds MovedBounds(const Op&, absl::Span<const Bounds> in) {
  Bounds all = in[0];
  for (const Bounds& b : in) all = Union(all, b);
  return all;
}

Bounds PaddedBounds(const Op& op, absl::Span<const Bounds> in) {
  const double filler = op.GetFloat("pad_value") + op.GetFloat("value");  // an op has one of them, or an operand
  return Union(MovedBounds(op, in), {filler, filler});
}

Bounds NotPositive(const Op&, absl::Span<const Bounds>) { return {-kInfinity, 0}; }

Bounds ExpBounds(const Op&, absl::Span<const Bounds> in) { return {std::exp(in[0].low), std::exp(in[0].high)}; }

Bounds ReluBounds(const Op&, absl::Span<const Bounds> in) { return {std::max(0.0, in[0].low), std::max(0.0, in[0].high)}; }

Bounds AbsBounds(const Op&, absl::Span<const Bounds> in) {
  return {in[0].low > 0 ? in[0].low : in[0].high < 0 ? -in[0].high : 0, in[0].Magnitude()};
}

Bounds NegativeBounds(const Op&, absl::Span<const Bounds> in) { return {-in[0].high, -in[0].low}; }

Bounds SumBounds(const Op&, absl::Span<const Bounds> in) {
  Bounds sum = in[0];
  for (size_t i = 1; i < in.size(); ++i) sum = {sum.low + in[i].low, sum.high + in[i].high};
  return sum;
}

Bounds DifferenceBounds(const Op&, absl::Span<const Bounds> in) {
  return in.size() == 2 ? Bounds{in[0].low - in[1].high, in[0].high - in[1].low} : Bounds();
}

Bounds ProductBounds(const Op& op, absl::Span<const Bounds> in) {
  if (in.size() != 2) return {};
  return op.inputs()[0] == op.inputs()[1] ? Square(in[0]) : Times(in[0], in[1]);
}

Bounds QuotientBounds(const Op&, absl::Span<const Bounds> in) { return in.size() == 2 ? Times(in[0], Inverse(in[1])) : Bounds(); }

Bounds SquareBounds(const Op&, absl::Span<const Bounds> in) { return Square(in[0]); }

Bounds RootBounds(const Op&, absl::Span<const Bounds> in) {
  return {std::sqrt(std::max(0.0, in[0].low)), std::sqrt(std::max(0.0, in[0].high))};
}

Bounds MaxBounds(const Op&, absl::Span<const Bounds> in) {
  Bounds out = in[0];
  for (const Bounds& b : in) out = {std::max(out.low, b.low), std::max(out.high, b.high)};
  return out;
}

Bounds MinBounds(const Op&, absl::Span<const Bounds> in) {
  Bounds out = in[0];
  for (const Bounds& b : in) out = {std::min(out.low, b.low), std::min(out.high, b.high)};
  return out;
}

// The bounds are attributes, or operands behind the value. The largest float is none: it stands where a bound is left out.
Bounds ClipBounds(const Op& op, absl::Span<const Bounds> in) {
  double low = -kInfinity, high = kInfinity;
  if (op.attr("min") != nullptr) low = op.GetFloat("min");
  if (op.attr("max") != nullptr) high = op.GetFloat("max");
  size_t next = 1;
  for (const auto& [slot, upper_slot, is_low] : {std::tuple("min", "Min", true), std::tuple("max", "Max", false)}) {
    if ((op.input(slot) == nullptr && op.input(upper_slot) == nullptr) || next >= in.size()) continue;
    const Bounds& bound = in[next++];
    (is_low ? low : high) = is_low ? bound.low : bound.high;
  }
  if (low <= -std::numeric_limits<float>::max()) low = -kInfinity;
  if (high >= std::numeric_limits<float>::max()) high = kInfinity;
  return {std::clamp(in[0].low, low, std::max(low, high)), std::clamp(in[0].high, low, std::max(low, high))};
}

Bounds ReducedSumBounds(const Op& op, absl::Span<const Bounds> in) {
  const int64_t before = op.inputs()[0]->type.NumElements(), after = op.outputs()[0]->type.NumElements();
  const bool same_sign = in[0].low >= 0 || in[0].high <= 0;
  if (before <= 0 || after <= 0)
    return same_sign ? Bounds{in[0].low >= 0 ? in[0].low : -kInfinity, in[0].high <= 0 ? in[0].high : kInfinity} : Bounds();
  const double count = static_cast<double>(before) / static_cast<double>(after);
  return {Product(in[0].low, count), Product(in[0].high, count)};
}

Bounds AffineBounds(const Op& op, absl::Span<const Bounds> in) {
  if (in.size() != 1 || op.input("ScaleTensor") != nullptr) return {};
  const double scale = op.GetFloat("scale"), bias = op.GetFloat("bias");
  const Bounds scaled = Times(in[0], {scale, scale});
  const double offset = op.GetBool("bias_after_scale") ? bias : Product(bias, scale);
  return {scaled.low + offset, scaled.high + offset};
}

Bounds GatedBounds(const Op&, absl::Span<const Bounds> in) { return Gated(in[0], kLargestDip); }

Bounds SwishBounds(const Op& op, absl::Span<const Bounds> in) {
  const double beta = op.GetFloat("beta");
  return beta > 0 ? Gated(in[0], kSiluDip / beta) : Bounds();
}

Bounds HardSwishBounds(const Op& op, absl::Span<const Bounds> in) {
  const auto is = [&op](const char* attr, double value) { return op.attr(attr) == nullptr || op.GetFloat(attr) == value; };
  return is("threshold", 6) && is("scale", 6) && is("offset", 3) ? Gated(in[0], 0.375) : Bounds();
}

Bounds LeakyBounds(const Op& op, absl::Span<const Bounds> in) {
  const double alpha = op.GetFloat("alpha");
  const auto leaky = [alpha](double x) { return x < 0 ? Product(alpha, x) : x; };
  return alpha >= 0 ? Bounds{leaky(in[0].low), leaky(in[0].high)} : Bounds();
}

Bounds EluBounds(const Op& op, absl::Span<const Bounds> in) {
  const double alpha = op.GetFloat("alpha");
  const auto elu = [alpha](double x) { return x < 0 ? Product(alpha, std::expm1(x)) : x; };
  return alpha >= 0 ? Bounds{elu(in[0].low), elu(in[0].high)} : Bounds();
}

// log(1 + exp(b x)) / b lies between max(0, x) and that plus log(2) / b.
Bounds SoftplusBounds(const Op& op, absl::Span<const Bounds> in) {
  const double beta = op.attr("beta") == nullptr ? 1 : op.GetFloat("beta");
  return beta > 0 ? Bounds{std::max(0.0, in[0].low), std::max(0.0, in[0].high) + std::log(2.0) / beta} : Bounds();
}

Bounds LogBounds(const Op&, absl::Span<const Bounds> in) {
  return {in[0].low > 0 ? std::log(in[0].low) : -kInfinity, in[0].high > 0 ? std::log(in[0].high) : kInfinity};
}

Bounds ReciprocalBounds(const Op&, absl::Span<const Bounds> in) { return Inverse(in[0]); }

Bounds InverseRootBounds(const Op&, absl::Span<const Bounds> in) {
  return {in[0].high >= 0 ? 1 / std::sqrt(in[0].high) : 0, in[0].low > 0 ? 1 / std::sqrt(in[0].low) : kInfinity};
}

Bounds CastBounds(const Op& op, absl::Span<const Bounds> in) {
  switch (op.inputs()[0]->type.dtype) {
    case DType::kBool: return {0, 1};
    case DType::kU8: return {0, 255};
    case DType::kI8: return {-128, 127};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    case DType::kU4: return {0, 15};
    case DType::kI4: return {-8, 7};
    case DType::kU2: return {0, 3};
    case DType::kI2: return {-2, 1};
    case DType::kF4E2M1: return {-6, 6};
    default: break;
  }
  return op.outputs()[0]->type.IsFloat() ? in[0] : Bounds{std::trunc(in[0].low), std::trunc(in[0].high)};
}

}  // namespace ampc::ops
