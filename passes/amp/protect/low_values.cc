#include "passes/amp/protect/low_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/low_range.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect/thresholds.h"

namespace ampc {
namespace {

double Square(double x) { return x * x; }
double FloatOfBits(uint32_t bits) { return std::bit_cast<float>(bits); }

// The result of rounding a small value.
double Narrowed(float value, DType low, OnTiny on_tiny) {
  const LowRange& range = LowRangeOf(low);
  const uint32_t magnitude = std::bit_cast<uint32_t>(std::fabs(value));
  if (on_tiny == OnTiny::kFlush && magnitude < range.normal_min) return 0;
  if (on_tiny == OnTiny::kKeep && magnitude > 0 && magnitude <= range.zero_max)
    return std::copysign(FloatOfBits(range.min_subnormal), value);
  return Rounded(value, low);
}

template <typename T>
LostValue LossOfAll(absl::Span<const T> values, DType low, OnTiny on_tiny) {
  for (T value : values) {
    const LostValue lost = LossOf(static_cast<double>(value), low);
    if (lost.loss == Loss::kOverflows || (lost.loss != Loss::kNone && values.size() == 1)) return lost;
  }
  if (values.size() <= 1) return {};
  if constexpr (!std::is_same_v<T, float>) {
    return LossOfAll<float>(std::vector<float>(values.begin(), values.end()), low, on_tiny);
  } else {
    ShareLost share(low, on_tiny, values.size());
    if (share.Enough(values)) return {};
    share.Add(values);
    return share.Result();
  }
}

}  // namespace

std::string WhatIsLost(const LostValue& lost, DType low) {
  const absl::string_view what = lost.loss == Loss::kOverflows ? "infinite" : lost.loss == Loss::kVanishes ? "0" : "";
  const std::string subject = lost.many ? absl::StrCat("values up to ", lost.value) : absl::StrCat(lost.value);
  if (what.empty()) return absl::StrCat(subject, lost.many ? " have" : " has", " few bits in ", Name(low));
  return absl::StrCat(subject, lost.many ? " are " : " is ", what, " in ", Name(low));
}

double Rounded(double value, DType low) {
  const float f = static_cast<float>(value);
  return low == DType::kF16 ? static_cast<float>(Half(f)) : static_cast<float>(BFloat16(f));
}

LostValue LossOf(double value, DType low) {
  if (value == 0 || !std::isfinite(value)) return {};
  const double rounded = Rounded(value, low);
  if (!std::isfinite(rounded)) return {Loss::kOverflows, value};
  const double magnitude = std::fabs(value), error = std::fabs(rounded - value);
  if (rounded == 0) return {Loss::kVanishes, value, magnitude};
  const bool subnormal = low == DType::kF16 && magnitude < 0x1p-14;
  if (subnormal && error > magnitude * kLargeError) return {Loss::kCoarse, value, magnitude};
  if (subnormal && error > magnitude * 0x1p-11) return {Loss::kImprecise, value, magnitude};
  return {};
}

LostValue LossOf(const HostTensor& literal, DType low, OnTiny on_tiny) {
  if (literal.dtype() == DType::kF32) return LossOfAll(literal.values<float>(), low, on_tiny);
  if (literal.dtype() == DType::kF64) return LossOfAll(literal.values<double>(), low, on_tiny);
  return {};
}

LostValue LossOf(absl::Span<const float> values, DType low, OnTiny on_tiny) { return LossOfAll(values, low, on_tiny); }

ShareLost::ShareLost(DType low, OnTiny on_tiny, uint64_t count) : low_(low), on_tiny_(on_tiny) {
  const LowRange& range = LowRangeOf(low);
  const double step = FloatOfBits(on_tiny == OnTiny::kFlush ? range.normal_min : range.min_subnormal);
  const double most_error = on_tiny == OnTiny::kSubnormal ? step / 2 : step;
  enough_ = static_cast<double>(count) * Square(most_error / kLargeError);
}

bool ShareLost::Enough(absl::Span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += Square(value);
  seen_ += sum;
  return !(seen_ < enough_);
}

void ShareLost::Add(absl::Span<const float> values) {
  for (const float value : values) {
    if (value == 0) continue;
    const double narrowed = Narrowed(value, low_, on_tiny_);
    all_ += Square(value);
    error_ += Square(narrowed - value);
    if (narrowed == 0) zeroed_ += Square(value);
    const double magnitude = std::fabs(value);
    least_ = largest_ == 0 ? magnitude : std::min(least_, magnitude);
    largest_ = std::max(largest_, magnitude);
    (value > 0 ? positive_ : negative_) = true;
  }
}

LostValue ShareLost::Result() const {
  if (!(error_ > all_ * Square(kLargeError))) return {};
  return {zeroed_ > all_ / 2 ? Loss::kVanishes : Loss::kCoarse, largest_, positive_ && negative_ ? 0 : least_, true};
}

LostValue LossOfCreated(const Op& op, DType low) {
  if (onnx::TypeName(op.def()) == "ConstantOfShape") {
    const AttrValue* attr = op.attr("value");
    const auto* scalar = attr == nullptr ? nullptr : std::get_if<Scalar>(attr);
    const auto* number = scalar == nullptr ? nullptr : std::get_if<double>(&scalar->value);
    return number == nullptr ? LostValue() : LossOf(*number, low);
  }
  if (op.type() == "assign_value") {
    const std::vector<double> values = op.GetFloats("fp32_values");
    return LossOfAll(absl::MakeConstSpan(values), low, OnTiny::kSubnormal);
  }
  if (!absl::StartsWith(op.type(), "fill_constant") && op.type() != "fill_any_like") return {};
  double value = op.GetFloat("value");
  const std::string text = op.GetString("str_value");
  if (!text.empty() && !absl::SimpleAtod(text, &value)) return {};
  return LossOf(value, low);
}

}  // namespace ampc
