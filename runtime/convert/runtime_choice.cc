#include "runtime/convert/runtime_choice.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "passes/analysis/runtimes.h"

namespace ampc {

absl::Status CheckRuntime(absl::string_view name, absl::string_view model, const Program& program) {
  const Runtime& runtime = *FindRuntime(name);
  const absl::string_view format = program.origin == nullptr ? "" : program.origin->format();
  if (runtime.format.empty() || runtime.format == format || (runtime.format == "paddle" && format == "pir")) return absl::OkStatus();
  return UsageError(absl::StrCat("--runtime ", name, ": ", runtime.words, " reads models of ", runtime.format == "onnx" ? "ONNX" : "Paddle",
                                 ", ", model, " is none"));
}

void NoteRuntime(absl::string_view name, const Program& program, const AmpDecision& decision, std::vector<std::string>* notes) {
  const Runtime& runtime = *FindRuntime(name);
  if (!runtime.verified) notes->push_back(absl::StrCat("runtime ", name, ": by ", runtime.source));
  int low = 0, cast = 0;
  ForEachOp(program, [&](const Op& op) {
    if (!decision.For(op).low) return;
    ++low;
    cast += CastsItself(runtime, op.def(), decision.low) ? 1 : 0;
  });
  if (cast == 0) return;
  notes->push_back(absl::StrCat("runtime ", name, ": ", runtime.words, " has no ", Name(decision.low), " kernels for ", cast, " of ", low,
                                " low ops and computes these in fp32, with casts of its own"));
}

}  // namespace ampc
