#include "tests/testlib/random_weights.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "graph/text/parser.h"
#include "graph/weight.h"

namespace ampc::testing {

HostTensor RandomTensor(std::mt19937& random, const Dims& dims, float low, float high) {
  std::uniform_real_distribution<float> values(low, high);
  HostTensor t = *HostTensor::Create(DType::kF32, dims);
  for (float& v : t.mutable_values<float>()) v = values(random);
  return t;
}

Program WithRandomWeights(absl::string_view text, std::mt19937& random) {
  ParseOptions options;
  options.bare = true;
  absl::StatusOr<Program> program = ParseProgram(text, options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return Program("none");
  for (const std::unique_ptr<Var>& var : program->main().vars()) {
    if (var->kind != VarKind::kParam) continue;
    const bool positive = absl::StartsWith(var->name(), "v");
    const HostTensor value = RandomTensor(random, var->type.dims, positive ? 0.5f : -1.0f, 1.0f);
    auto ref = std::make_unique<WeightRef>();
    ref->source = WeightBuffer(std::string(static_cast<const char*>(value.data()), value.size_bytes()));
    ref->bytes = value.size_bytes();
    ref->dtype = DType::kF32;
    var->weight = std::move(ref);
  }
  return *std::move(program);
}

}  // namespace ampc::testing
