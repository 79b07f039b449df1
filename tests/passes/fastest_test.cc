// Level auto against every other decision of small random programs, each carried out.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/text/parser.h"
#include "gtest/gtest.h"
#include "passes/amp/decide/low_penalty.h"
#include "passes/amp/decide/predicted_run.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

Program Parsed(absl::string_view text) {
  ParseOptions options;
  options.bare = true;
  absl::StatusOr<Program> program = ParseProgram(text, options);
  EXPECT_TRUE(program.ok()) << program.status().message() << "\n" << text;
  return *std::move(program);
}

// `ops` ops, each of which reads values of those before it or feeds; some are read several times, some fetched.
std::string RandomProgram(std::mt19937& random, int ops) {
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int size = std::vector<int>{8, 64, 256, 1024}[below(4)];
  const std::string type = absl::StrCat(" : f32 [", size, ", ", size, "]\n");
  std::string text = absl::StrCat("feed x0", type, "feed x1", type, "param w", type);
  std::vector<std::string> values = {"x0", "x1"};
  const auto value = [&] {
    return values[values.size() < 4 || below(3) == 0 ? below(static_cast<int>(values.size()))
                                                     : static_cast<int>(values.size()) - 1 - below(3)];
  };
  for (int i = 0; i < ops; ++i) {
    const std::string result = absl::StrCat("v", i);
    switch (below(8)) {
      case 0:
      case 1: absl::StrAppend(&text, result, " = matmul_v2(", value(), ", w)", type); break;
      case 2: absl::StrAppend(&text, result, " = exp(", value(), ")", type); break;
      case 3: absl::StrAppend(&text, result, " = tanh(", value(), ")", type); break;
      case 4: absl::StrAppend(&text, result, " = relu(", value(), ")", type); break;
      case 5: absl::StrAppend(&text, result, " = softmax(", value(), ")", type); break;
      default: absl::StrAppend(&text, result, " = elementwise_add(", value(), ", ", value(), ")", type); break;
    }
    values.push_back(result);
    if (below(4) == 0 || i + 1 == ops) absl::StrAppend(&text, "fetch ", result, "\n");
  }
  // Fetches come last.
  std::string head, fetches;
  for (const auto& line : std::vector<std::string>(absl::StrSplit(text, '\n', absl::SkipEmpty())))
    absl::StrAppend(absl::StartsWith(line, "fetch") ? &fetches : &head, line, "\n");
  return head + fetches;
}

struct Outcome {
  PredictedRun time;
  std::vector<std::string> low;  // results of low ops, sorted
  int casts = 0;                 // in the rewritten program, of no stored value
};

Outcome Decide(const Program& original, const DeviceNumbers& device, const std::string& dtype, PassOptions options, bool rewrite,
               const LowPenalty* penalty = nullptr) {
  Program program = original.Clone();
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  if (penalty != nullptr) ctx.Put(std::make_unique<LowPenalty>(*penalty));
  options["dtype"] = dtype;
  EXPECT_OK(RunPipeline(Pipeline().Add("amp-decide", std::move(options)), {}, ctx, program));
  const AmpDecision& decision = *ctx.Find<AmpDecision>();
  Outcome out;
  out.time = Predict(program, decision, TimeModel(program, nullptr, device, decision.low));
  ForEachOp(program, [&](const Op& op) {
    if (decision.For(op).low) out.low.push_back(op.outputs()[0]->name());
  });
  std::sort(out.low.begin(), out.low.end());
  if (!rewrite) return out;
  EXPECT_OK(RunPipeline(*Pipeline::Parse("cast-model-to-fp16,cast-parameters-to-fp16"), {}, ctx, program));
  ForEachOp(program, [&](const Op& op) { out.casts += IsInserted(op) ? 1 : 0; });
  return out;
}

class FastestTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FastestTest, NoOtherDecisionIsFaster) {
  const DeviceNumbers& device = *FindDeviceNumbers(GetParam());
  std::mt19937 random(7);
  int kept = 0, fewer_casts = 0;
  for (int round = 0; round < 40; ++round) {
    const Program program = Parsed(RandomProgram(random, 4 + round % (round < 38 ? 6 : 13)));
    const Outcome o2 = Decide(program, device, "bf16", {}, true);
    const Outcome fastest = Decide(program, device, "bf16", {{"level", "auto"}, {"device", GetParam()}}, true);
    EXPECT_EQ(o2.time.casts, o2.casts) << "round " << round;
    EXPECT_EQ(fastest.time.casts, fastest.casts) << "round " << round;
    EXPECT_LE(fastest.time.mixed, o2.time.mixed);
    EXPECT_TRUE(std::includes(o2.low.begin(), o2.low.end(), fastest.low.begin(), fastest.low.end()));
    kept += fastest.low.size() < o2.low.size() ? 1 : 0;
    fewer_casts += fastest.casts < o2.casts ? 1 : 0;
    double best = o2.time.fp32;
    for (unsigned bits = 0; bits < 1u << o2.low.size(); ++bits) {
      std::vector<std::string> low, fp32;
      for (size_t i = 0; i < o2.low.size(); ++i) ((bits >> i & 1) != 0 ? low : fp32).push_back(absl::StrCat("name:", o2.low[i]));
      PassOptions options;
      if (!low.empty()) options["include"] = absl::StrJoin(low, ",");
      if (!fp32.empty()) options["exclude"] = absl::StrJoin(fp32, ",");
      best = std::min(best, Decide(program, device, "bf16", std::move(options), false).time.mixed);
    }
    EXPECT_NEAR(fastest.time.mixed, best, 1e-9 * best) << "round " << round;
  }
  EXPECT_GT(kept, 3) << "programs in which something is faster in fp32";
  EXPECT_GT(fewer_casts, 3);
}

// Some ops cost or are worth more than their time, and some are chosen together.
LowPenalty RandomPenalty(std::mt19937& random, const Program& program) {
  LowPenalty penalty;
  penalty.seconds.resize(program.num_op_ids());
  penalty.unit.resize(program.num_op_ids());
  for (int id = 0; id < program.num_op_ids(); ++id) {
    penalty.seconds[id] = (static_cast<double>(random() % 2000) - 500) * 1e-8;
    penalty.unit[id] = random() % 2 == 0 ? -1 : static_cast<int>(random() % 3);
  }
  return penalty;
}

TEST_P(FastestTest, NoOtherDecisionCostsLessWithItsPenalties) {
  const DeviceNumbers& device = *FindDeviceNumbers(GetParam());
  std::mt19937 random(11);
  int mixed = 0;
  for (int round = 0; round < 40; ++round) {
    const Program program = Parsed(RandomProgram(random, 4 + round % 6)).Clone();
    const LowPenalty penalty = RandomPenalty(random, program);
    const Outcome o2 = Decide(program, device, "bf16", {}, false);
    std::vector<const Op*> ops;  // as o2.low
    for (const std::string& name : o2.low) {
      ForEachOp(program, [&](const Op& op) {
        if (op.outputs()[0]->name() == name) ops.push_back(&op);
      });
    }
    const auto cost = [&](const Outcome& outcome) {
      double sum = outcome.time.mixed;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (std::binary_search(outcome.low.begin(), outcome.low.end(), o2.low[i])) sum += penalty.SecondsOf(*ops[i]);
      }
      return sum;
    };
    const auto respects_units = [&](const Outcome& outcome) {
      std::map<int, bool> low;
      for (size_t i = 0; i < ops.size(); ++i) {
        const bool is_low = std::binary_search(outcome.low.begin(), outcome.low.end(), o2.low[i]);
        if (penalty.UnitOf(*ops[i]) >= 0 && low.emplace(penalty.UnitOf(*ops[i]), is_low).first->second != is_low) return false;
      }
      return true;
    };
    const Outcome cheapest = Decide(program, device, "bf16", {{"level", "auto"}, {"device", GetParam()}}, false, &penalty);
    EXPECT_TRUE(respects_units(cheapest)) << "round " << round;
    mixed += !cheapest.low.empty() && cheapest.low.size() < o2.low.size() ? 1 : 0;
    for (unsigned bits = 0; bits < 1u << o2.low.size(); ++bits) {
      std::vector<std::string> low, fp32;
      for (size_t i = 0; i < o2.low.size(); ++i) ((bits >> i & 1) != 0 ? low : fp32).push_back(absl::StrCat("name:", o2.low[i]));
      PassOptions options;
      if (!low.empty()) options["include"] = absl::StrJoin(low, ",");
      if (!fp32.empty()) options["exclude"] = absl::StrJoin(fp32, ",");
      const Outcome other = Decide(program, device, "bf16", std::move(options), false);
      if (!respects_units(other)) continue;
      EXPECT_GE(cost(other), cost(cheapest) - 1e-11) << "round " << round;
    }
  }
  EXPECT_GT(mixed, 5);
}

INSTANTIATE_TEST_SUITE_P(Devices, FastestTest, ::testing::Values("cuda:8.0", "cuda:9.0", "avx512_bf16"));

}  // namespace
}  // namespace ampc
