#include "passes/amp/report/explain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/op_record.h"
#include "passes/amp/select/original_names.h"

namespace ampc {
namespace {

constexpr int kMostSteps = 20;      // of a chain
constexpr int kFarthest = 200;      // steps from an op to its cause
constexpr size_t kMostReaders = 8;  // of a cast, in a text

std::string Quoted(absl::string_view name) { return absl::StrCat("'", name, "'"); }

std::string OpName(const Explanation& e, int op) { return absl::StrCat("op ", op, " (", e.report.ops[op].type, ")"); }

const char* TypeWord(const Explanation& e, const AmpOpEntry& op) {
  if (op.precision == "untouched") return "is taken as it is";
  if (op.precision == "fp32") return "computes in fp32";
  return e.report.low == DType::kBF16 ? "computes in bf16" : "computes in fp16";
}

std::string RuleText(const AmpOpEntry& op) { return op.reason.empty() ? op.rule : absl::StrCat(op.rule, ": ", op.reason); }

std::string ShareText(double part, double all) { return all > 0 ? absl::StrFormat("%.1f %%", 100 * part / all) : "none"; }

double SecondsOf(const std::vector<double>& seconds, int id) { return id < static_cast<int>(seconds.size()) ? seconds[id] : 0; }

// A cast has one side that the decided program has, too.
double SecondsOfCast(const ExplainedTimes& times, const Op& cast) {
  return SecondsOf(times.casts, std::min(cast.inputs()[0]->id(), cast.outputs()[0]->id()));
}

std::string Microseconds(double seconds) { return absl::StrFormat("%.3g us", seconds * 1e6); }

std::string CastLine(const AmpCastEntry& cast) {
  return absl::StrCat(Quoted(cast.source), " (", LongName(cast.from), ") -> ", Quoted(cast.result), " (", LongName(cast.to), ")");
}

// The op of the report that makes the source of a cast; -1 for a feed or a weight.
int MakerOf(const Explanation& e, absl::string_view source) {
  const auto at = e.by_value.find(source);
  return at == e.by_value.end() ? -1 : at->second;
}

}  // namespace

Explanation Explain(const Program& program, const AmpDecision& decision, const Causes& causes, const ExplainedTimes& times) {
  Explanation e;
  e.device = times.device;
  e.report = MakeAmpReport(program, &decision);
  e.by_id.assign(program.num_op_ids(), -1);
  std::vector<const Op*> ops;
  std::vector<int> cast_of(program.num_var_ids(), -1);  // by Var::id of its result
  int casts = 0;
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op)) {
      cast_of[op.outputs()[0]->id()] = casts++;
      e.seconds += e.casts.emplace_back(SecondsOfCast(times, op));
      return;
    }
    e.by_id[op.id()] = static_cast<int>(ops.size());
    for (const Var* var : op.outputs()) e.by_value.emplace(var->name(), static_cast<int>(ops.size()));
    ops.push_back(&op);
  });
  const OriginalNames names(program);
  for (const Op* op : ops) {
    ExplainedOp& out = e.ops.emplace_back();
    out.starts = causes.StartOf(*op);
    out.proof = causes.ProofOf(*op);
    const std::vector<CauseStep> chain = causes.ChainOf(*op, kFarthest);
    const int steps = static_cast<int>(chain.size());
    out.left_out = std::max(0, steps - kMostSteps);
    for (int i = 0; i < steps; ++i) {
      if (out.left_out > 0 && i >= kMostSteps - 1 && i + 1 < steps) continue;
      out.chain.push_back({e.IndexOf(chain[i].op->id()), names.Of(*chain[i].through).exported(), chain[i].reads, chain[i].starts});
    }
    for (const Var* var : op->inputs()) {
      if (cast_of[var->id()] >= 0) out.casts.push_back(cast_of[var->id()]);
    }
    const Cost cost = CostOf(*op);
    out.flops = cost.flops;
    out.bytes = cost.bytes;
    e.flops += cost.flops;
    e.bytes += cost.bytes;
    out.seconds = SecondsOf(times.ops, op->id());
    out.fp32 = SecondsOf(times.fp32, op->id());
    e.seconds += out.seconds;
  }
  return e;
}

std::string Sentence(const Explanation& e, const ExplainedStep& step) {
  return absl::StrCat(OpName(e, step.op), step.reads ? " reads " : " makes ", Quoted(step.through), step.starts.empty() ? "" : ": ",
                      step.starts);
}

