// ampc explain: why each op of a conversion computes in its type.
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/status_macros.h"
#include "passes/amp/report/explain.h"
#include "runtime/convert/explain.h"
#include "tools/cli/command.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/heap.h"

namespace ampc {
namespace {

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

// The end of a line.
std::string Times(const Explanation& e) {
  const double casts = std::accumulate(e.casts.begin(), e.casts.end(), 0.0);
  return absl::StrFormat("; predicted on %s: %.3g us, of which the casts take %.3g us\n", e.device, e.seconds * 1e6, casts * 1e6);
}

std::string Summary(const Explanation& e, const ConvertOptions& options) {
  return absl::StrCat(options.model, ": at level ", e.report.level, " ", e.report.low_ops, " ops ", DTypeWord(e.report.low), ", ",
                      e.report.fp32_ops, " fp32, ", e.report.untouched_ops, " taken as they are; ", e.report.casts.size(),
                      e.report.casts.size() == 1 ? " cast" : " casts", e.device.empty() ? "\n" : Times(e));
}

std::string Table(const Explanation& e) {
  std::vector<std::vector<std::string>> rows = {{"op", "type", "value", "computes", "casts", "us", "because of", "rule"}};
  for (size_t i = 0; i < e.ops.size(); ++i) {
    const AmpOpEntry& op = e.report.ops[i];
    const std::string computes = op.precision == "untouched" ? "-" : op.precision == "low" ? DTypeWord(e.report.low) : "fp32";
    rows.push_back({absl::StrCat(i), op.type, Short(op.value), computes, absl::StrCat(e.ops[i].casts.size()),
                    e.device.empty() ? "-" : absl::StrFormat("%.3g", e.ops[i].seconds * 1e6), Short(Cause(e, static_cast<int>(i))),
                    op.reason.empty() ? op.rule : absl::StrCat(op.rule, ": ", op.reason)});
  }
  return FormatTable(rows);
}

void PrintText(Console& console, const ExplainOptions& options, const ExplainedConversion& explained) {
  const Explanation& e = explained.explanation;
  if (options.all()) {
    console.Out(Summary(e, options.convert));
    console.Out(Table(e));
    return;
  }
  for (const int op : explained.ops) console.Out(ExplainOpText(e, op));
  for (const int cast : explained.casts) console.Out(ExplainCastText(e, cast));
  if (!options.cast.empty() && explained.casts.empty()) console.Out(absl::StrCat("nothing casts '", options.cast, "'\n"));
}

absl::Status Run(const ExplainFlags& flags, Console& console) {
  PrepareHeapForLargeProgram();
  Progress progress(console, "loading");
  ExplainOptions options{flags.convert.options, flags.ops, flags.cast};
  options.convert.progress = [&progress](const ConvertProgress& now) {
    progress.Stage(now.stage);
    return true;
  };
  AMPC_ASSIGN_OR_RETURN(const ExplainedConversion explained, ExplainConversion(options));
  if (flags.convert.json) {
    console.Out(ExplainJson(explained));
    return absl::OkStatus();
  }
  for (const std::string& note : explained.result.notes) console.Note(note);
  PrintText(console, options, explained);
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
            AddExplainOptions(options, *flags);
            AddJsonFlag(options, &flags->convert.json);
            return [flags, options](Console& console) {
              AMPC_RETURN_IF_ERROR(ResolveConvertFlags(options, flags->convert));
              return Run(*flags, console);
            };
          }};
}

}  // namespace ampc
