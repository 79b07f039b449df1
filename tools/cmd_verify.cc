// ampc verify: is the model well formed?
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "passes/amp/training/verify_training.h"
#include "runtime/convert/model_facts.h"
#include "tools/cli/command.h"

namespace ampc {
namespace {

struct VerifyFlags {
  std::string model;
  std::string params;
  bool program_only = false;
  bool json = false;
};

absl::Status Run(const VerifyFlags& flags, Console& console) {
  Progress progress(console, "loading");
  AMPC_ASSIGN_OR_RETURN(const Program program, LoadModel(flags.model, {.params = flags.params, .program_only = flags.program_only}));
  progress.Stage("verifying");
  absl::Status verdict = Verify(program);
  if (verdict.ok()) verdict = VerifyTraining(program);
  if (flags.json) {
    console.Out(VerdictJson(flags.model, verdict));
  } else if (verdict.ok()) {
    int ops = 0;
    ForEachOp(program, [&ops](const Op&) { ++ops; });
    console.Out(absl::StrCat(flags.model, ": ok, ", ops, " ops\n"));
  }
  return verdict.ok() ? absl::OkStatus() : NoError(absl::StrCat(flags.model, ": ", verdict.message()));
}

}  // namespace

Command VerifyCommand() {
  return {"verify", "checks that a model is well formed: types, order, names, signature, weights",
          "  ampc verify model.pdmodel        exit 0: well formed; 1: not, with the first problem\n"
          "  ampc verify program.prog --program-only",
          [](Options options) -> Action {
            auto flags = std::make_shared<VerifyFlags>();
            options.Add("model", flags->model, kModelHelp).Required();
            options.Add("--params", flags->params, "file with the weights").Values("FILE");
            options.Flag("--program-only", flags->program_only, "do not look for weights");
            AddJsonFlag(options, &flags->json);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
