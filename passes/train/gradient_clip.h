// GradientClip: how an optimizer bounds the gradients, which are unscaled by then.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ampc {

struct GradientClip {
  enum class Kind : uint8_t { kNone, kValue, kNorm, kGlobalNorm };
  Kind kind = Kind::kNone;
  double low = 0, high = 0;         // kValue: each element; kNorm, kGlobalNorm: `high` is the largest norm
  std::vector<std::string> except;  // params whose gradients are neither measured nor clipped

  static GradientClip Value(double low, double high) { return {Kind::kValue, low, high, {}}; }
  // Each gradient to norm * gradient / |gradient| where that is shorter.
  static GradientClip Norm(double norm) { return {Kind::kNorm, 0, norm, {}}; }
  // All gradients by one factor, norm / max(norm, |all gradients|). Squares are summed in f32, of f16 gradients too.
  static GradientClip GlobalNorm(double norm) { return {Kind::kGlobalNorm, 0, norm, {}}; }
  GradientClip Except(std::vector<std::string> params) const { return {kind, low, high, std::move(params)}; }
};

}  // namespace ampc
