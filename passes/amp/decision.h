// AmpDecision: which ops compute low, and why. Plain data: amp-decide writes it, cast-model-to-fp16 obeys it.
#pragma once

#include <string>
#include <vector>

#include "graph/program.h"

namespace ampc {

struct OpDecision {
  bool low = false;
  // Not decided: the op is left exactly as it is (Paddle's "in no set"); no casts are put around it.
  bool untouched = false;
  std::string rule;    // id, e.g. "allow", "deny", "protect.shape", "guard", "no-kernel"
  std::string reason;  // one sentence
};

struct AmpDecision {
  DType low = DType::kF16;
  std::string level;
  std::vector<OpDecision> ops;  // by Op::id
  // Vars (by id) that must keep their type whatever the ops around them do: fetched values, feeds, named exclusions.
  std::vector<bool> keep_var;
  // Params (by id) to store low offline; cast-parameters-to-fp16 does it.
  std::vector<bool> low_param;
};

// One line per op in program order: `value  op  low|fp32|-  rule: reason`, columns padded. What `table` cases compare.
std::string ToTable(const AmpDecision& decision, const Program& program);

}  // namespace ampc