std::string ExplainOpText(const Explanation& e, int op) {
  const AmpOpEntry& entry = e.report.ops[op];
  const ExplainedOp& explained = e.ops[op];
  std::string out = absl::StrCat(OpName(e, op), " -> ", Quoted(entry.value), " ", TypeWord(e, entry), "\n  ", RuleText(entry), "\n");
  if (!explained.starts.empty()) absl::StrAppend(&out, "  the rule starts here: ", explained.starts, "\n");
  if (!explained.chain.empty()) absl::StrAppend(&out, "  because\n");
  for (const ExplainedStep& step : explained.chain) {
    if (explained.left_out > 0 && &step == &explained.chain.back())
      absl::StrAppend(&out, "    and so on, ", explained.left_out, " more, to\n");
    absl::StrAppend(&out, "    ", Sentence(e, step), "\n");
  }
  if (!explained.proof.empty()) absl::StrAppend(&out, "  its result is ", explained.proof, "\n");
  for (const int cast : explained.casts) absl::StrAppend(&out, "  reads a cast: ", CastLine(e.report.casts[cast]), "\n");
  absl::StrAppend(&out, "  work: ", ShareText(explained.flops, e.flops), " of all flops, ", ShareText(explained.bytes, e.bytes),
                  " of all bytes\n");
  if (!e.device.empty()) {
    absl::StrAppend(&out, "  predicted on ", e.device, ": ", Microseconds(explained.seconds), ", ", ShareText(explained.seconds, e.seconds),
                    " of the time; in fp32 ", Microseconds(explained.fp32), "\n");
  }
  return out;
}

std::string ExplainCastText(const Explanation& e, int cast) {
  const AmpCastEntry& entry = e.report.casts[cast];
  std::string out = absl::StrCat("cast ", CastLine(entry), "\n");
  const size_t shown = std::min(kMostReaders, entry.consumers.size());
  absl::StrAppend(&out, "  read by ", absl::StrJoin(absl::MakeConstSpan(entry.consumers).subspan(0, shown), ", "));
  if (shown < entry.consumers.size()) absl::StrAppend(&out, " and ", entry.consumers.size() - shown, " more");
  absl::StrAppend(&out, "\n  because ", entry.reason, "\n");
  if (!e.device.empty()) absl::StrAppend(&out, "  predicted on ", e.device, ": ", Microseconds(e.casts[cast]), "\n");
  const int maker = MakerOf(e, entry.source);
  if (maker >= 0)
    absl::StrAppend(&out, "  and ", OpName(e, maker), ", which makes it, ", TypeWord(e, e.report.ops[maker]), " (",
                    RuleText(e.report.ops[maker]), ")\n");
  return out;
}

void WriteExplainedOp(const Explanation& e, int op, JsonWriter& json) {
  const AmpOpEntry& entry = e.report.ops[op];
  const ExplainedOp& explained = e.ops[op];
  json.BeginObject(JsonWriter::kInline)
      .Field("index", op)
      .Field("op", entry.type)
      .Field("value", entry.value)
      .Field("precision", entry.precision);
  json.Field("rule", entry.rule).Field("reason", entry.reason).Field("starts", explained.starts).Field("proof", explained.proof);
  json.Key("chain").BeginArray();
  for (const ExplainedStep& step : explained.chain) {
    json.BeginObject().Field("index", step.op).Field("op", e.report.ops[step.op].type).Field(step.reads ? "reads" : "makes", step.through);
    json.Field("starts", step.starts).EndObject();
  }
  json.EndArray().Field("left_out", explained.left_out).Key("casts").BeginArray();
  for (const int cast : explained.casts) json.String(e.report.casts[cast].result);
  json.EndArray().Field("flops", explained.flops).Field("bytes", explained.bytes);
  json.Field("seconds", explained.seconds).Field("fp32_seconds", explained.fp32).EndObject();
}

void WriteExplainedCast(const Explanation& e, int cast, JsonWriter& json) {
  const AmpCastEntry& entry = e.report.casts[cast];
  json.BeginObject(JsonWriter::kInline).Field("source", entry.source).Field("result", entry.result);
  json.Field("from", LongName(entry.from))
      .Field("to", LongName(entry.to))
      .Field("maker", MakerOf(e, entry.source))
      .Key("consumers")
      .BeginArray();
  for (const std::string& consumer : entry.consumers) json.String(consumer);
  json.EndArray().Field("reason", entry.reason).Field("seconds", e.casts[cast]).EndObject();
}

}  // namespace ampc
