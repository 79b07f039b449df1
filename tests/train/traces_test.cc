// The optimizer kernels against 20 steps of PaddlePaddle 2.6.2's CPU kernels each. sgd and momentum agree bit for bit. Two of the
// framework's kernels leave an attribute out that ours respect: its CPU momentum ignores rescale_grad, its CPU adamw without decay
// ignores lr_ratio; those traces are repeated without the attribute.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <ostream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "graph/base/json_reader.h"
#include "graph/base/status_macros.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using State = std::map<std::string, std::vector<float>>;

std::vector<float> Floats(const JsonValue& base64) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(base64.text, &bytes));
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

AttrValue AttrOf(const JsonValue& v) {
  if (v.Is(JsonValue::Kind::kBool)) return v.boolean;
  if (v.Is(JsonValue::Kind::kString)) return v.text;
  return std::bit_cast<float>(static_cast<uint32_t>(std::stoul(v.Find("bits")->text, nullptr, 16)));
}

// Operands that the framework's kernel does not read.
bool IsIgnored(const std::string& trace, const std::string& attr) {
  return attr == "rescale_grad" || (attr == "lr_ratio" && trace == "adamw_no_decay_lr_ratio");
}

absl::StatusOr<State> Step(const JsonValue& trace, const JsonValue& step, const State& state) {
  OpRun op(trace.Find("op")->text);
  const auto vector = [](const std::vector<float>& v) { return F32({static_cast<int64_t>(v.size())}, v); };
  for (const auto& [slot, values] : state) op.In(slot, vector(values));
  op.In("Grad", vector(Floats(*step.Find("Grad")))).In("LearningRate", F32({1}, {std::get<float>(AttrOf(*trace.Find("learning_rate")))}));
  if (const JsonValue* skip = step.Find("SkipUpdate")) op.In("SkipUpdate", Of({1}, std::vector<bool>{skip->boolean}));
  for (const JsonValue::Member& attr : trace.Find("attrs")->members) {
    if (!IsIgnored(trace.Find("name")->text, attr.key)) op.Attr(attr.key, AttrOf(attr.value));
  }
  // Results come in the order of the record's slots.
  std::vector<std::string> slots;
  for (const SlotDef& slot : Ops().Find(trace.Find("op")->text)->outputs) {
    const std::string from = slot.name.substr(0, slot.name.size() - 3);  // without "Out"
    if (!state.contains(from)) continue;
    op.Out(slot.name);
    slots.push_back(from);
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> results, op.Run());
  State next;
  for (size_t i = 0; i < slots.size(); ++i) next[slots[i]] = results[i].floats();
  return next;
}

State Recorded(const JsonValue& at, const State& like) {
  State out;
  for (const auto& [slot, values] : like) out[slot] = Floats(*at.Find(slot));
  return out;
}

int64_t Ordered(float v) {
  const int32_t bits = std::bit_cast<int32_t>(v);
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : bits;
}

int64_t LargestUlps(const State& a, const State& b) {
  int64_t worst = 0;
  for (const auto& [slot, values] : a) {
    for (size_t i = 0; i < values.size(); ++i) worst = std::max(worst, std::abs(Ordered(values[i]) - Ordered(b.at(slot)[i])));
  }
  return worst;
}

class Traces : public ::testing::TestWithParam<const JsonValue*> {
 protected:
  const JsonValue& trace() const { return *GetParam(); }
  bool exact() const { return trace().Find("op")->text == "sgd" || trace().Find("op")->text == "momentum"; }
  State Initial() const {
    State state;
    for (const JsonValue::Member& m : trace().Find("initial")->members) state[m.key] = Floats(m.value);
    return state;
  }
  const std::vector<JsonValue>& steps() const { return trace().Find("steps")->items; }
};

TEST_P(Traces, OneStepFromEachRecordedState) {
  const int64_t allowed = exact() ? 0 : trace().Find("op")->text == "lamb" ? 64 : 32;
  State state = Initial();
  ASSERT_EQ(steps().size(), 20u);
  for (const JsonValue& step : steps()) {
    ASSERT_OK_AND_ASSIGN(const State next, Step(trace(), step, state));
    const State recorded = Recorded(step, state);
    EXPECT_LE(LargestUlps(next, recorded), allowed);
    state = recorded;
  }
}

TEST_P(Traces, TwentyStepsOnTheirOwn) {
  State state = Initial();
  for (const JsonValue& step : steps()) {
    ASSERT_OK_AND_ASSIGN(state, Step(trace(), step, state));
    const State recorded = Recorded(step, state);
    if (exact()) {
      ASSERT_EQ(LargestUlps(state, recorded), 0);
    }
    for (const auto& [slot, values] : state) {
      for (size_t i = 0; i < values.size(); ++i) {
        const double want = recorded.at(slot)[i];
        ASSERT_LE(std::abs(values[i] - want), 5e-5 * std::abs(want) + 1e-30) << slot << " " << i;
      }
    }
  }
}

std::vector<const JsonValue*> AllTraces() {
  static const JsonValue& golden = *[] {
    std::ifstream file("tests/golden/paddle_numerics/optimizers.json");
    std::stringstream text;
    text << file.rdbuf();
    absl::StatusOr<JsonValue> json = ParseJson(text.str());
    return new JsonValue(json.ok() ? *std::move(json) : JsonValue());
  }();
  std::vector<const JsonValue*> all;
  if (const JsonValue* traces = golden.Find("traces")) {
    for (const JsonValue& trace : traces->items) all.push_back(&trace);
  }
  return all;
}

TEST(TraceFile, IsComplete) { EXPECT_EQ(AllTraces().size(), 13u); }

INSTANTIATE_TEST_SUITE_P(Paddle, Traces, ::testing::ValuesIn(AllTraces()),
                         [](const ::testing::TestParamInfo<const JsonValue*>& info) { return info.param->Find("name")->text; });

}  // namespace
}  // namespace ampc::testing
