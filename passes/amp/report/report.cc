#include "passes/amp/report/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/select/original_names.h"

namespace ampc {
namespace {

// As selectors name it.
std::string FirstResult(const Op& op, const OriginalNames& names) {
  return op.outputs().empty() ? std::string() : names.Of(*op.outputs()[0]).exported();
}

const OpDecision& DecisionFor(const Op& op, const AmpDecision* decision) {
  static const OpDecision* const kNone = new OpDecision{false, true, "O0", "nothing becomes low at O0"};
  return decision == nullptr ? *kNone : decision->For(op);
}

DType FloatTypeOf(const Op& op) {
  for (const auto& vars : {op.outputs(), op.inputs()}) {
    for (const Var* var : vars) {
      if (var->type.IsFloat()) return var->type.dtype;
    }
  }
  return DType::kInvalid;
}

void AddOp(const Op& op, const OriginalNames& names, const AmpDecision* decision, AmpReport* report) {
  const OpDecision& d = DecisionFor(op, decision);
  ++(d.untouched ? report->untouched_ops : d.low ? report->low_ops : report->fp32_ops);
  report->ops.push_back({std::string(onnx::TypeName(op.def())), FirstResult(op, names),
                         d.untouched ? "untouched"
                         : d.low     ? "low"
                                     : "fp32",
                         FloatTypeOf(op), std::string(d.rule), std::string(d.reason)});
  const double flops = ProductFlops(op);
  report->all_flops += flops;
  if (d.low) report->low_flops += flops;
}

// Why operand `flat` of `op` is read as `to`.
std::string WhyCast(const Op& op, int flat, DType to, const AmpDecision* decision) {
  if (IsInserted(op)) return "another cast reads it";
  const OpDecision& d = DecisionFor(op, decision);
  const std::string slot = op.def().inputs[op.InputSlotOf(flat)].name;
  if (!d.untouched && d.low == IsLowPrecision(to)) {
    return absl::StrCat(onnx::TypeName(op.def()), d.low ? " computes in low precision (" : " stays fp32 (", d.rule, ": ", d.reason, ")");
  }
  return absl::StrCat("operand ", slot, " of ", onnx::TypeName(op.def()), " is ", LongName(to), " whatever the op computes in");
}

void AddCasts(const Program& program, const OriginalNames& names, const AmpDecision* decision, AmpReport* report) {
  absl::flat_hash_map<int, size_t> by_result;  // Var::id -> index in casts
  ForEachOp(program, [&](const Op& op) {
    if (!IsInserted(op)) return;
    const Var& in = *op.inputs()[0];
    const Var& out = *op.outputs()[0];
    by_result.try_emplace(out.id(), report->casts.size());
    report->casts.push_back({in.name(), out.name(), in.type.dtype, out.type.dtype, {}, ""});
  });
  ForEachOp(program, [&](const Op& op) {
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      auto it = by_result.find(op.inputs()[i]->id());
      if (it == by_result.end()) continue;
      AmpCastEntry& cast = report->casts[it->second];
      if (cast.consumers.empty()) cast.reason = WhyCast(op, static_cast<int>(i), cast.to, decision);
      cast.consumers.push_back(FirstResult(op, names));
    }
  });
  for (const Var* var : program.fetches) {
    auto it = by_result.find(var->id());
    if (it == by_result.end()) continue;
    AmpCastEntry& cast = report->casts[it->second];
    if (cast.consumers.empty()) cast.reason = "the caller fetches it and gets the type of the original";
    cast.consumers.push_back("fetch");
  }
}

// {low, fp32, none} by op type: what the dtypes of `ops` come to.
void WriteTypes(const AmpReport& report, JsonWriter& json) {
  std::map<std::string, std::array<int, 3>> types;
  for (const AmpOpEntry& op : report.ops) ++types[op.type][op.dtype == DType::kInvalid ? 2 : IsLowPrecision(op.dtype) ? 0 : 1];
  json.Key("types").BeginArray();
  for (const auto& [type, count] : types) {
    json.BeginObject(JsonWriter::kInline)
        .Field("op", type)
        .Field("low", count[0])
        .Field("fp32", count[1])
        .Field("none", count[2])
        .EndObject();
  }
  json.EndArray();
}

void WriteOp(const AmpOpEntry& op, JsonWriter& json) {
  json.BeginObject(JsonWriter::kInline).Field("op", op.type).Field("value", op.value).Field("precision", op.precision);
  json.Field("dtype", op.dtype == DType::kInvalid ? absl::string_view("none") : LongName(op.dtype))
      .Field("rule", op.rule)
      .Field("reason", op.reason)
      .EndObject();
}

void WriteCast(const AmpCastEntry& cast, size_t most_consumers, JsonWriter& json) {
  json.BeginObject(JsonWriter::kInline).Field("source", cast.source).Field("result", cast.result);
  json.Field("from", LongName(cast.from)).Field("to", LongName(cast.to)).Key("consumers").BeginArray();
  const size_t consumers = std::min(most_consumers, cast.consumers.size());
  for (size_t i = 0; i < consumers; ++i) json.String(cast.consumers[i]);
  json.EndArray();
  if (consumers < cast.consumers.size()) json.Field("more_consumers", cast.consumers.size() - consumers);
  json.Field("reason", cast.reason).EndObject();
}

void WriteWeight(const AmpWeightEntry& w, JsonWriter& json) {
  json.BeginObject(JsonWriter::kInline)
      .Field("name", w.name)
      .Field("from", LongName(w.from))
      .Field("to", LongName(w.to))
      .Field("copy", w.copy);
  if (w.damage.elements > 0) {
    json.Field("elements", w.damage.elements).Field("clamped", w.damage.clamped).Field("flushed", w.damage.flushed);
    json.Field("subnormal", w.damage.subnormal).Field("non_finite", w.damage.non_finite).Field("max_abs", w.damage.max_abs);
    if (w.norm_lost > 0) json.Field("norm_lost", w.norm_lost);
  }
  json.EndObject();
}

// The indexes of the `most` weights that lose most, in their order.
std::vector<size_t> WorstWeights(const AmpReport& report, size_t most) {
  std::vector<size_t> indexes(report.weights.size());
  std::iota(indexes.begin(), indexes.end(), size_t{0});
  if (indexes.size() <= most) return indexes;
  const auto loss = [&report](size_t i) {
    const WeightDamage& d = report.weights[i].damage;
    const double n = static_cast<double>(std::max<int64_t>(d.elements, 1));
    return std::make_tuple(-d.clamped / n, -d.flushed / n, -d.subnormal / n, i);
  };
  std::sort(indexes.begin(), indexes.end(), [&loss](size_t a, size_t b) { return loss(a) < loss(b); });
  indexes.resize(most);
  std::sort(indexes.begin(), indexes.end());
  return indexes;
}

// The values of a weight that has a pending transform.
absl::Status Measure(const WeightRef& ref, WeightDamage* damage) {
  constexpr int64_t kWindow = 1 << 20;
  std::string window;
  const int64_t n = static_cast<int64_t>(ref.bytes / std::max<size_t>(SizeOf(ref.dtype), 1));
  *damage = {};
  for (int64_t first = 0; first < n; first += kWindow) {
    window.clear();
    AMPC_RETURN_IF_ERROR(TransformWindow(ref, first, std::min(kWindow, n - first), &window, damage));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsConverted(const Var& var) { return IsStored(var) && IsRetyped(var) && IsLowPrecision(var.type.dtype); }

absl::StatusOr<WeightDamage> DamageOfLiteral(const Var& var) {
  WeightDamage damage;
  if (var.literal != nullptr && var.weight != nullptr && !var.weight->transforms.empty())
    AMPC_RETURN_IF_ERROR(Measure(*var.weight, &damage));
  return damage;
}

AmpReport MakeAmpReport(const Program& program, const AmpDecision* decision) {
  AmpReport report;
  report.mode = decision == nullptr ? "own" : decision->mode;
  report.level = decision == nullptr ? "O0" : decision->level;
  if (decision != nullptr) report.low = decision->low;
  const OriginalNames names(program);
  ForEachOp(program, [&](const Op& op) {
    if (!IsInserted(op)) AddOp(op, names, decision, &report);
  });
  AddCasts(program, names, decision, &report);
  ForEachVar(program, [&](const Var& var) {
    if (!IsConverted(var)) return;
    const bool copy = decision == nullptr || !AmpDecision::Has(decision->low_param, var.id());
    report.weights.push_back({var.name(), var.was, var.type.dtype, copy, {}});
  });
  return report;
}

absl::Status MeasureWeights(const Program& program, AmpReport* report) {
  absl::flat_hash_map<std::string, const Var*> params;
  ForEachVar(program, [&params](const Var& var) {
    if (IsConverted(var)) params.emplace(var.name(), &var);
  });
  for (AmpWeightEntry& entry : report->weights) {
    auto it = params.find(entry.name);
    if (it == params.end() || it->second->weight == nullptr || it->second->weight->transforms.empty()) continue;
    AMPC_RETURN_IF_ERROR(Measure(*it->second->weight, &entry.damage));
  }
  return absl::OkStatus();
}

void WriteAmpReport(const AmpReport& report, JsonWriter& json, const AmpReportLimits& limits) {
  json.Field("mode", report.mode).Field("level", report.level);
  if (report.low != DType::kInvalid) json.Field("low", LongName(report.low));
  json.Field("low_ops", report.low_ops).Field("fp32_ops", report.fp32_ops).Field("untouched_ops", report.untouched_ops);
  json.Key("low_flops_share");
  report.all_flops > 0 ? json.Double(report.low_flops / report.all_flops) : json.Null();
  WriteTypes(report, json);
  const size_t ops = std::min(limits.ops, report.ops.size()), casts = std::min(limits.casts, report.casts.size());
  const std::vector<size_t> weights = WorstWeights(report, limits.weights);
  json.Key("omitted").BeginObject(JsonWriter::kInline).Field("ops", report.ops.size() - ops).Field("casts", report.casts.size() - casts);
  json.Field("weights", report.weights.size() - weights.size()).EndObject().Key("ops").BeginArray();
  for (size_t i = 0; i < ops; ++i) WriteOp(report.ops[i], json);
  json.EndArray().Key("casts").BeginArray();
  for (size_t i = 0; i < casts; ++i) WriteCast(report.casts[i], limits.consumers, json);
  json.EndArray().Key("weights").BeginArray();
  for (const size_t i : weights) WriteWeight(report.weights[i], json);
  json.EndArray();
}

}  // namespace ampc
