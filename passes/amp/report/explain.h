// Explanation: why each op of a conversion computes in its type, as far back as the cause, and why each cast is there.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/base/json_writer.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/report/causes.h"
#include "passes/amp/report/report.h"

namespace ampc {

struct ExplainedStep {
  int op = -1;          // index in AmpReport::ops
  std::string through;  // the value between it and the op before
  bool reads = false;   // it reads that value; else it makes it
  std::string starts;   // where a rule starts, and what is known there; else ""
};

struct ExplainedOp {
  std::string starts;                // its rule starts at it
  std::string proof;                 // that its result is in the range or beyond it, "" where neither is proven
  std::vector<ExplainedStep> chain;  // from its neighbour to the cause
  int left_out = 0;                  // steps of a long chain, before the last one
  std::vector<int> casts;            // that it reads: indexes in AmpReport::casts
  double flops = 0, bytes = 0;       // unknown dims count as 1; 0 where the record says nothing
  double seconds = 0, fp32 = 0;      // predicted: as decided, and in fp32
};

// Predicted times of a decision that is not yet carried out.
struct ExplainedTimes {
  std::string device = {};             // "": nothing is
  std::vector<double> ops, fp32 = {};  // seconds by Op::id: as decided, and in fp32
  std::vector<double> casts = {};      // by Var::id
};

struct Explanation {
  AmpReport report;
  std::vector<ExplainedOp> ops;  // one for each of the report's
  std::vector<double> casts;     // predicted seconds, one for each of the report's
  double flops = 0, bytes = 0;   // of all ops
  double seconds = 0;            // with the casts
  std::string device;            // for which times are predicted; "" where they are not

  std::vector<int> by_id;                          // by Op::id: index in AmpReport::ops, -1 for none
  absl::flat_hash_map<std::string, int> by_value;  // the op that makes it, by name in the converted program

  int IndexOf(int op_id) const { return op_id < static_cast<int>(by_id.size()) ? by_id[op_id] : -1; }
};

// Of a converted program and what its decision was made from.
Explanation Explain(const Program& program, const AmpDecision& decision, const Causes& causes, const ExplainedTimes& times = {});

// "op 4 (log) reads 't': the operand of ..."
std::string Sentence(const Explanation& explanation, const ExplainedStep& step);
// Several lines, indented but for the first.
std::string ExplainOpText(const Explanation& explanation, int op);
std::string ExplainCastText(const Explanation& explanation, int cast);
// As an object each.
void WriteExplainedOp(const Explanation& explanation, int op, JsonWriter& json);
void WriteExplainedCast(const Explanation& explanation, int cast, JsonWriter& json);

}  // namespace ampc
