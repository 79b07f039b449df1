#include "tests/testlib/run_case.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/text/parser.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/match.h"
#include "tests/testlib/no_in_lines.h"
#include "tests/testlib/round_trip.h"

namespace ampc::testing {
namespace {

// The result of running a case.
struct Outcome {
  std::string before, text;  // the program before and after
  std::string table;         // of the decision, when a pass made one
  std::string notes;
  bool changed = false;
};

std::string ContextValue(const Case& c, const std::string& key, absl::string_view fallback) {
  auto it = c.context.find(key);
  return it == c.context.end() ? std::string(fallback) : it->second;
}

absl::Status CheckContext(const Case& c) {
  for (const auto& [key, value] : c.context) {
    if (key != "target" && key != "brief" && key != "loc")
      return UsageError(absl::StrCat("context: found '", key, "', needed target, brief or loc"));
  }
  return absl::OkStatus();
}

PrintOptions PrintAs(const Case& c) {
  PrintOptions options;
  options.bare = !absl::StartsWith(absl::StripLeadingAsciiWhitespace(c.in), "program");
  options.brief = ContextValue(c, "brief", "false") == "true";
  options.loc = ContextValue(c, "loc", "false") == "true";
  return options;
}

absl::Status RunPasses(const Case& c, Program& program, Outcome* outcome) {
  AMPC_ASSIGN_OR_RETURN(Pipeline pipeline, Pipeline::Parse(c.run));
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport(ContextValue(c, "target", "cuda")));
  PassContext ctx;
  ctx.support = support;
  PipelineOptions options;
  options.check_claims = true;
  options.after = [outcome](const PipelineStep&, int, const Program&, bool changed, double) { outcome->changed |= changed; };
  AMPC_RETURN_IF_ERROR(RunPipeline(pipeline, options, ctx, program));
  if (const AmpDecision* decision = ctx.Find<AmpDecision>()) outcome->table = ToTable(*decision, program);
  outcome->notes = absl::StrJoin(ctx.notes, "\n");
  return absl::OkStatus();
}

absl::Status Run(const Case& c, Outcome* outcome) {
  ParseOptions options;
  options.bare = true;
  AMPC_ASSIGN_OR_RETURN(Program program, ParseProgram(c.in, options));
  if (c.run != "parse") AMPC_RETURN_IF_ERROR(Verify(program));
  AMPC_RETURN_IF_ERROR(CheckRoundTrip(program));
  outcome->before = PrintProgram(program, PrintAs(c));
  if (c.run != "parse" && c.run != "verify" && c.run != "print") {
    AMPC_RETURN_IF_ERROR(RunPasses(c, program, outcome));
    AMPC_RETURN_IF_ERROR(Verify(program));
    AMPC_RETURN_IF_ERROR(CheckRoundTrip(program));
  }
  outcome->text = PrintProgram(program, PrintAs(c));
  return absl::OkStatus();
}

absl::Status Same(absl::string_view found, absl::string_view needed) {
  if (found == needed) return absl::OkStatus();
  return NoInLines(absl::StrCat("found\n", found, "\nneeded\n", needed));
}

std::string Stripped(absl::string_view text) { return std::string(absl::StripTrailingAsciiWhitespace(text)); }

absl::Status CompareError(const Case& c, const absl::Status& status) {
  if (status.ok()) return NoInLines(absl::StrCat("found no error, needed\n", c.expected));
  return Same(status.message(), c.expected);
}

}  // namespace

CaseResult RunCase(const Case& c) {
  if (absl::Status status = CheckContext(c); !status.ok()) return {status, ""};
  Outcome outcome;
  const absl::Status status = Run(c, &outcome);
  if (c.expect == Expect::kError) return {CompareError(c, status), ""};
  if (!status.ok()) return {status, ""};
  const std::string text = Stripped(outcome.text);
  const std::string table = Stripped(outcome.table);
  switch (c.expect) {
    case Expect::kOut: return {Same(text, c.expected), text};
    case Expect::kTable: return {Same(table, c.expected), table};
    case Expect::kNotes: return {Same(outcome.notes, c.expected), outcome.notes};
    case Expect::kCheck: return {MatchChecks(c.expected, text), ""};
    case Expect::kUnchanged:
      return {outcome.changed ? NoInLines(absl::StrCat("found a change, needed none:\n", text)) : Same(text, Stripped(outcome.before)), ""};
    case Expect::kError: break;
  }
  return {InternalError("an expectation without a comparison"), ""};
}

}  // namespace ampc::testing
