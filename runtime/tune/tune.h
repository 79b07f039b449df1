// Tune: which ops of a model may be low, by running it: the fastest assignment of types whose outputs stay within an error budget, or that
// somebody else's judge accepts.
//
//   absl::StatusOr<ampc::TuneResult> r = ampc::Tune({.convert = {.model = "model.onnx"}, .inputs = {"a.npz", "b.npz"}, .budget = 0.01});
//
// The error that each unit of ops brings when it alone is low is measured; the cut of --level auto, which then pays for time and for
// error, gives assignments between the fastest and float32; those that the search asks for are run whole.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/amp/decide/predicted_run.h"
#include "runtime/convert/options.h"

namespace ampc {

struct TuneResult;

struct TuneOptions {
  ConvertOptions convert = {};  // the model, and what decides; the level is O2
  // Sources of runtime/feeds.h; what the conversion says about feeds holds for them, too. The last fifth of the runs is held back.
  std::vector<std::string> inputs = {};
  // Without inputs: so many runs on made inputs (runtime/made_feeds.h), with that seed and the conversion's dims.
  int made = 0;
  uint64_t seed = 0;

  std::optional<double> budget = {};  // the largest difference of an output, over its largest value
  std::string judge = {};             // a command, judge.h; without it and a budget: the verdict of `ampc compare`
  // "time": as fast as possible, where 3 % of the time are worth as much as all convolutions and matrix products low; "flops": as much of
  // these low as possible, and that fast. If nothing is predicted to be faster low, time means flops.
  std::string goal = "time";
  int evaluations = 240;  // runs of the model, or of a part of it, on all inputs: about as many at most
  int threads = 1;        // for one run; 0: all processors

  std::string plan_out = {}, plot = {};                                          // files
  std::function<std::string(const TuneResult&)> picture = {};                    // of `plot`; null: there can be none
  std::function<bool(const std::string& stage, int evaluations)> progress = {};  // false: absl::StatusCode::kCancelled
};

// An assignment that was run as a whole.
struct TunePoint {
  PredictedRun predicted;  // on the target
  double bytes = 0;        // of weights and of the values that live at once
  int low_ops = 0;
  double cost = 0;       // what the goal makes least: the predicted seconds, less what low flops are worth
  double low_flops = 0;  // share of convolutions and matrix products
  double error = 0;      // on the inputs that decide, as TuneOptions::budget counts it; infinity where dims or finite values differ
  bool good = false;     // there
  std::optional<double> held_back_error = {};  // on those held back, where it was run on them
  std::optional<bool> held_back_good = {};
  std::string why = {};  // the verdict of the first output that fails, where it is not good
};

struct TuneResult {
  ConvertOptions options;         // in effect
  std::string device;             // whose time is predicted
  std::string goal;               // in effect
  int inputs = 0, held_back = 0;  // runs that decide, and that only verify; none held back: the only one does both
  int candidates = 0;             // ops that may be low or fp32
  // By the goal; the last one is all fp32, as far as the options let it.
  std::vector<TunePoint> points;
  std::optional<size_t> chosen;      // in `points`: good on all inputs, with low ops where any may be; none: no such was found
  size_t best = 0;                   // of those with low ops, the one with the least error; the last point where none has any
  std::vector<std::string> kept;     // results of the candidates that are fp32 as chosen, in program order
  int evaluations = 0, partial = 0;  // runs on all inputs; how many of them ran a part of the model
  double whole_runs = 0;             // the same as runs of the whole model, by predicted time
  double seconds = 0;
  std::vector<std::string> notes;

  // No point has less cost and as little error, or as little cost and less error.
  bool OnFront(size_t point) const;
};

// Writes the plan where one is chosen, and the picture. Errors leave neither. Exit codes as Convert's; a judge that cannot be run is a
// usage error. That nothing was found is no error.
absl::StatusOr<TuneResult> Tune(const TuneOptions& options);

// `ampc tune --json`.
std::string TuneJson(const TuneResult& result);

}  // namespace ampc
