// ampc explain: why each op of a conversion computes in its type.
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "passes/amp/report/explain.h"
#include "passes/amp/select/original_names.h"
#include "passes/amp/select/select_ops.h"
#include "runtime/convert/convert.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/heap.h"

namespace ampc {
namespace {

struct ExplainFlags {
  ConvertFlags convert;
  std::vector<std::string> ops;  // selectors
  std::string cast;
};

// The parts of an explanation that are shown.
struct Shown {
  std::vector<int> ops, casts;
};

absl::StatusOr<std::vector<int>> OpsOf(const std::vector<std::string>& selectors, const Program& program, const Explanation& explanation) {
  std::vector<int> shown;
  OpSelection selection(program);
  for (const std::string& text : selectors) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<Selector> list, ParseSelectorList(text));
    if (list.empty()) return UsageError("--op is empty, a selector is needed");
    for (const Selector& selector : list) {
      AMPC_ASSIGN_OR_RETURN(const std::vector<int> ids, selection.Select(selector));
      for (const int id : ids) shown.push_back(explanation.IndexOf(id));
    }
  }
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  return shown;
}

// Of a value, or of what a cast made of it.
absl::StatusOr<std::vector<int>> CastsOf(const std::string& value, const Program& program) {
  std::vector<int> shown;
  std::vector<std::string> names;
  const OriginalNames original(program);
  int at = 0;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.inputs()) names.push_back(original.Of(*var).exported());
    for (const Var* var : op.outputs()) names.push_back(original.Of(*var).exported());
    if (!IsInserted(op)) return;
    const Var& from = *op.inputs()[0];
    const Var& to = *op.outputs()[0];
    if (value == from.name() || value == to.name() || value == original.Of(from).exported()) shown.push_back(at);
    ++at;
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (!shown.empty() || std::binary_search(names.begin(), names.end(), value)) return shown;
  return UsageError(absl::StrCat("--why-cast: the model has no value '", value, "'", Suggest(value, names)));
}

// For a column of a table.
std::string Short(std::string name) {
  constexpr size_t kMost = 48;
  if (name.size() <= kMost) return name;
  size_t end = kMost - 3;
  while (end > 0 && (name[end] & 0xC0) == 0x80) --end;  // not within a character
  return name.substr(0, end) + "...";
}

std::string Cause(const Explanation& e, int op) {
  if (e.ops[op].chain.empty()) return e.ops[op].starts.empty() ? "" : "itself";
  const ExplainedStep& last = e.ops[op].chain.back();
  return absl::StrCat(e.report.ops[last.op].type, last.reads ? " reads " : " makes ", last.through);
}

std::string Summary(const Explanation& e, const ConvertOptions& options) {
  const char* low = e.report.low == DType::kBF16 ? "bf16" : "fp16";
  return absl::StrCat(options.model, ": at level ", e.report.level, " ", e.report.low_ops, " ops ", low, ", ", e.report.fp32_ops, " fp32, ",
                      e.report.untouched_ops, " taken as they are; ", e.report.casts.size(),
                      e.report.casts.size() == 1 ? " cast\n" : " casts\n");
}

std::string Table(const Explanation& e) {
  std::vector<std::vector<std::string>> rows = {{"op", "type", "value", "computes", "casts", "because of", "rule"}};
  for (size_t i = 0; i < e.ops.size(); ++i) {
    const AmpOpEntry& op = e.report.ops[i];
    const std::string computes = op.precision == "untouched" ? "-"
                                 : op.precision == "low"     ? (e.report.low == DType::kBF16 ? "bf16" : "fp16")
                                                             : "fp32";
    rows.push_back({absl::StrCat(i), op.type, Short(op.value), computes, absl::StrCat(e.ops[i].casts.size()),
                    Short(Cause(e, static_cast<int>(i))), op.reason.empty() ? op.rule : absl::StrCat(op.rule, ": ", op.reason)});
  }
  return FormatTable(rows);
}

