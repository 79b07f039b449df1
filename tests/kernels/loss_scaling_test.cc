// check_finite_and_unscale and update_loss_scaling: scripted sequences that PaddlePaddle's CPU kernels ran, bit for bit. Two of them
// end otherwise here, because our kernels follow the device kernels' rule: what is tested is the unscaled value, not the operand.
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "graph/base/json_reader.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();
const char kGolden[] = "tests/golden/paddle_numerics/loss_scaling.json";

float FromBits(const JsonValue& v) { return std::bit_cast<float>(static_cast<uint32_t>(std::stoul(v.text, nullptr, 16))); }

std::vector<float> Floats(const JsonValue& list) {
  std::vector<float> out;
  for (const JsonValue& v : list.items) out.push_back(FromBits(v));
  return out;
}

bool SameClassOrBits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameClassOrBits);
}

struct State {
  float scale;
  int32_t good, bad;
};

struct Step {
  bool found = false;
  std::vector<Tensor> unscaled, outputs;
  State state;
};

class Sequence {
 public:
  explicit Sequence(const JsonValue& json) : json_(json) {}

  std::string name() const { return json_.Find("name")->text; }
  State initial() const {
    const JsonValue& i = *json_.Find("initial");
    return {FromBits(*i.Find("scale")), static_cast<int32_t>(*i.Find("good")->AsInt()), static_cast<int32_t>(*i.Find("bad")->AsInt())};
  }
  const std::vector<JsonValue>& steps() const { return json_.Find("steps")->items; }

  // One scripted step from `state`.
  absl::StatusOr<Step> Run(const JsonValue& step, State state) const {
    Step r;
    OpRun check("check_finite_and_unscale");
    const std::vector<JsonValue>& grads = step.Find("grads")->items;
    for (size_t i = 0; i < grads.size(); ++i) {
      const std::vector<float> v = Floats(grads[i]);
      r.unscaled.push_back(F32({static_cast<int64_t>(v.size())}, v));
      check.In("X", r.unscaled.back());
    }
    r.found = step.Find("found_inf")->boolean;
    if (json_.Find("mode")->text == "check_update") {
      absl::StatusOr<std::vector<Tensor>> out =
          check.In("Scale", F32({1}, {state.scale})).Out("Out", static_cast<int>(grads.size())).Out("FoundInfinite").Run();
      if (!out.ok()) return out.status();
      r.found = out->back().As<bool>()[0];
      out->pop_back();
      r.unscaled = *std::move(out);
    }
    absl::StatusOr<std::vector<Tensor>> out = Update(step, r, state);
    if (!out.ok()) return out.status();
    const size_t n = grads.size();
    r.state = {(*out)[n].floats()[0], (*out)[n + 1].As<int32_t>()[0], (*out)[n + 2].As<int32_t>()[0]};
    out->resize(n);
    r.outputs = *std::move(out);
    return r;
  }

 private:
  absl::StatusOr<std::vector<Tensor>> Update(const JsonValue& step, const Step& r, State state) const {
    const JsonValue& attrs = *json_.Find("attrs");
    OpRun update("update_loss_scaling");
    for (const Tensor& t : r.unscaled) update.In("X", t);
    update.In("FoundInfinite", Of({1}, std::vector<bool>{r.found})).In("PrevLossScaling", F32({1}, {state.scale}));
    update.In("InGoodSteps", I32({1}, {state.good})).In("InBadSteps", I32({1}, {state.bad}));
    if (attrs.Find("stop_update_tensor")->boolean) {
      update.In("StopUpdate", Of({1}, std::vector<bool>{step.Find("stop_update_in")->boolean}));
    }
    for (const char* key : {"incr_every_n_steps", "decr_every_n_nan_or_inf"})
      update.Attr(key, static_cast<int32_t>(*attrs.Find(key)->AsInt()));
    for (const char* key : {"incr_ratio", "decr_ratio"}) update.Attr(key, FromBits(*attrs.Find(key)));
    update.Attr("stop_update", attrs.Find("stop_update")->boolean).Out("Out", static_cast<int>(r.unscaled.size()));
    return update.Out("LossScaling").Out("OutGoodSteps").Out("OutBadSteps").Run();
  }

  const JsonValue& json_;
};

absl::StatusOr<JsonValue> ReadGolden() {
  std::ifstream file(kGolden);
  std::stringstream text;
  text << file.rdbuf();
  return ParseJson(text.str());
}

