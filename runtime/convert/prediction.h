// Prediction: whether a conversion pays, on the device that it is for.
#pragma once

#include <string>

#include "graph/base/json_writer.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/predicted_run.h"
#include "runtime/convert/options.h"

namespace ampc {

// A larger program is not predicted: it is to be converted quickly.
inline constexpr int kMostPredictedOps = 200000;

struct Prediction {
  std::string device;  // of graph/device_numbers.h; "" where nothing was predicted
  std::string feeds;   // dims that were chosen where the model leaves them open
  PredictedRun run;
  bool has_instructions = true;  // for the low type
  int measured = 0;              // ops whose time was measured, not worked out

  bool none() const { return device.empty(); }
  bool faster() const { return run.mixed < 0.98 * run.fp32; }
  // Why it is not faster, as a sentence.
  std::string Warning() const;
  void Write(JsonWriter& json) const;  // an object
};

// Of a decision that is not yet carried out, with options in effect.
Prediction PredictConversion(const Program& program, const AmpDecision& decision, const ConvertOptions& options);

}  // namespace ampc
