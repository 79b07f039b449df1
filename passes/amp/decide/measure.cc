#include "passes/amp/decide/measure.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/mapped_file.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/ranges.h"
#include "passes/amp/protect/masks.h"
#include "passes/make_pass.h"
#include "passes/option_text.h"

namespace ampc {
namespace {

struct MeasureOptions {
  std::vector<std::string> inputs;
  std::string ranges;
  DType low = DType::kF16;
  InputRanges declared;
  bool mark = true;
  int probe = 0;
};

absl::StatusOr<Ranges> ReadRanges(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  absl::StatusOr<Ranges> ranges = ParseRanges(file.text());
  return ranges.ok() ? std::move(ranges) : Annotate(ranges.status(), path);
}

// The ranges of the program's values on made inputs, with the first choice of dims that it takes.
Ranges Probe(int runs, PassContext& ctx, const Program& program) {
  auto report = std::make_unique<ProbeReport>();
  Ranges ranges;
  for (int choice = 0; report->text.empty(); ++choice) {
    ranges.clear();
    ProgramExecutor::Made made;
    const absl::Status status = ctx.executor->RunOnMade(
        program, runs, choice, [&ranges](absl::string_view name, absl::Span<const float> values) { ranges[std::string(name)].Add(values); },
        &made);
    if (status.ok() && made.left_out.empty()) {
      report->text = absl::StrCat(runs, runs == 1 ? " run" : " runs", " on made inputs (", absl::StrJoin(made.kinds, "; "), ")");
    } else if (!made.left_out.empty()) {
      report->text = absl::StrCat("left out: ", made.left_out);
      ctx.notes.push_back(absl::StrCat("no probe: ", made.left_out, "; --calibrate measures on your inputs"));
    } else if (made.last) {
      ranges.clear();
      report->text = absl::StrCat("left out: ", status.message());
    }
  }
  ctx.Put(std::move(report));
  return ranges;
}

absl::StatusOr<bool> Measure(const MeasureOptions& options, PassContext& ctx, Program& program) {
  auto ranges = std::make_unique<Ranges>();
  if (!options.ranges.empty()) {
    AMPC_ASSIGN_OR_RETURN(*ranges, ReadRanges(options.ranges));
  }
  if (!options.inputs.empty()) {
    if (ctx.executor == nullptr) return UnsupportedError("inputs need an executor, and there is none here");
    Ranges measured;
    AMPC_RETURN_IF_ERROR(ctx.executor->Run(program, options.inputs, [&measured](absl::string_view name, absl::Span<const float> values) {
      measured[std::string(name)].Add(values);
    }));
    for (const auto& [name, range] : measured) (*ranges)[name].Add(range);
  }
  const bool probe = options.probe > 0 && options.inputs.empty() && options.ranges.empty() && ctx.executor != nullptr;
  if (probe) *ranges = Probe(options.probe, ctx, program);
  const char* where = probe ? " on made inputs" : "";
  int marks = 0;
  if (options.mark) {
    Facts facts(program, options.low, OnTiny::kSubnormal, options.declared, BoundsOfRanges(*ranges));
    auto masks = std::make_unique<MaskConstants>(FindMasks(facts));
    marks = MarkByRanges(*ranges, options.low, where, *masks, program);
    ctx.Put(std::move(masks));
  }
  if (marks > 0) ctx.notes.push_back(absl::StrCat("the ranges of values", where, " keep ", marks, marks == 1 ? " op" : " ops", " in fp32"));
  ctx.Put(std::move(ranges));
  return marks > 0;
}

}  // namespace

PassInfo MeasurePass() {
  PassInfo info;
  info.name = "measure";
  info.summary = "keeps in fp32 what measured values say would leave the low type's range or vanish";
  info.options = {{"inputs", "files with the feeds of one run each, on which the program is run"},
                  {"ranges", "a file with ranges that an earlier run measured"},
                  {"probe", "runs on made inputs where neither is given, 0 by default"},
                  {"dtype", "f16 (default) or bf16"},
                  {"input_ranges", "declared ranges of feeds, NAME=LOW:HIGH each"},
                  {"mark", "true (default), or false: only measure"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    MeasureOptions options;
    if (const auto it = text.find("inputs"); it != text.end()) options.inputs = SplitItems(it->second);
    if (const auto it = text.find("ranges"); it != text.end()) options.ranges = UnescapeItem(it->second);
    if (const auto it = text.find("probe"); it != text.end() && (!absl::SimpleAtoi(it->second, &options.probe) || options.probe < 0)) {
      return UsageError(absl::StrCat("option probe: found '", it->second, "', needed a number of runs"));
    }
    AMPC_ASSIGN_OR_RETURN(options.low, LowDTypeOption(text, "dtype", DType::kF16));
    if (const auto it = text.find("input_ranges"); it != text.end()) {
      AMPC_ASSIGN_OR_RETURN(options.declared, ParseInputRanges(SplitItems(it->second)));
    }
    AMPC_ASSIGN_OR_RETURN(options.mark, BoolOption(text, "mark", true));
    return MakePass([options](PassContext& ctx, Program& program) { return Measure(options, ctx, program); });
  };
  return info;
}

}  // namespace ampc
