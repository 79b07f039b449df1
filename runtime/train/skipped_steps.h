// The states that a skipped training step leaves as they were: all but scales and their counters.
//
//   mean <- batch_norm(x, ..)                     mean.kept = assign(mean)
//   w <- sgd(w, .., SkipUpdate=found)             mean <- batch_norm(x, ..)
//                                          ->     loss.zero = scale(loss) scale=0         (0, or NaN)
//                                                 bad = not isfinite(loss.zero)
//                                                 w <- sgd(w, .., SkipUpdate=found or bad)
//                                                 mean <- where(found or bad, mean.kept, mean)
//
// An update op has a SkipUpdate; what the forward and backward parts write, statistics above all, is put back.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc {

// Makes every op with a SkipUpdate skip a step whose `loss` is not finite, too.
struct LossCheck {
  std::string zero;  // [1] f32, of the forward and backward part: 0, or NaN in a call whose loss is not finite
  std::string bad;   // bool [1], of the update part: whether one of its calls was such a one
};
// Processes that exchange gradients agree. UsageError where no float value of the main block with one element has that name.
absl::StatusOr<LossCheck> SkipWithoutLoss(Program& main, const std::string& loss);

// A state that the forward or backward part writes, and the flags (bool [1]) with which it is put back: those of the checks that see
// something of what the op that writes it computes, all of them where none does; and `bad`.
struct PutBackState {
  std::string state;
  std::vector<std::string> flags;
};
std::vector<PutBackState> StatesToPutBack(const Program& main, const std::string& bad);

// Keeps the values at the start of `program` and puts them back at its end.
absl::Status PutBackSkipped(const std::vector<PutBackState>& states, Program& program);

// Such a state's name is that of the state that it keeps, with this behind it.
inline constexpr char kKeptSuffix[] = "@KEPT";

// The same where a step takes several calls: `keep`, to run before the first of them, stores the values in states of `program`, which are
// `kept`; they are zero after the last.
struct KeptStates {
  Program keep;
  std::vector<std::string> kept;
};
absl::StatusOr<KeptStates> PutBackSkippedWindow(const std::vector<PutBackState>& states, Program& program);

}  // namespace ampc
