// The small Paddle models of tests/golden/models, their inputs, and what the real Paddle makes of these.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "runtime/session.h"

namespace ampc::testing {

// The program file; the parameters lie beside it.
std::string GoldenModel(const std::string& name);

struct GoldenRun {
  TensorMap in, out;
};
// The stored runs of a model, each with sizes of its own.
absl::StatusOr<std::vector<GoldenRun>> GoldenRuns(const std::string& name);

// "" or how `found` differs from `needed` by more than ModelToleranceFor(name, dtype). Integers are exact. Rows [class, score, box] of a
// detector are compared column by column; of a low model they may come in another order.
std::string DiffModelResult(const std::string& name, DType dtype, const HostTensor& found, const HostTensor& needed);

}  // namespace ampc::testing
