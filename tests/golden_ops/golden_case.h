// Golden cases of ops: a small Paddle program, its inputs, and what another implementation makes of them. tests/golden/ops/README.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "graph/base/host_tensor.h"
#include "graph/program.h"
#include "runtime/session.h"

namespace ampc::testing {

struct GoldenCase {
  std::string name;
  std::string program;  // a Paddle ProgramDesc
  TensorMap in;         // feeds
  TensorMap constants;  // operands whose values the program knows
  TensorMap out;        // what is needed
};

// The cases of one file, sorted by name.
absl::StatusOr<std::vector<GoldenCase>> ReadGoldenFile(const std::string& path);

// How a variant of a case differs from the program as it stands.
struct Variant {
  DType low = DType::kF32;    // f16, bf16: the operands that follow the op's type are declared so
  bool unknown_dims = false;  // the feeds' dims are known only when it runs
};

// The case's program with its constants in place and, where it is one op, its result types inferred again.
absl::StatusOr<Program> ImportCase(const GoldenCase& golden, const Variant& variant);
// The only op of the program, or null.
Op* SingleOp(Program& program);
// The op has an operand or an attribute that ImportCase can make low.
bool CanBeLow(const GoldenCase& golden);

// A case ready to run: operands that the op's type concerns are rounded to `rounded`, feeds are in the types that the program declares.
struct ReadyCase {
  Program program;
  TensorMap feeds;
};
absl::StatusOr<ReadyCase> MakeReady(const GoldenCase& golden, const Variant& variant, DType rounded);
// Runs it with strict rounding on one thread.
absl::StatusOr<TensorMap> RunCase(const GoldenCase& golden, const Variant& variant, DType rounded);

// "" or the first difference of one result. `op` chooses the tolerance of GoldenToleranceFor.
std::string DiffResult(const HostTensor& found, const HostTensor& needed, const std::string& op);
// The same for a result that was declared `low`, against the result of the fp32 run on the same operands.
std::string DiffLowResult(const HostTensor& found, const HostTensor& fp32, const std::string& op, DType low);

}  // namespace ampc::testing
