#include "passes/amp/low_values.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

template <typename T>
LostValue LossOfAll(absl::Span<const T> values, DType low) {
  for (T value : values) {
    const LostValue lost = LossOf(static_cast<double>(value), low);
    if (lost.loss == Loss::kOverflows || (lost.loss != Loss::kNone && values.size() == 1)) return lost;
  }
  return {};
}

}  // namespace

double Rounded(double value, DType low) {
  const float f = static_cast<float>(value);
  return low == DType::kF16 ? static_cast<float>(Half(f)) : static_cast<float>(BFloat16(f));
}

LostValue LossOf(double value, DType low) {
  if (value == 0 || !std::isfinite(value)) return {};
  const double rounded = Rounded(value, low);
  if (!std::isfinite(rounded)) return {Loss::kOverflows, value};
  if (rounded == 0) return {Loss::kVanishes, value};
  const bool subnormal = low == DType::kF16 && std::fabs(value) < 0x1p-14;
  if (subnormal && std::fabs(rounded - value) > std::fabs(value) * 0x1p-11) return {Loss::kImprecise, value};
  return {};
}

LostValue LossOf(const HostTensor& literal, DType low) {
  if (literal.dtype() == DType::kF32) return LossOfAll(literal.values<float>(), low);
  if (literal.dtype() == DType::kF64) return LossOfAll(literal.values<double>(), low);
  return {};
}

LostValue LossOf(absl::Span<const float> values, DType low) { return LossOfAll(values, low); }

LostValue LossOfCreated(const Op& op, DType low) {
  if (onnx::TypeName(op.def()) == "ConstantOfShape") {
    const AttrValue* attr = op.attr("value");
    const auto* scalar = attr == nullptr ? nullptr : std::get_if<Scalar>(attr);
    const auto* number = scalar == nullptr ? nullptr : std::get_if<double>(&scalar->value);
    return number == nullptr ? LostValue() : LossOf(*number, low);
  }
  if (!absl::StartsWith(op.type(), "fill_constant") && op.type() != "fill_any_like") return {};
  double value = op.GetFloat("value");
  const std::string text = op.GetString("str_value");
  if (!text.empty() && !absl::SimpleAtod(text, &value)) return {};
  return LossOf(value, low);
}

}  // namespace ampc
