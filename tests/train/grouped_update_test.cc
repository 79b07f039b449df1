// grouped_update is its single ops one after the other, bit for bit, for any number of parameters of any sizes.
#include <algorithm>
#include <map>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

struct Case {
  std::string op;
  DType param = DType::kF32, grad = DType::kF32;
  bool master = false;
  std::vector<Attr> attrs = {};
};

// The operands of one parameter by slot.
using Operands = std::map<std::string, Tensor>;

Tensor Values(DType type, int64_t n, uint32_t seed, float low, float high) {
  const Tensor wide = Random({n}, seed, low, high);
  if (type == DType::kF64)
    return Of<double>({n}, std::vector<double>(wide.stored.values<float>().begin(), wide.stored.values<float>().end()));
  return Low(type, {n}, wide.floats());
}

Operands Make(const Case& c, int64_t n, uint32_t seed) {
  const DType moment = c.param == DType::kF64 || !IsLowPrecision(c.param) ? c.param : DType::kF32;
  Operands o;
  o["Param"] = Values(c.param, n, seed, -1, 1);
  o["Grad"] = Values(c.grad, n, seed + 1, -1, 1);
  if (c.master) o["MasterParam"] = Random({n}, seed, -1, 1);
  if (c.op == "momentum") o["Velocity"] = Values(moment, n, seed + 2, -1, 1);
  if (c.op == "adam" || c.op == "adamw" || c.op == "lamb") {
    o["Moment1"] = Values(moment, n, seed + 3, -1, 1);
    o["Moment2"] = Values(moment, n, seed + 4, 0, 1);
    o["Beta1Pow"] = Values(moment, 1, seed + 5, 0.5f, 0.9f);
    o["Beta2Pow"] = Values(moment, 1, seed + 6, 0.5f, 0.999f);
  }
  return o;
}

const std::vector<Case>& Cases() {
  static const auto* const cases = [] {
    auto* all = new std::vector<Case>;
    for (const char* op : {"sgd", "momentum", "adam", "adamw", "lamb"}) {
      std::vector<Attr> attrs;
      if (op == std::string("momentum")) attrs = {{"mu", 0.9f}, {"use_nesterov", true}, {"rescale_grad", 0.5f}};
      if (op == std::string("adamw")) attrs = {{"coeff", 0.02f}, {"with_decay", true}, {"lr_ratio", 0.5f}};
      if (op == std::string("lamb")) attrs = {{"weight_decay", 0.01f}, {"epsilon", 1e-6f}};
      all->push_back({op, DType::kF32, DType::kF32, false, attrs});
      all->push_back({op, DType::kF16, DType::kF16, true, attrs});
      all->push_back({op, DType::kBF16, DType::kF32, true, attrs});
      all->push_back({op, DType::kBF16, DType::kBF16, false, attrs});
      all->push_back({op, DType::kF64, DType::kF64, false, attrs});
    }
    return all;
  }();
  return *cases;
}

// The results of the op on all of `params`, by result slot; `type` is the op or grouped_update.
absl::StatusOr<std::map<std::string, std::vector<Tensor>>> Update(const std::string& type, const Case& c,
                                                                  const std::vector<Operands>& params, bool skip) {
  OpRun run(type);
  run.In("GradScale", F32({1}, {3}));
  run.In("LearningRate", c.param == DType::kF64 ? Of<double>({1}, {0.05}) : F32({1}, {0.05f}))
      .In("SkipUpdate", Of({1}, std::vector<bool>{skip}));
  for (const auto& [slot, unused] : params[0]) {
    for (const Operands& p : params) run.In(slot, p.at(slot));
  }
  if (type != c.op) run.Attr("op", c.op);
  if (c.master) run.Attr("multi_precision", true);
  for (const Attr& attr : c.attrs) run.Attr(attr.name, attr.value);
  std::vector<std::string> slots;
  for (const SlotDef& slot : Ops().Find(type)->outputs) {
    if (!params[0].contains(slot.name.substr(0, slot.name.size() - 3))) continue;
    run.Out(slot.name, static_cast<int>(params.size()));
    slots.push_back(slot.name);
  }
  AMPC_ASSIGN_OR_RETURN(const std::vector<Tensor> results, run.Run());
  std::map<std::string, std::vector<Tensor>> out;
  for (size_t s = 0, i = 0; s < slots.size(); ++s) {
    for (size_t k = 0; k < params.size(); ++k, ++i) out[slots[s]].push_back(results[i]);
  }
  return out;
}

class GroupedUpdate : public ::testing::TestWithParam<Case> {};

void ExpectSameAsSingle(const Case& c, const std::vector<Operands>& params, bool skip) {
  ASSERT_OK_AND_ASSIGN(auto grouped, Update("grouped_update", c, params, skip));
  for (size_t i = 0; i < params.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(auto single, Update(c.op, c, {params[i]}, skip));
    ASSERT_EQ(single.size(), grouped.size());
    for (const auto& [slot, result] : single) ASSERT_TRUE(grouped[slot][i].stored == result[0].stored) << slot << " of parameter " << i;
  }
}

TEST_P(GroupedUpdate, IsItsSingleOps) {
  std::vector<Operands> params;
  uint32_t seed = 1;
  for (const int64_t n : {0, 1, 3, 4, 5, 1023, 16383, 16384, 16385, 40001, 2}) params.push_back(Make(GetParam(), n, seed += 10));
  ExpectSameAsSingle(GetParam(), params, false);
}

TEST_P(GroupedUpdate, SkippedChangesNothing) {
  std::vector<Operands> params;
  uint32_t seed = 1;
  for (const int64_t n : {5, 0, 16385, 1}) params.push_back(Make(GetParam(), n, seed += 10));
  ASSERT_OK_AND_ASSIGN(const auto after, Update("grouped_update", GetParam(), params, true));
  for (const auto& [slot, results] : after) {
    for (size_t i = 0; i < params.size(); ++i) {
      ASSERT_TRUE(results[i].stored == params[i].at(slot.substr(0, slot.size() - 3)).stored) << slot << " of parameter " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, GroupedUpdate, ::testing::ValuesIn(Cases()), [](const ::testing::TestParamInfo<Case>& info) {
  return info.param.op + "_" + std::string(Name(info.param.param)) + (info.param.master ? "_master" : "");
});

// More than the tables of one launch hold.
TEST(GroupedUpdates, ThousandParameters) {
  const Case c{"adam", DType::kF16, DType::kF16, true};
  std::vector<Operands> params;
  for (uint32_t i = 0; i < 1000; ++i) params.push_back(Make(c, i % 97 == 3 ? 16000 + i : i * 7919 % 60, i * 10));
  ExpectSameAsSingle(c, params, false);
}

TEST(GroupedUpdates, MixedTypesAreRefused) {
  const std::vector<Operands> params = {Make({"sgd"}, 3, 1), Make({"sgd", DType::kF16, DType::kF16}, 3, 2)};
  EXPECT_THAT(Update("grouped_update", {"sgd"}, params, false).status(),
              StatusIs(ExitCode::kUnsupported, ::testing::HasSubstr("same types")));
}

}  // namespace
}  // namespace ampc::testing
