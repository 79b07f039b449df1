#include "runtime/convert/explain.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "passes/amp/cast/cast_parameters.h"
#include "passes/amp/protect/bounds.h"
#include "passes/amp/select/original_names.h"
#include "passes/amp/select/select_ops.h"
#include "passes/analysis/time_model.h"
#include "runtime/convert/prediction.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/target_numbers.h"

namespace ampc {
namespace {

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

// With options in effect.
ExplainedTimes TimesOf(const Program& program, const AmpDecision& decision, const ConvertOptions& options) {
  if (program.num_op_ids() > kMostPredictedOps) return {};
  const DeviceNumbers& device = NumbersOfTarget(options.target);
  const ProgramSizes sizes = SizesFor(options, program);
  const TimeModel model(program, &sizes, device, decision.low);
  ExplainedTimes times{.device = std::string(device.name), .ops = std::vector<double>(program.num_op_ids(), 0)};
  times.fp32 = times.ops;
  times.casts.resize(program.num_var_ids(), 0);
  ForEachOp(program, [&](const Op& op) {
    times.ops[op.id()] = model.OpSeconds(op, decision.For(op).low);
    times.fp32[op.id()] = model.OpSeconds(op, false);
  });
  ForEachVar(program, [&](const Var& var) { times.casts[var.id()] = model.CastSeconds(var, var.block().index()); });
  return times;
}

// Of all `count` things.
std::vector<int> All(size_t count) {
  std::vector<int> indexes(count);
  std::iota(indexes.begin(), indexes.end(), 0);
  return indexes;
}

}  // namespace

absl::StatusOr<ExplainedConversion> ExplainConversion(const ExplainOptions& options) {
  ConvertOptions convert = options.convert;
  convert.decide_only = true;
  const OnTiny on_tiny = OnTinyOption({{"on_tiny", convert.on_tiny}}).value_or(OnTiny::kSubnormal);  // Convert refuses other words
  AMPC_ASSIGN_OR_RETURN(const InputRanges ranges, ParseInputRanges(convert.input_ranges));
  std::optional<Causes> causes;
  ConvertOptions in_effect = convert;
  AMPC_RETURN_IF_ERROR(ResolveConvertOptions(&in_effect));
  ExplainedTimes times;
  convert.decided = [&](const Program& program, const AmpDecision& decision) {
    causes.emplace(program, decision, on_tiny, ranges);
    times = TimesOf(program, decision, in_effect);
  };
  ExplainedConversion explained;
  AMPC_ASSIGN_OR_RETURN(explained.result, Convert(convert));
  if (!causes.has_value()) return UsageError("--level O0 decides nothing: --level O1 or O2 is needed");
  const Program& program = *explained.result.program;
  explained.explanation = Explain(program, *explained.result.decision, *causes, times);
  if (options.all()) {
    explained.ops = All(explained.explanation.ops.size());
    explained.casts = All(explained.explanation.report.casts.size());
  }
  if (!options.ops.empty()) {
    AMPC_ASSIGN_OR_RETURN(explained.ops, OpsOf(options.ops, program, explained.explanation));
  }
  if (!options.cast.empty()) {
    AMPC_ASSIGN_OR_RETURN(explained.casts, CastsOf(options.cast, program));
  }
  return explained;
}

std::string ExplainJson(const ExplainedConversion& explained) {
  const ConvertResult& result = explained.result;
  const Explanation& e = explained.explanation;
  JsonWriter json(JsonWriter::kIndented);
  json.BeginObject().Field("model", result.options.model).Field("dtype", DTypeWord(e.report.low));
  json.Field("level", e.report.level).Field("mode", e.report.mode).Field("target", result.options.target);
  json.Field("device", e.device).Field("seconds", e.seconds);
  json.Field("low_ops", e.report.low_ops).Field("fp32_ops", e.report.fp32_ops).Field("untouched_ops", e.report.untouched_ops);
  json.Key("notes").BeginArray();
  for (const std::string& note : result.notes) json.String(note);
  json.EndArray().Key("ops").BeginArray();
  for (const int op : explained.ops) WriteExplainedOp(e, op, json);
  json.EndArray().Key("casts").BeginArray();
  for (const int cast : explained.casts) WriteExplainedCast(e, cast, json);
  json.EndArray().EndObject();
  return json.Take() + "\n";
}

}  // namespace ampc
