#include "passes/amp/decide/plan.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/structure_keys.h"
#include "passes/amp/protect/rules.h"
#include "passes/amp/select/original_names.h"

namespace ampc {
namespace {

constexpr char kVersionKey[] = "ampc-plan";

std::string Hex(uint64_t value) { return absl::StrFormat("%016x", value); }

std::string DigestOf(const std::vector<PlanEntry>& entries) {
  uint64_t hash = Fnv1a("plan");
  for (const PlanEntry& entry : entries) hash = Fnv1a(absl::StrCat(entry.low ? "low" : "fp32", Hex(entry.key)), hash);
  return Hex(hash);
}

// Its name in the model's file, as selectors have it.
std::string ValueOf(const Op& op, const OriginalNames& names) {
  return op.outputs().empty() ? std::string() : names.Of(*op.outputs()[0]).exported();
}

// The text of a mark of measured ranges; "" for an op without one.
std::string MeasuredText(const Op& op) {
  absl::string_view text;
  const Rule* rule = op.marks.amp == AmpMark::kFp32 ? RuleOfMark(op.marks.amp_reason, &text) : nullptr;
  return rule != nullptr && rule->id == kMeasuredRule ? std::string(text) : "";
}

std::vector<PlanEntry> EntriesOf(const Program& program, const AmpDecision& decision) {
  const std::vector<uint64_t> keys = StructureKeys(program);
  const OriginalNames names(program);
  std::vector<PlanEntry> entries;
  ForEachOp(program, [&](const Op& op) {
    const OpDecision& d = decision.For(op);
    if (IsInserted(op) || d.untouched) return;
    entries.push_back({std::string(onnx::TypeName(op.def())), ValueOf(op, names), keys[op.id()], d.low, std::string(d.rule),
                       std::string(d.reason), d.rule == kMeasuredRule ? "" : MeasuredText(op)});
  });
  return entries;
}

absl::Status ReadText(const JsonValue& object, const char* key, std::string* out) {
  const JsonValue* member = object.Find(key);
  if (member == nullptr || !member->Is(JsonValue::Kind::kString)) return BadInputError(absl::StrCat("'", key, "' needs to be a string"));
  *out = member->text;
  return absl::OkStatus();
}

absl::StatusOr<PlanEntry> ReadEntry(const JsonValue& value) {
  if (!value.Is(JsonValue::Kind::kObject)) return BadInputError("it needs to be an object");
  PlanEntry entry;
  std::string key, precision;
  AMPC_RETURN_IF_ERROR(ReadText(value, "op", &entry.type));
  AMPC_RETURN_IF_ERROR(ReadText(value, "value", &entry.value));
  AMPC_RETURN_IF_ERROR(ReadText(value, "key", &key));
  AMPC_RETURN_IF_ERROR(ReadText(value, "precision", &precision));
  AMPC_RETURN_IF_ERROR(ReadText(value, "rule", &entry.rule));
  AMPC_RETURN_IF_ERROR(ReadText(value, "reason", &entry.reason));
  if (value.Find("measured") != nullptr) AMPC_RETURN_IF_ERROR(ReadText(value, "measured", &entry.measured));
  if (key.size() != 16 || !absl::SimpleHexAtoi(key, &entry.key))
    return BadInputError(absl::StrCat("'key' is '", key, "', needs 16 hexadecimal digits"));
  if (precision != "low" && precision != "fp32") return BadInputError(absl::StrCat("'precision' is '", precision, "', needs low or fp32"));
  entry.low = precision == "low";
  return entry;
}

// By key: which entries and which ops are left.
struct Group {
  std::vector<int> entries, ops;
};

std::string Misfit(const PlanEntry& entry, const Group& group) {
  const std::string which = absl::StrCat("plan: ", entry.type, " '", entry.value, "' (", entry.low ? "low" : "fp32", ") fits no op: ");
  if (group.ops.empty()) return absl::StrCat(which, "the model has none like it");
  return absl::StrCat(which, "the model has ", group.ops.size(), " like it, the plan ", group.entries.size());
}

}  // namespace

Plan PlanOf(const Program& program, const AmpDecision& decision) {
  Plan plan;
  plan.entries = EntriesOf(program, decision);
  plan.digest = DigestOf(plan.entries);
  return plan;
}

std::string PlanJson(const Plan& plan, absl::FunctionRef<void(JsonWriter&)> write_config) {
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field(kVersionKey, 1).Key("config");
  write_config(json);
  json.Field("measured", plan.measured).Field("digest", plan.digest).Key("ops").BeginArray();
  for (const PlanEntry& entry : plan.entries) {
    json.BeginObject(JsonWriter::kInline).Field("op", entry.type).Field("value", entry.value).Field("key", Hex(entry.key));
    json.Field("precision", entry.low ? "low" : "fp32").Field("rule", entry.rule).Field("reason", entry.reason);
    if (!entry.measured.empty()) json.Field("measured", entry.measured);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

absl::StatusOr<Plan> ParsePlan(absl::string_view text) {
  AMPC_ASSIGN_OR_RETURN(JsonValue json, ParseJson(text));
  const JsonValue* version = json.Find(kVersionKey);
  const JsonValue* ops = json.Find("ops");
  if (version == nullptr || version->AsInt() != 1) return BadInputError(absl::StrCat("'", kVersionKey, "' needs to be 1"));
  if (ops == nullptr || !ops->Is(JsonValue::Kind::kArray)) return BadInputError("'ops' needs to be an array");
  Plan plan;
  const JsonValue* measured = json.Find("measured");
  if (measured == nullptr || !measured->Is(JsonValue::Kind::kBool)) return BadInputError("'measured' needs to be true or false");
  plan.measured = measured->boolean;
  std::string digest;
  AMPC_RETURN_IF_ERROR(ReadText(json, "digest", &digest));
  for (const JsonValue& item : ops->items) {
    absl::StatusOr<PlanEntry> entry = ReadEntry(item);
    if (!entry.ok()) return Annotate(entry.status(), absl::StrCat("op ", plan.entries.size()));
    plan.entries.push_back(*std::move(entry));
  }
  plan.digest = DigestOf(plan.entries);
  plan.edited = plan.digest != digest;
  for (JsonValue::Member& member : json.members) {
    if (member.key == "config") plan.config = std::move(member.value);
  }
  return plan;
}

absl::StatusOr<Plan> ReadPlan(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  absl::StatusOr<Plan> plan = ParsePlan(file.text());
  return plan.ok() ? std::move(plan) : Annotate(plan.status(), path);
}

PlannedOps MatchPlan(Plan given, const Program& program) {
  const std::vector<uint64_t> keys = StructureKeys(program);
  const OriginalNames names(program);
  PlannedOps planned;
  planned.plan = std::move(given);
  const Plan& plan = planned.plan;
  planned.entry.assign(program.num_op_ids(), -1);
  absl::flat_hash_map<std::pair<uint64_t, std::string>, int> by_name;
  for (size_t i = 0; i < plan.entries.size(); ++i)
    by_name.emplace(std::pair(plan.entries[i].key, plan.entries[i].value), static_cast<int>(i));
  std::vector<bool> fits(plan.entries.size(), false);
  absl::flat_hash_map<uint64_t, Group> groups;
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op)) return;
    const auto same = by_name.find(std::pair(keys[op.id()], ValueOf(op, names)));
    if (same != by_name.end() && !fits[same->second]) {
      planned.entry[op.id()] = same->second;
      fits[same->second] = true;
    } else {
      groups[keys[op.id()]].ops.push_back(op.id());
    }
  });
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    if (!fits[i]) groups[plan.entries[i].key].entries.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    if (fits[i]) continue;
    Group& group = groups[plan.entries[i].key];
    if (group.ops.size() != group.entries.size()) {
      planned.misfits.push_back(Misfit(plan.entries[i], group));
      continue;
    }
    for (size_t k = 0; k < group.ops.size(); ++k) {
      planned.entry[group.ops[k]] = group.entries[k];
      fits[group.entries[k]] = true;
    }
  }
  return planned;
}

}  // namespace ampc