TEST(LossScaling, RepeatsTheScriptedSequences) {
  const std::set<std::string> by_device_rule = {"scale_is_nan", "tiny_scale_overflows_in_unscale"};
  ASSERT_OK_AND_ASSIGN(const JsonValue golden, ReadGolden());
  int compared = 0;
  for (const JsonValue& json : golden.Find("sequences")->items) {
    const Sequence sequence(json);
    if (by_device_rule.contains(sequence.name())) continue;
    SCOPED_TRACE(sequence.name());
    State state = sequence.initial();
    for (const JsonValue& step : sequence.steps()) {
      ASSERT_OK_AND_ASSIGN(const Step r, sequence.Run(step, state));
      ASSERT_EQ(r.found, step.Find("found_inf")->boolean);
      for (size_t i = 0; i < r.outputs.size(); ++i) {
        // After an overflow the contents mean nothing until they are zeroed.
        if (!r.found && step.Find("after_check") != nullptr) {
          ASSERT_TRUE(Same(r.unscaled[i].floats(), Floats(step.Find("after_check")->items[i])));
        }
        ASSERT_TRUE(Same(r.outputs[i].floats(), Floats(step.Find("outputs")->items[i])));
      }
      ASSERT_TRUE(SameClassOrBits(r.state.scale, FromBits(*step.Find("scale")))) << r.state.scale;
      ASSERT_EQ(r.state.good, *step.Find("good_steps")->AsInt());
      ASSERT_EQ(r.state.bad, *step.Find("bad_steps")->AsInt());
      state = r.state;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 25);
}

TEST(LossScaling, TestsTheUnscaledValueAsDevicesDo) {
  ASSERT_OK_AND_ASSIGN(const JsonValue golden, ReadGolden());
  int compared = 0;
  for (const JsonValue& json : golden.Find("sequences")->items) {
    const Sequence sequence(json);
    const bool nan_scale = sequence.name() == "scale_is_nan";
    if (!nan_scale && sequence.name() != "tiny_scale_overflows_in_unscale") continue;
    ASSERT_OK_AND_ASSIGN(const Step r, sequence.Run(sequence.steps()[0], sequence.initial()));
    EXPECT_TRUE(r.found) << sequence.name();
    EXPECT_FALSE(sequence.steps()[0].Find("found_inf")->boolean);
    EXPECT_THAT(r.outputs[0].floats(), Each(0));
    EXPECT_EQ(r.state.good, 0);
    EXPECT_EQ(r.state.bad, 0);
    // decr_ratio 0.5 of a scale below 1 stops at 1; a NaN scale stays NaN.
    EXPECT_TRUE(nan_scale ? std::isnan(r.state.scale) : r.state.scale == 1);
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

struct Trace {
  int32_t incr_n, decr_n;
  float incr, decr;
  State start;
  std::vector<bool> found;
  std::vector<State> want;
};

TEST(LossScaling, CountersFireAtTheirThresholdOnly) {
  const float top = 0x1p127f;
  for (const Trace& t : {
           Trace{1000, 2, 2, 0.8f, {32768, 0, 0}, {false, true, true}, {{32768, 1, 0}, {32768, 0, 1}, {26214.400390625f, 0, 0}}},
           Trace{1, 2, 2, 0.8f, {top, 0, 0}, {false, false}, {{top, 0, 0}, {top, 0, 0}}},
           Trace{1000, 2, 2, 0.8f, {2048, 999, 1}, {false}, {{4096, 0, 0}}},
           Trace{1000, 2, 2, 0.8f, {2048, 999, 1}, {true}, {{1638.4000244140625f, 0, 0}}},
           Trace{1000, 2, 2, 0.8f, {1024, 1000, 0}, {false, false}, {{1024, 1001, 0}, {1024, 1002, 0}}},
           Trace{1000, 2, 2, 0.8f, {1024, 0, 2}, {true, true}, {{1024, 0, 3}, {1024, 0, 4}}},
           Trace{9, 1, 2, 0.5f, {1.5f, 0, 0}, {true, true}, {{1, 0, 0}, {1, 0, 0}}},
       }) {
    State state = t.start;
    for (size_t i = 0; i < t.found.size(); ++i) {
      OpRun update("update_loss_scaling");
      update.In("FoundInfinite", Of({1}, std::vector<bool>{t.found[i]})).In("PrevLossScaling", F32({1}, {state.scale}));
      update.In("InGoodSteps", I32({1}, {state.good})).In("InBadSteps", I32({1}, {state.bad}));
      update.Attr("incr_every_n_steps", t.incr_n).Attr("decr_every_n_nan_or_inf", t.decr_n).Attr("incr_ratio", t.incr);
      ASSERT_OK_AND_ASSIGN(const auto r, update.Attr("decr_ratio", t.decr).Out("LossScaling").Out("OutGoodSteps").Out("OutBadSteps").Run());
      state = {r[0].floats()[0], r[1].As<int32_t>()[0], r[2].As<int32_t>()[0]};
      EXPECT_EQ(state.scale, t.want[i].scale);
      EXPECT_EQ(state.good, t.want[i].good);
      EXPECT_EQ(state.bad, t.want[i].bad);
    }
  }
}

TEST(LossScaling, FloorAndCap) {
  const auto next = [](float scale, bool found, float least, float most) {
    OpRun update("update_loss_scaling");
    update.In("FoundInfinite", Of({1}, std::vector<bool>{found})).In("PrevLossScaling", F32({1}, {scale}));
    update.In("InGoodSteps", I32({1}, {0})).In("InBadSteps", I32({1}, {0})).Attr("min_loss_scaling", least).Attr("max_loss_scaling", most);
    update.Attr("incr_every_n_steps", 1).Attr("decr_every_n_nan_or_inf", 1).Attr("incr_ratio", 2.0f).Attr("decr_ratio", 0.5f);
    const auto r = update.Out("LossScaling").Run();
    return r.ok() ? (*r)[0].floats()[0] : -1;
  };
  EXPECT_EQ(next(16, true, 8, 64), 8);
  EXPECT_EQ(next(12, true, 8, 64), 8);
  EXPECT_EQ(next(0.5, true, 0.125, 0), 0.25);
  EXPECT_EQ(next(16, false, 8, 64), 32);
  EXPECT_EQ(next(48, false, 8, 64), 64);
  EXPECT_EQ(next(48, false, 8, 0), 96);
}

TEST(Unscale, LowPrecisionRoundsBeforeTheTest) {
  const auto run = [](std::vector<float> x, float scale) {
    return OpRun("check_finite_and_unscale")
        .In("X", Low(DType::kF16, {static_cast<int64_t>(x.size())}, x))
        .In("Scale", F32({1}, {scale}))
        .Out("Out")
        .Out("FoundInfinite")
        .Run();
  };
  ASSERT_OK_AND_ASSIGN(auto r, run({1024, 65504, 0.03125}, 1024));
  EXPECT_THAT(r[0].floats(), ElementsAre(1, 63.96875, 3.0517578125e-05));
  EXPECT_FALSE(r[1].As<bool>()[0]);
  ASSERT_OK_AND_ASSIGN(r, run({kInf, 1}, 1024));
  EXPECT_THAT(r[0].floats(), ElementsAre(kInf, 0.0009765625));
  EXPECT_TRUE(r[1].As<bool>()[0]);
  ASSERT_OK_AND_ASSIGN(r, run({0x1p-24f, 1}, 128));  // underflow is silent
  EXPECT_THAT(r[0].floats(), ElementsAre(0, 0.0078125));
  EXPECT_FALSE(r[1].As<bool>()[0]);
  ASSERT_OK_AND_ASSIGN(r, run({40000, 1}, 0.5));  // 80000 is finite in f32, not in f16
  EXPECT_TRUE(r[1].As<bool>()[0]);
}

TEST(Unscale, FindsOneBadElementAnywhere) {
  for (const int64_t at : {int64_t{0}, int64_t{2047}, int64_t{2048}, int64_t{69999}, int64_t{-1}}) {
    std::vector<float> v(70000, 3);
    if (at >= 0) v[at] = std::numeric_limits<float>::quiet_NaN();
    ASSERT_OK_AND_ASSIGN(const auto r, OpRun("check_finite_and_unscale")
                                           .In("X", F32({5}, std::vector<float>(5, 1)))
                                           .In("X", F32({70000}, v))
                                           .In("Scale", F32({1}, {4}))
                                           .Out("Out", 2)
                                           .Out("FoundInfinite")
                                           .Run());
    EXPECT_EQ(r[2].As<bool>()[0], at >= 0) << at;
    EXPECT_EQ(r[0].floats()[4], 0.25f);
    EXPECT_EQ(r[1].floats()[100], 0.75f);
  }
}

TEST(Unscale, FindsEveryKindOfBadElementInEveryLane) {
  for (const float bad : {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(), -3e38f}) {
    for (int at = 0; at < 37; ++at) {
      std::vector<float> v(37, -3);
      v[at] = bad;
      const auto r =
          OpRun("check_finite_and_unscale").In("X", F32({37}, v)).In("Scale", F32({1}, {0.5f})).Out("Out").Out("FoundInfinite").Run();
      ASSERT_OK(r);
      EXPECT_TRUE((*r)[1].As<bool>()[0]) << bad << " at " << at;
      EXPECT_EQ((*r)[0].floats()[at == 0 ? 1 : 0], -6);
    }
  }
}

TEST(Unscale, NoGradientsAndDouble) {
  ASSERT_OK_AND_ASSIGN(auto r, OpRun("check_finite_and_unscale").In("Scale", F32({1}, {4})).Out("FoundInfinite").Run());
  EXPECT_FALSE(r[0].As<bool>()[0]);
  ASSERT_OK_AND_ASSIGN(r, OpRun("check_finite_and_unscale")
                              .In("X", Of<double>({2}, {1e300, 3}))
                              .In("Scale", Of<double>({1}, {8}))
                              .Out("Out")
                              .Out("FoundInfinite")
                              .Run());
  EXPECT_THAT(r[0].doubles(), ElementsAre(1e300 / 8, 0.375));
}

}  // namespace
}  // namespace ampc::testing
