#include "passes/amp/report.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

std::string FirstResult(const Op& op) { return op.outputs().empty() ? std::string() : op.outputs()[0]->exported(); }

void AddOp(const Op& op, const AmpDecision* decision, AmpReport* report) {
  static const OpDecision* const kNone = new OpDecision{false, true, "O0", "nothing becomes low at O0"};
  const OpDecision& d = decision == nullptr ? *kNone : decision->For(op);
  ++(d.untouched ? report->untouched_ops : d.low ? report->low_ops : report->fp32_ops);
  report->ops.push_back({op.type(), FirstResult(op), d.untouched ? "untouched" : d.low ? "low" : "fp32", d.rule, d.reason});
  const AmpClass amp = op.def().amp_when != nullptr ? op.def().amp_when(op) : op.def().amp;
  if (amp != AmpClass::kAllow || op.def().cost == nullptr) return;
  const double flops = op.def().cost(op).flops;
  report->all_flops += flops;
  if (d.low) report->low_flops += flops;
}

void AddCasts(const Program& program, AmpReport* report) {
  absl::flat_hash_map<int, size_t> by_result;  // Var::id -> index in casts
  ForEachOp(program, [&](const Op& op) {
    if (!IsInserted(op)) return;
    const Var& in = *op.inputs()[0];
    const Var& out = *op.outputs()[0];
    by_result.try_emplace(out.id(), report->casts.size());
    report->casts.push_back({in.name(), out.name(), in.type.dtype, out.type.dtype, {}});
  });
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) {
      auto it = by_result.find(var->id());
      if (it != by_result.end()) report->casts[it->second].consumers.push_back(FirstResult(op));
    }
  });
  for (const Var* var : program.fetches) {
    auto it = by_result.find(var->id());
    if (it != by_result.end()) report->casts[it->second].consumers.push_back("fetch");
  }
}

}  // namespace

AmpReport MakeAmpReport(const Program& program, const AmpDecision* decision) {
  AmpReport report;
  report.mode = decision == nullptr ? "own" : decision->mode;
  report.level = decision == nullptr ? "O0" : decision->level;
  if (decision != nullptr) report.low = decision->low;
  ForEachOp(program, [&](const Op& op) {
    if (!IsInserted(op)) AddOp(op, decision, &report);
  });
  AddCasts(program, &report);
  ForEachVar(program, [&](const Var& var) {
    if (var.kind != VarKind::kParam || !Lowered(var) || !IsLowPrecision(var.type.dtype)) return;
    const bool copy = decision == nullptr || !AmpDecision::Has(decision->low_param, var.id());
    report.weights.push_back({var.name(), var.was, var.type.dtype, copy, {}});
  });
  return report;
}

absl::Status MeasureWeights(const Program& program, AmpReport* report) {
  constexpr int64_t kWindow = 1 << 20;
  absl::flat_hash_map<std::string, const Var*> params;
  ForEachVar(program, [&params](const Var& var) {
    if (var.kind == VarKind::kParam) params.emplace(var.name(), &var);
  });
  std::string window;
  for (AmpWeightEntry& entry : report->weights) {
    auto it = params.find(entry.name);
    if (it == params.end() || it->second->weight == nullptr || it->second->weight->transforms.empty()) continue;
    const WeightRef& ref = *it->second->weight;
    const int64_t n = static_cast<int64_t>(ref.bytes / std::max<size_t>(SizeOf(ref.dtype), 1));
    entry.damage = {};
    for (int64_t first = 0; first < n; first += kWindow) {
      window.clear();
      AMPC_RETURN_IF_ERROR(TransformWindow(ref, first, std::min(kWindow, n - first), &window, &entry.damage));
    }
  }
  return absl::OkStatus();
}

void WriteAmpReport(const AmpReport& report, JsonWriter& json) {
  json.Field("mode", report.mode).Field("level", report.level);
  if (report.low != DType::kInvalid) json.Field("low", LongName(report.low));
  json.Field("low_ops", report.low_ops).Field("fp32_ops", report.fp32_ops).Field("untouched_ops", report.untouched_ops);
  json.Field("low_flops_share", report.all_flops > 0 ? report.low_flops / report.all_flops : 0.0);
  json.Key("ops").BeginArray();
  for (const AmpOpEntry& op : report.ops) {
    json.BeginObject(JsonWriter::kInline).Field("op", op.type).Field("value", op.value).Field("precision", op.precision);
    json.Field("rule", op.rule).Field("reason", op.reason).EndObject();
  }
  json.EndArray().Key("casts").BeginArray();
  for (const AmpCastEntry& cast : report.casts) {
    json.BeginObject(JsonWriter::kInline).Field("source", cast.source).Field("result", cast.result);
    json.Field("from", LongName(cast.from)).Field("to", LongName(cast.to)).Key("consumers").BeginArray();
    for (const std::string& consumer : cast.consumers) json.String(consumer);
    json.EndArray().EndObject();
  }
  json.EndArray().Key("weights").BeginArray();
  for (const AmpWeightEntry& w : report.weights) {
    json.BeginObject(JsonWriter::kInline).Field("name", w.name).Field("from", LongName(w.from)).Field("to", LongName(w.to)).Field("copy", w.copy);
    if (w.damage.elements > 0) {
      json.Field("elements", w.damage.elements).Field("clamped", w.damage.clamped).Field("flushed", w.damage.flushed);
      json.Field("subnormal", w.damage.subnormal).Field("non_finite", w.damage.non_finite).Field("max_abs", w.damage.max_abs);
    }
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace ampc
