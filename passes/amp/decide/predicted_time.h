// PredictedTime: what a decision makes of the time of a run.
#pragma once

#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/time_model.h"

namespace ampc {

// Of one run, in seconds.
struct PredictedTime {
  double fp32 = 0;   // with nothing low
  double mixed = 0;  // as decided, with the casts
  int casts = 0;     // of values that a run computes
};
// Of a whole decision, not yet carried out.
PredictedTime Predict(const Program& program, const AmpDecision& decision, const TimeModel& model);

}  // namespace ampc
