// What a pass gets besides the program: injected knowledge of the target, and the products of earlier passes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/evaluator.h"
#include "graph/precision_support.h"
#include "passes/amp/decide/decision.h"

namespace ampc {

struct PassContext {
  const PrecisionSupport* support = nullptr;  // never null when a pipeline runs
  const Evaluator* evaluator = nullptr;       // null: passes that fold skip what needs it
  // Set by amp-decide, read by cast-model-to-fp16, cast-parameters-to-fp16, amp-verify and reports.
  std::unique_ptr<AmpDecision> decision;
  // What a pass wants to tell the user, one sentence each, in order.
  std::vector<std::string> notes;
};

}  // namespace ampc
