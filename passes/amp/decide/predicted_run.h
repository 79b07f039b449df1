// PredictedRun: what a decision makes of the time and the memory of a run.
#pragma once

#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/time_model.h"

namespace ampc {

struct PredictedRun {
  double fp32 = 0;   // seconds with nothing low
  double mixed = 0;  // as decided, with the casts
  int casts = 0;     // of values that a run computes
  // Bytes of what is computed and fed, at the op of the main block at which most of it lives.
  double fp32_bytes = 0, mixed_bytes = 0;
};
// Of a whole decision, not yet carried out.
PredictedRun Predict(const Program& program, const AmpDecision& decision, const TimeModel& model);

}  // namespace ampc
