// The fastest of the decisions that a decision allows.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/io_choice.h"
#include "passes/amp/decide/low_penalty.h"
#include "passes/analysis/time_model.h"

namespace ampc {

inline constexpr absl::string_view kAutoRule = "auto";

// Of the low ops of `decision` those for which `may_be_fp32` stay fp32 where the program is faster so. Exact: no other choice of these ops
// has a smaller PredictedRun::mixed, a cast being paid once per value, direction and block; of equal choices the one with most low ops.
// With a `penalty`, which may be null: no other choice that respects its units has a smaller sum of that and the penalties of its low ops.
// Sets ops only: what becomes of values is decided afterwards. O(program) and a minimum cut.
void ChooseFastest(const Program& program, const TimeModel& model, const IoChoice& io, absl::FunctionRef<bool(const Op&)> may_be_fp32,
                   const LowPenalty* penalty, AmpDecision* decision);

}  // namespace ampc