void PrintText(Console& console, const ExplainFlags& flags, const Explanation& e, const Shown& shown) {
  if (flags.ops.empty() && flags.cast.empty()) {
    console.Out(Summary(e, flags.convert.options));
    console.Out(Table(e));
    return;
  }
  for (const int op : shown.ops) console.Out(ExplainOpText(e, op));
  for (const int cast : shown.casts) console.Out(ExplainCastText(e, cast));
  if (!flags.cast.empty() && shown.casts.empty()) console.Out(absl::StrCat("nothing casts '", flags.cast, "'\n"));
}

void PrintJson(Console& console, const ExplainFlags& flags, const ConvertResult& result, const Explanation& e, Shown shown) {
  if (flags.ops.empty() && flags.cast.empty()) {
    for (size_t i = 0; i < e.ops.size(); ++i) shown.ops.push_back(static_cast<int>(i));
    for (size_t i = 0; i < e.report.casts.size(); ++i) shown.casts.push_back(static_cast<int>(i));
  }
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", flags.convert.options.model).Field("dtype", e.report.low == DType::kBF16 ? "bf16" : "fp16");
  json.Field("level", e.report.level).Field("mode", e.report.mode).Field("target", result.options.target);
  json.Field("low_ops", e.report.low_ops).Field("fp32_ops", e.report.fp32_ops).Field("untouched_ops", e.report.untouched_ops);
  json.Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray().Key("ops").BeginArray();
  for (const int op : shown.ops) WriteExplainedOp(e, op, json);
  json.EndArray().Key("casts").BeginArray();
  for (const int cast : shown.casts) WriteExplainedCast(e, cast, json);
  json.EndArray().EndObject();
  console.Out(json.Take() + "\n");
}

absl::Status Run(ExplainFlags flags, Console& console) {
  PrepareHeapForLargeProgram();
  Progress progress(console, "loading");
  ConvertOptions& options = flags.convert.options;
  options.decide_only = true;
  options.progress = [&progress](const ConvertProgress& now) {
    progress.Stage(now.stage);
    return true;
  };
  const OnTiny on_tiny = options.on_tiny == "flush" ? OnTiny::kFlush : options.on_tiny == "keep" ? OnTiny::kKeep : OnTiny::kSubnormal;
  std::optional<Causes> causes;
  options.decided = [&](const Program& program, const AmpDecision& decision) { causes.emplace(program, decision, on_tiny); };
  AMPC_ASSIGN_OR_RETURN(const ConvertResult result, Convert(options));
  if (!causes.has_value()) return UsageError("--level O0 decides nothing: --level O1 or O2 is needed");
  const Explanation explanation = Explain(*result.program, *result.decision, *causes);
  Shown shown;
  if (!flags.ops.empty()) {
    AMPC_ASSIGN_OR_RETURN(shown.ops, OpsOf(flags.ops, *result.program, explanation));
  }
  if (!flags.cast.empty()) {
    AMPC_ASSIGN_OR_RETURN(shown.casts, CastsOf(flags.cast, *result.program));
  }
  if (flags.convert.json) {
    PrintJson(console, flags, result, explanation, std::move(shown));
    return absl::OkStatus();
  }
  for (const std::string& note : result.notes) console.Note(note);
  PrintText(console, flags, explanation, shown);
  return absl::OkStatus();
}

}  // namespace

Command ExplainCommand() {
  return {"explain", "says why each op of a conversion computes in its type",
          "  ampc explain model.onnx                          every op: its type, the rule, and what led to it\n"
          "  ampc explain model_fp16.pdmodel                  of a model that was converted before\n"
          "  ampc explain model.onnx --dtype bf16 --op logits the ops that a selector of convert means, with all that led to them\n"
          "  ampc explain model.onnx --why-cast x             the casts of a value, who needs them and why\n"
          "Options are those of convert that decide. Nothing is written.",
          [](Options options) -> Action {
            auto flags = std::make_shared<ExplainFlags>();
            AddDecisionOptions(options, flags->convert);
            options.Add("--op", flags->ops, "only these ops, in full: a selector, several times or with commas").OneValueEach();
            options.Add("--why-cast", flags->cast, "only the casts of this value");
            AddJsonFlag(options, &flags->convert.json);
            return [flags, options](Console& console) {
              AMPC_RETURN_IF_ERROR(ResolveConvertFlags(options, flags->convert));
              return Run(*flags, console);
            };
          }};
}

}  // namespace ampc
