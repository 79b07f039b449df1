#include "passes/amp/low_values.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"

namespace ampc {
namespace {

double Rounded(double value, DType low) {
  const float f = static_cast<float>(value);
  return low == DType::kF16 ? static_cast<float>(Half(f)) : static_cast<float>(BFloat16(f));
}

template <typename T>
LostValue LossOfAll(absl::Span<const T> values, DType low) {
  for (T value : values) {
    const LostValue lost = LossOf(static_cast<double>(value), low);
    if (lost.loss == Loss::kOverflows || (lost.loss == Loss::kVanishes && values.size() == 1)) return lost;
  }
  return {};
}

}  // namespace

LostValue LossOf(double value, DType low) {
  if (value == 0 || !std::isfinite(value)) return {};
  const double rounded = Rounded(value, low);
  if (!std::isfinite(rounded)) return {Loss::kOverflows, value};
  if (rounded == 0) return {Loss::kVanishes, value};
  return {};
}

LostValue LossOf(const HostTensor& literal, DType low) {
  if (literal.dtype() == DType::kF32) return LossOfAll(literal.values<float>(), low);
  if (literal.dtype() == DType::kF64) return LossOfAll(literal.values<double>(), low);
  return {};
}

LostValue LossOfCreated(const Op& op, DType low) {
  if (!absl::StartsWith(op.type(), "fill_constant") && op.type() != "fill_any_like") return {};
  double value = op.GetFloat("value");
  const std::string text = op.GetString("str_value");
  if (!text.empty() && !absl::SimpleAtod(text, &value)) return {};
  return LossOf(value, low);
}

}  // namespace ampc
