// Convert: a trained model in mixed precision: read, decide, rewrite, write, and what can be said about it. The command line, the C
// interface and the Python package call it.
//
//   absl::StatusOr<ampc::ConvertResult> r = ampc::Convert({.model = "model.onnx", .output = "model_fp16.onnx", .dtype =
//   ampc::DType::kF16});
//
// tools/docs/flow.md goes through it file by file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/amp/decide/decision.h"
#include "runtime/convert/model_facts.h"
#include "runtime/convert/options.h"
#include "runtime/convert/prediction.h"

namespace ampc {

struct ConvertResult {
  ModelFacts before, after;
  ConvertOptions options;                     // in effect: those that were given, or what the model was made with before; without functions
  int64_t bytes_before = 0, bytes_after = 0;  // of the model's files
  double load_seconds = 0, pass_seconds = 0, save_seconds = 0;
  double sync_seconds = 0;  // of save_seconds: until the disk had it
  std::vector<std::string> notes;
  std::string probe;                            // what was run on made inputs, or why nothing; "" where no probe was asked for
  std::shared_ptr<const AmpDecision> decision;  // null at level O0
  Prediction predicted;                         // none at level O0, and of a model that was converted before
  std::map<std::string, WeightDamage> damages;  // of the weights and literals that are stored low, by name
  std::shared_ptr<const Program> program;       // the converted one
  double seconds() const { return load_seconds + pass_seconds + save_seconds; }
};

// The files of one conversion appear together (none with `decide_only`). Errors leave no output behind. Exit codes as everywhere: 2
// options, 3 input, 4 not supported, 5 writing.
absl::StatusOr<ConvertResult> Convert(const ConvertOptions& options);

}  // namespace ampc
