// Bounds of results: whatever is computed from operands within their bounds lies within the bounds that the record gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_registry.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr Bounds kIntervals[] = {{1, 2}, {0.25, 4}, {-3, -0.5}, {-1, 2}, {0, 0.5}, {-2, 0}};
constexpr int kSteps = 8;

// Every pair of elements of two intervals, their ends among them.
std::vector<float> Values(const Bounds& b, bool second) {
  std::vector<float> values;
  for (int i = 0; i <= kSteps; ++i) {
    for (int j = 0; j <= kSteps; ++j) values.push_back(static_cast<float>(b.low + (b.high - b.low) * (second ? j : i) / kSteps));
  }
  return values;
}

// Ops whose bounds say less than where these operands bring them.
const std::set<std::string>& Loose() {
  static const auto* const kLoose =
      new std::set<std::string>{"abs",        "cos",          "elementwise_div", "erf",         "expand_as_v2",
                                "gelu",       "hard_sigmoid", "hard_swish",      "log_softmax", "mean",
                                "mish",       "reciprocal",   "reduce_max",      "reduce_mean", "reduce_min",
                                "reduce_sum", "relu6",        "sigmoid",         "sign",        "silu",
                                "sin",        "softmax",      "softplus",        "softsign",    "square",
                                "swish",      "tanh"};
  return *kLoose;
}

TEST(Bounds, HoldWhatIsComputed) {
  constexpr int64_t kCount = (kSteps + 1) * (kSteps + 1);
  int checked = 0;
  std::set<std::string> loose;
  for (const OpDef* def : Ops().All()) {
    if (def->bounds == nullptr || def->outputs.size() != 1 || def->name == "cast") continue;  // a cast's depend on the type of its result
    for (const int operands : {1, 2}) {
      const std::string text = absl::StrCat("feed x : f32 [", kCount, "]\nfeed y : f32 [", kCount, "]\nr = ", def->name, "(x",
                                            operands == 2 ? ", y" : "", ")\nz = elementwise_add(x, y)\nfetch r, z\n");
      ParseOptions parse;
      parse.bare = true;
      const absl::StatusOr<Program> program = ParseProgram(text, parse);
      absl::StatusOr<Session> session = FromText(text);
      if (!program.ok() || !session.ok()) continue;
      const Op& op = *program->main().ops()[0];
      for (const Bounds& a : kIntervals) {
        for (const Bounds& b : kIntervals) {
          const absl::StatusOr<TensorMap> out = session->Run({{"x", F({kCount}, Values(a, false))}, {"y", F({kCount}, Values(b, true))}});
          if (!out.ok() || out->at("r").dtype() != DType::kF32) break;
          const Bounds in[] = {a, b};
          const Bounds claimed = def->bounds(op, absl::MakeConstSpan(in, operands));
          const std::vector<float> found = Floats(out->at("r"));
          if (std::any_of(found.begin(), found.end(), [](float v) { return !std::isfinite(v); })) continue;
          const auto [low, high] = std::minmax_element(found.begin(), found.end());
          const double room = 1e-5 * std::max(1.0, std::max(std::fabs(static_cast<double>(*low)), std::fabs(static_cast<double>(*high))));
          const std::string what = absl::StrCat(def->name, " of [", a.low, ", ", a.high, "] and [", b.low, ", ", b.high, "] gives ", *low,
                                                " to ", *high, ", not within [", claimed.low, ", ", claimed.high, "]");
          EXPECT_TRUE(*low >= claimed.low - room && *high <= claimed.high + room) << what;
          if (*low > claimed.low + room || *high < claimed.high - room) loose.insert(def->name);
          ++checked;
        }
      }
    }
  }
  EXPECT_EQ(loose, Loose());
  EXPECT_GT(checked, 1000);
}

}  // namespace
}  // namespace ampc
