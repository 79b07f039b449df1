// A program that reads well but is no sensible one must not crash what comes after.
#include "graph/program.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "passes/analysis/target_support.h"
#include "passes/pass_context.h"
#include "passes/pipelines.h"
#include "runtime/convert/options.h"
#include "tests/fuzz/target.h"

namespace ampc::fuzz {
namespace {

// With the marks of an earlier conversion the text can say what no conversion makes; the command line says that it is the file's fault
// then.
bool HasMarks(const Program& program) {
  bool marks = false;
  ForEachVar(program, [&marks](const Var& var) { marks = marks || var.was != DType::kInvalid; });
  ForEachOp(program, [&marks](const Op& op) { marks = marks || op.marks.amp != AmpMark::kNone || !op.marks.was.empty(); });
  return marks;
}

}  // namespace

absl::Status Convert(absl::string_view bytes) {
  ParseOptions parse;
  parse.bare = true;
  parse.open_files = false;
  parse.max_fill_bytes = 1 << 16;
  absl::StatusOr<Program> program = ParseProgram(bytes, parse);
  if (!program.ok() || !Verify(*program).ok()) return absl::OkStatus();  // the target "prog"
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  const bool marked = HasMarks(*program);
  if (absl::Status status = RunPipeline(ConvertPipeline({}), {}, ctx, *program); !status.ok())
    return marked ? absl::OkStatus() : CheckPolite(status);
  PassContext strip;
  strip.support = ctx.support;
  const absl::Status status = RunPipeline(StripPipeline(), {}, strip, *program);
  return marked ? absl::OkStatus() : CheckPolite(status);
}

}  // namespace ampc::fuzz
