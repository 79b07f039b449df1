// ampc tune: which ops may be low, by running the model.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "runtime/tune/tune.h"
#include "tools/cli/command.h"
#include "tools/cli/heap.h"
#include "tools/cli/tune_flags.h"

namespace ampc {
namespace {

std::string Error(double error) { return std::isfinite(error) ? absl::StrFormat("%.3g", error) : "not finite"; }

std::string Table(const TuneResult& result) {
  std::vector<std::vector<std::string>> rows = {{"", "predicted", "bytes", "casts", "low ops", "low flops", "error", "held back", "good"}};
  for (size_t i = 0; i < result.points.size(); ++i) {
    const TunePoint& p = result.points[i];
    const bool shown = result.OnFront(i) || result.chosen == i || result.best == i || i + 1 == result.points.size();
    if (!shown) continue;
    rows.push_back({result.chosen == i ? "*" : "", absl::StrFormat("%.4g ms", p.predicted.mixed * 1e3),
                    HumanBytes(static_cast<int64_t>(p.bytes)), absl::StrCat(p.predicted.casts), absl::StrCat(p.low_ops),
                    absl::StrFormat("%.1f %%", 100 * p.low_flops), Error(p.error),
                    p.held_back_error.has_value() ? Error(*p.held_back_error) : "-",
                    !p.good                           ? "no"
                    : p.held_back_good.value_or(true) ? "yes"
                                                      : "not on those held back"});
  }
  return FormatTable(rows);
}

std::string Found(const TuneResult& result, const TuneOptions& options) {
  const std::string what =
      options.judge.empty() ? options.budget.has_value() ? absl::StrFormat("within %g", *options.budget) : "within what the type may change"
                            : "good by the judge";
  if (result.chosen.has_value()) {
    std::string out = absl::StrCat("chosen: ", result.candidates - static_cast<int>(result.kept.size()), " of ", result.candidates,
                                   " ops that may be low are, ", result.kept.size(), " stay fp32\n");
    if (!options.plan_out.empty()) absl::StrAppend(&out, "plan: ", options.plan_out, "\n");
    return out;
  }
  const TunePoint& best = result.points[result.best];
  return absl::StrCat("nothing found: no assignment with low ops is ", what, "; the best has ", best.low_ops, " of them and an error of ",
                      Error(best.error), best.why.empty() ? "" : absl::StrCat(" (", best.why, ")"), "\n");
}

std::string Summary(const TuneResult& r, const TuneOptions& options) {
  const char* dtype = DTypeWord(r.options.dtype);
  return absl::StrCat(r.options.model, ": ", dtype, " on ", r.device, ", ", r.inputs,
                      r.inputs == 1 ? " input decides, " : " inputs decide, ", r.held_back, " held back\n", Table(r), Found(r, options),
                      r.evaluations, r.evaluations == 1 ? " evaluation, " : " evaluations, ", r.partial,
                      " of a part of the model: ", absl::StrFormat("%.1f", r.whole_runs), " whole ones; ", HumanSeconds(r.seconds), "\n");
}

absl::Status Run(const TuneFlags& flags, Console& console) {
  PrepareHeapForLargeProgram();
  Progress progress(console, "loading");
  TuneOptions options = flags.tune;
  options.progress = [&](const std::string& stage, int evaluations) {
    progress.Stage(evaluations > 0 ? absl::StrCat(stage, ", evaluation ", evaluations + 1) : stage);
    return true;
  };
  AMPC_ASSIGN_OR_RETURN(const TuneResult result, Tune(options));
  for (const std::string& note : result.notes) console.Note(note);
  console.Out(flags.convert.json ? TuneJson(result) : Summary(result, options));
  return result.chosen.has_value() ? absl::OkStatus() : NoError("");  // the reason is printed
}

}  // namespace

Command TuneCommand() {
  return {"tune", "finds the fastest mixed precision whose outputs are good enough, by running the model",
          "  ampc tune model.onnx --input a.npz b.npz c.npz --budget 0.01 --plan-out p.json   outputs within 1 % of their largest value\n"
          "  ampc convert model.onnx -o model_fp16.onnx --plan p.json                        the model as it was chosen\n"
          "  ampc tune model.onnx --input a.npz --dtype bf16 --plot curve.svg                outputs as compare lets them pass\n"
          "  ampc tune model.onnx --input a.npz b.npz --judge 'python3 judge.py'             good is what this command says\n"
          "  ampc tune model.pdmodel --random --target cpu\n"
          "The judge finds the outputs in $AMPC_OUTPUTS/0.npz, 1.npz, ..., numbered as the inputs, those of the fp32 model in\n"
          "$AMPC_REFERENCE. The last fifth of the inputs is held back and verifies what the others chose. Exit code 1: nothing found.",
          [](Options options) -> Action {
            auto flags = std::make_shared<TuneFlags>();
            AddTuneOptions(options, *flags);
            AddJsonFlag(options, &flags->convert.json);
            return [flags, options](Console& console) {
              AMPC_RETURN_IF_ERROR(ResolveTuneFlags(options, *flags));
              return Run(*flags, console);
            };
          }};
}

}  // namespace ampc
