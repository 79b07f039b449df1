#include "tools/cli/tune_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/picture/tune_chart.h"

namespace ampc {

void AddTuneOptions(const Options& options, TuneFlags& flags) {
  TuneOptions& tune = flags.tune;
  AddDecidingOptions(options, flags.convert);
  const Options feeds = options.Under("Inputs"), search = options.Under("Search"), files = options.Under("Files");
  feeds
      .Add("inputs,--input,-i", tune.inputs,
           "feeds: .npz, .safetensors, NAME=file.npy, NAME=photo.jpg (.png, .bmp), without NAME for a model with one feed; a feed that is "
           "given again begins another run")
      .Values("FILE");
  feeds.Flag("--random", flags.random, "inputs that are made up, as those of run --random");
  feeds.Add("--runs", flags.runs, "how many of them").Positive().ShowDefault();
  feeds.Add("--seed", tune.seed, "other values of --random").ShowDefault();
  search.Add("--budget", tune.budget, "the largest error of an output, over its largest value; without it and --judge: compare's verdict")
      .Values("REL");
  search.Add("--judge", tune.judge, "a shell command that looks at the outputs: exit code 0 means good").Values("CMD");
  search.Add("--goal", tune.goal, "as fast as possible, or as much of the conv and matmul flops low")
      .OneOf({"time", "flops"})
      .ShowDefault();
  search.Add("--evaluations", tune.evaluations, "run the model, or a part of it, about so often on the inputs at most")
      .Positive()
      .ShowDefault();
  search.Add("--threads", tune.threads, "for one run; 0: all processors").NotNegative().ShowDefault();
  files.Add("--plan-out", tune.plan_out, "write what is chosen to this JSON file, for convert --plan").Values("FILE");
  files.Add("--plot", tune.plot, "draw error against predicted time into this .svg file").Values("FILE");
}

absl::Status ResolveTuneFlags(const Options& options, TuneFlags& flags) {
  AMPC_RETURN_IF_ERROR(ResolveConvertFlags(options, flags.convert, flags.tune.inputs));
  TuneOptions& tune = flags.tune;
  if (flags.random && !tune.inputs.empty())
    return UsageError(absl::StrCat("--random makes the inputs, and '", tune.inputs[0], "' has some; one of the two is needed"));
  if (!flags.random && tune.inputs.empty())
    return UsageError("no inputs: give files (--input in.npz), or --random for some that are made up");
  for (const char* option : {"--runs", "--seed"}) {
    if (!flags.random && options.Given(option)) return UsageError(absl::StrCat(option, " is for --random"));
  }
  tune.made = flags.random ? flags.runs : 0;
  tune.convert = flags.convert.options;
  tune.picture = TuneChart;
  return absl::OkStatus();
}

}  // namespace ampc
