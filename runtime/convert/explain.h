// ExplainConversion: why each op of a conversion would compute in its type, and why each cast would be there. Nothing is written.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/amp/report/explain.h"
#include "runtime/convert/convert.h"

namespace ampc {

struct ExplainOptions {
  ConvertOptions convert = {};        // those that decide
  std::vector<std::string> ops = {};  // selectors: only these ops
  std::string cast = {};              // only the casts of this value
  bool all() const { return ops.empty() && cast.empty(); }
};

struct ExplainedConversion {
  ConvertResult result;
  Explanation explanation;
  std::vector<int> ops, casts;  // that the options ask for, ascending
};

// A usage error for level O0, which decides nothing, and for what `ops` or `cast` names and the model has not; else as Convert's.
absl::StatusOr<ExplainedConversion> ExplainConversion(const ExplainOptions& options);

// `ampc explain --json`.
std::string ExplainJson(const ExplainedConversion& explained);

}  // namespace ampc
