#include "passes/amp/decide/ranges.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/json_writer.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/op_class.h"
#include "passes/amp/select/original_names.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-ranges";
// Other inputs may reach further than those that were measured.
constexpr double kHeadroom = 2;
constexpr float kVanishes = 0x1p-25f;  // f16 rounds this, and what is smaller, to zero

bool Overflows(const ValueRange& range, DType low) { return range.largest > (low == DType::kF16 ? 65504.0 : 0x1.FEp127) / kHeadroom; }

bool IsSubnormal(const ValueRange& range, DType low) { return low == DType::kF16 && range.nonzero > 0 && range.largest < 0x1p-14; }

// Why the op stays fp32; "" for no reason.
std::string Reason(const Op& op, const Ranges& ranges, const OriginalNames& names, const absl::flat_hash_set<int>& masked, DType low) {
  const auto find = [&](const Var& var) -> const ValueRange* {
    if (!var.type.IsFloat() || IsStored(var) || masked.contains(var.id())) return nullptr;
    const auto it = ranges.find(names.Of(var).exported());
    return it == ranges.end() ? nullptr : &it->second;
  };
  const auto say = [low](const Var& var, const ValueRange& range) {
    if (Overflows(range, low)) return absl::StrCat("protect.measured: '", var.exported(), "' reached ", range.largest);
    return absl::StrCat("protect.measured: '", var.exported(), "' reached only ", range.largest, ", ", range.vanishing, " of ",
                        range.nonzero, " values are 0 in f16");
  };
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    const Var& var = *op.outputs()[i];
    const ValueRange* range = find(var);
    if (range == nullptr || OutputPrecisionFor(op.def(), op.OutputSlotOf(i), low) != SlotPrecision::kFollow) continue;
    // A result that a bounded function makes small (a probability) is small by intent.
    const bool vanishes = low == DType::kF16 && range->vanishing * 2 > range->nonzero && !op.HasTrait(OpTrait::kBounded);
    if (Overflows(*range, low) || IsSubnormal(*range, low) || vanishes) return say(var, *range);
  }
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = *op.inputs()[i];
    const ValueRange* range = find(var);
    if (range == nullptr || InputPrecisionFor(op.def(), op.InputSlotOf(i), low) != SlotPrecision::kFollow) continue;
    if (Overflows(*range, low) || IsSubnormal(*range, low)) return say(var, *range);
  }
  return "";
}

absl::Status ReadRange(const JsonValue& value, ValueRange* range) {
  const std::pair<const char*, int64_t*> counts[] = {
      {"nonzero", &range->nonzero}, {"vanishing", &range->vanishing}, {"negative", &range->negative}, {"not_finite", &range->not_finite}};
  const std::pair<const char*, double*> numbers[] = {{"largest", &range->largest}, {"smallest", &range->smallest}};
  for (const auto& [key, out] : counts) {
    const JsonValue* member = value.Find(key);
    const std::optional<int64_t> number = member == nullptr ? std::nullopt : member->AsInt();
    if (!number.has_value() || *number < 0) return BadInputError(absl::StrCat("'", key, "' needs to be a count"));
    *out = *number;
  }
  for (const auto& [key, out] : numbers) {
    const JsonValue* member = value.Find(key);
    const std::optional<double> number = member == nullptr ? std::nullopt : member->AsDouble();
    if (!number.has_value() || !(*number >= 0)) return BadInputError(absl::StrCat("'", key, "' needs to be a number that is not negative"));
    *out = *number;
  }
  return absl::OkStatus();
}

}  // namespace

void ValueRange::Add(absl::Span<const float> values) {
  for (const float value : values) {
    const float magnitude = std::fabs(value);
    if (!std::isfinite(magnitude)) {
      ++not_finite;
    } else if (magnitude > 0) {
      largest = std::max(largest, static_cast<double>(magnitude));
      smallest = nonzero == 0 ? magnitude : std::min(smallest, static_cast<double>(magnitude));
      ++nonzero;
      vanishing += magnitude <= kVanishes ? 1 : 0;
      negative += value < 0 ? 1 : 0;
    }
  }
}

void ValueRange::Add(const ValueRange& other) {
  if (other.nonzero > 0) smallest = nonzero == 0 ? other.smallest : std::min(smallest, other.smallest);
  largest = std::max(largest, other.largest);
  nonzero += other.nonzero;
  vanishing += other.vanishing;
  negative += other.negative;
  not_finite += other.not_finite;
}

std::string RangesJson(const Ranges& ranges) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field(kVersionKey, 1).Key("values").BeginObject();
  for (const auto& [name, range] : ranges) {
    json.Key(name).BeginObject(JsonWriter::kInline).Field("largest", range.largest).Field("smallest", range.smallest);
    json.Field("nonzero", range.nonzero).Field("vanishing", range.vanishing).Field("negative", range.negative);
    json.Field("not_finite", range.not_finite).EndObject();
  }
  json.EndObject().EndObject();
  return json.Take() + "\n";
}

absl::StatusOr<Ranges> ParseRanges(absl::string_view text) {
  absl::StatusOr<JsonValue> json = ParseJson(text);
  if (!json.ok()) return json.status();
  const JsonValue* version = json->Find(kVersionKey);
  const JsonValue* values = json->Find("values");
  if (version == nullptr || version->AsInt() != 1) return BadInputError(absl::StrCat("'", kVersionKey, "' needs to be 1"));
  if (values == nullptr || !values->Is(JsonValue::Kind::kObject)) return BadInputError("'values' needs to be an object");
  Ranges ranges;
  for (const JsonValue::Member& member : values->members) {
    const absl::Status read = ReadRange(member.value, &ranges[member.key]);
    if (!read.ok()) return Annotate(read, absl::StrCat("value '", member.key, "'"));
  }
  return ranges;
}

InputRanges BoundsOfRanges(const Ranges& ranges) {
  InputRanges bounds;
  for (const auto& [name, range] : ranges) {
    if (range.not_finite > 0) continue;
    const double reach = range.largest * (range.largest == range.smallest ? 1 : kHeadroom);
    bounds.emplace(name, Bounds{range.negative > 0 ? -reach : 0, range.negative < range.nonzero ? reach : 0});
  }
  return bounds;
}

int MarkByRanges(const Ranges& ranges, DType low, absl::string_view where, const MaskConstants& masks, Program& program) {
  const OriginalNames names(program);
  absl::flat_hash_set<int> masked;
  for (const auto& mask : masks) masked.insert(mask.second.values.begin(), mask.second.values.end());
  int marks = 0;
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      if (IsInserted(*op) || op->marks.amp != AmpMark::kNone || !MayBecomeLow(*op)) continue;
      std::string reason = Reason(*op, ranges, names, masked, low);
      if (reason.empty()) continue;
      absl::StrAppend(&reason, where);
      op->marks.amp = AmpMark::kFp32;
      op->marks.amp_reason = std::move(reason);
      ++marks;
    }
  }
  return marks;
}

}  // namespace ampc
