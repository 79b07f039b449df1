// AmpReport: what a conversion did, as data: every decision with its reason, every cast, the share of the work that is low.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/json_writer.h"
#include "graph/weight.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

struct AmpOpEntry {
  std::string type;
  std::string value;              // its first result, "" for an op without
  std::string precision;          // "low", "fp32", "untouched"
  DType dtype = DType::kInvalid;  // of its first float result, else of its first float operand; kInvalid without floats
  std::string rule;
  std::string reason;
};

struct AmpCastEntry {
  std::string source;  // the value cast
  std::string result;
  DType from = DType::kInvalid;
  DType to = DType::kInvalid;
  std::vector<std::string> consumers;  // first results of the ops that read it; "fetch" for a fetched value
  std::string reason;                  // what the first of them wants
};

struct AmpWeightEntry {
  std::string name;
  DType from = DType::kInvalid;
  DType to = DType::kInvalid;
  bool copy = false;     // a low copy beside the fp32 weight
  WeightDamage damage;   // filled by MeasureWeights
  double norm_lost = 0;  // at most this part of the weight's norm was clamped or became zero
};

struct AmpReport {
  std::string mode, level;
  DType low = DType::kInvalid;  // kInvalid: nothing was decided
  int low_ops = 0;
  int fp32_ops = 0;             // decided, not low
  int untouched_ops = 0;        // taken as they are
  double low_flops = 0;         // of ops whose record makes them pay off in low precision: convolutions, products
  double all_flops = 0;         // of the same ops; unknown dims count as 1
  std::vector<AmpOpEntry> ops;  // without inserted casts, in program order
  std::vector<AmpCastEntry> casts;
  std::vector<AmpWeightEntry> weights;  // those stored low, literals as well
};

// A weight or literal that AMP stored low.
bool IsConverted(const Var& var);
// The effect of that on the values of a literal; none for a weight that is only transformed on its way out.
absl::StatusOr<WeightDamage> DamageOfLiteral(const Var& var);

// Of a converted program; `decision` may be null (level O0).
AmpReport MakeAmpReport(const Program& program, const AmpDecision* decision);

// Reads every weight that has a pending transform once, window by window, and fills in what the transform does to it.
absl::Status MeasureWeights(const Program& program, AmpReport* report);

// How many entries are written at most: the first ops, casts and consumers, the weights that lose most.
struct AmpReportLimits {
  size_t ops = SIZE_MAX;
  size_t casts = SIZE_MAX;
  size_t weights = SIZE_MAX;
  size_t consumers = SIZE_MAX;  // of a cast
};

// Writes the report as fields of the object that `json` is in; `omitted` counts what the limits left out.
void WriteAmpReport(const AmpReport& report, JsonWriter& json, const AmpReportLimits& limits = {});

}  // namespace ampc
