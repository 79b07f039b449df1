// ampc strip: the fp32 program back from a converted one.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "runtime/convert/strip.h"
#include "tools/cli/command.h"

namespace ampc {
namespace {

struct StripFlags {
  StripOptions options;
  bool json = false;
};

absl::Status Run(StripFlags& flags, Console& console) {
  Progress progress(console, "loading");
  flags.options.progress = [&progress](const ConvertProgress& now) {
    now.total > 0 ? progress.Update(now.done, now.total) : progress.Stage(now.stage);
    return true;
  };
  AMPC_ASSIGN_OR_RETURN(const StripResult result, Strip(flags.options));
  const ModelFacts &before = result.before, &after = result.after;
  for (const std::string& note : result.notes) console.Note(note);
  if (flags.json) {
    console.Out(StripJson(flags.options.model, flags.options.output, result));
  } else {
    console.Out(absl::StrCat(flags.options.output, ": ", before.casts - after.casts, " casts removed, weights ",
                             HumanBytes(before.weight_bytes), " -> ", HumanBytes(after.weight_bytes), "\n"));
  }
  return absl::OkStatus();
}

}  // namespace

Command StripCommand() {
  return {"strip", "removes what convert put in and restores the fp32 program",
          "  ampc strip model_fp16.pdmodel -o model.pdmodel                              weights are widened from what is stored\n"
          "  ampc strip model_fp16.pdmodel -o model.pdmodel --weights original.pdmodel   weights are the original's\n"
          "  ampc strip model_fp16.onnx -o model.onnx --weights original.onnx",
          [](Options options) -> Action {
            auto flags = std::make_shared<StripFlags>();
            options.Add("model", flags->options.model, "a converted model").Required();
            options.Add("--output,-o", flags->options.output, "where to write the fp32 model").Required().Values("FILE");
            options.Add("--params", flags->options.params, "file with the weights").Values("FILE");
            options.Add("--weights", flags->options.weights, "model to take the exact weights from").Values("MODEL");
            options.Add("--weights-params", flags->options.weights_params, "file with that model's weights").Values("FILE");
            options.Flag("--program-only", flags->options.program_only, "a program without its weights").Excludes("--weights");
            options.Flag("--no-sync", flags->options.no_sync, "do not wait for the disk");
            AddJsonFlag(options, &flags->json);
            return [flags](Console& console) { return Run(*flags, console); };
          }};
}

}  // namespace ampc
