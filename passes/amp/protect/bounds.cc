#include "passes/amp/protect/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/low_values.h"
#include "passes/amp/protect/stored_losses.h"

namespace ampc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Computes(const Op& op, int flat) {
  const DType dtype = op.inputs()[flat]->type.dtype;
  if (IsFloat(dtype)) return op.def().inputs[op.InputSlotOf(flat)].precision == SlotPrecision::kFollow || IsCast(op);
  return IsCast(op);
}

// The end of an interval, moved by what rounding moves it; `away`: from zero.
double MovedEnd(double end, bool away, DType low) {
  const double unit = low == DType::kF16 ? 0x1p-10 : 0x1p-7, smallest = low == DType::kF16 ? 0x1p-14 : 0x1p-126;
  const double magnitude = std::fabs(end), rounded = Rounded(end, low);
  if (!std::isfinite(end) || !std::isfinite(rounded) || rounded == end) return end;  // beyond the range it is computed in fp32
  if (magnitude < smallest) return away ? std::copysign(magnitude + smallest * unit, end) : end;
  return end * (away ? 1 + unit : 1 - unit);
}

template <typename Values>
Bounds BoundsOfAll(const Values& values) {
  if (values.empty()) return {};
  Bounds all{kInfinity, -kInfinity};
  for (const auto v : values) {
    const double x = static_cast<double>(v);
    if (std::isnan(x)) return {};
    all = Union(all, {x, x});
  }
  return all;
}

}  // namespace

Bounds BoundsOfResults(const Op& op, BoundsOf of) {
  const BoundsFn rule = op.def().bounds;
  if (rule == nullptr || op.outputs().empty() || !op.SubBlocks().empty()) return {};
  absl::InlinedVector<Bounds, 4> in;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    if (Computes(op, i)) in.push_back(of(*op.inputs()[i]));
  }
  if (in.empty()) return {};
  const Bounds out = rule(op, in);
  return std::isnan(out.low) || std::isnan(out.high) || out.low > out.high ? Bounds() : out;
}

Bounds RoundedOutwards(const Bounds& bounds, DType low) {
  return {MovedEnd(bounds.low, bounds.low < 0, low), MovedEnd(bounds.high, bounds.high > 0, low)};
}

Bounds Intersection(const Bounds& a, const Bounds& b) {
  const Bounds both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

Bounds BoundsOfStored(const Var& var) {
  if (var.kind != VarKind::kConst || var.literal == nullptr) return {};
  if (var.literal->dtype() == DType::kI32) return BoundsOfAll(var.literal->values<int32_t>());
  if (var.literal->dtype() == DType::kI64) return BoundsOfAll(var.literal->values<int64_t>());
  return BoundsOfAll(OriginalFloats(var));
}

absl::StatusOr<InputRanges> ParseInputRanges(absl::Span<const std::string> items) {
  InputRanges ranges;
  for (const std::string& item : items) {
    const size_t equals = item.rfind('='), colon = item.rfind(':');
    Bounds range;
    const bool split = equals != std::string::npos && colon != std::string::npos && equals > 0 && colon > equals;
    const bool good = split && absl::SimpleAtod(item.substr(equals + 1, colon - equals - 1), &range.low) &&
                      absl::SimpleAtod(item.substr(colon + 1), &range.high) && range.low <= range.high;
    if (!good) return UsageError(absl::StrCat("an input range is '", item, "', NAME=LOW:HIGH is needed, such as x=0:255"));
    if (!ranges.emplace(item.substr(0, equals), range).second) {
      return UsageError(absl::StrCat("there are two input ranges of '", item.substr(0, equals), "', one is needed"));
    }
  }
  return ranges;
}

}  // namespace ampc
