// The common parts of kernels: the registry, the evaluator, rounding, the cache of packed weights and their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "graph/base/convert.h"
#include "graph/op_registry.h"
#include "graph/program.h"
#include "kernels/cpu/kernels_registry.h"
#include "kernels/evaluator.h"
#include "kernels/lasting_tensor.h"
#include "kernels/round.h"
#include "kernels/weight_cache.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KernelRegistry, EveryKernelIsListedOnceWithItsTypes) {
  KernelRegistry registry;
  ASSERT_OK(RegisterCpuKernels(&registry));
  ASSERT_FALSE(registry.All().empty());
  std::string last;
  for (const KernelEntry* entry : registry.All()) {
    EXPECT_LT(last, entry->op);
    last = entry->op;
    EXPECT_TRUE(entry->make != nullptr || entry->evaluate != nullptr) << entry->op;
    EXPECT_FALSE(entry->dtypes.empty()) << entry->op;
  }
}

TEST(KernelRegistry, RefusesASecondKernelForAnOp) {
  KernelRegistry registry;
  ASSERT_OK(registry.Add({"relu", nullptr, {}}));
  EXPECT_THAT(registry.Add({"relu", nullptr, {}}), StatusIs(ExitCode::kInternal, HasSubstr("'relu'")));
  EXPECT_EQ(registry.Find("tanh"), nullptr);
}

TEST(RoundTo, RoundsLowPrecisionOnly) {
  std::vector<float> v = {1.0009765f, 70000.0f};
  RoundTo(DType::kF32, v.data(), 2);
  EXPECT_THAT(v, ElementsAre(1.0009765f, 70000.0f));
  RoundTo(DType::kF16, v.data(), 2);
  EXPECT_THAT(v, ElementsAre(1.0009765625f, std::numeric_limits<float>::infinity()));
  RoundTo(DType::kBF16, v.data(), 2);
  EXPECT_EQ(v[0], 1.0f);
}

// Y = X * W with X and W of `dtype`.
struct Product {
  explicit Product(DType dtype) {
    Block& block = program.main();
    Var* x = block.AddVar("x", VarKind::kFeed, TensorType(dtype, {1, 2}));
    Var* w = block.AddVar("w", VarKind::kFeed, TensorType(dtype, {2, 2}));
    Var* y = block.AddVar("y", VarKind::kTemp, TensorType(dtype, {1, 2}));
    std::unique_ptr<Op> op_ptr = block.NewOp(Ops().Find("matmul_v2"));
    op_ptr->SetInputs(0, {&x, 1});
    op_ptr->SetInputs(1, {&w, 1});
    op_ptr->SetOutputs(0, {&y, 1});
    op = block.Append(std::move(op_ptr));
  }
  Program program;
  Op* op;
};

TEST(CpuEvaluator, ComputesOnDeclaredTypes) {
  const Product f32(DType::kF32);
  const HostTensor x = HostTensor::Of<float>({1, 2}, {1, 2}), w = HostTensor::Of<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const auto got, MakeCpuEvaluator()->Evaluate(*f32.op, {&x, &w}));
  EXPECT_THAT(got[0].values<float>(), ElementsAre(7, 10));

  const Product f16(DType::kF16);
  const HostTensor xh = HostTensor::Of<Half>({1, 2}, {Half(2048.0f), Half(1.0f)});
  const HostTensor wh = HostTensor::Of<Half>({2, 2}, {Half(1.0f), Half(1.0f), Half(1.0f), Half(3.0f)});
  ASSERT_OK_AND_ASSIGN(const auto low, MakeCpuEvaluator()->Evaluate(*f16.op, {&xh, &wh}));
  ASSERT_EQ(low[0].dtype(), DType::kF16);
  EXPECT_EQ(static_cast<float>(low[0].values<Half>()[0]), 2048.0f);  // 2049, a tie that rounds to even
  EXPECT_EQ(static_cast<float>(low[0].values<Half>()[1]), 2052.0f);  // 2051
}

TEST(CpuEvaluator, RefusesWhatHasNoKernel) {
  Product p(DType::kU8);
  const HostTensor x = HostTensor::Of<uint8_t>({1, 2}, {1, 2}), w = HostTensor::Of<uint8_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(MakeCpuEvaluator()->Evaluate(*p.op, {&x, &w}), StatusIs(ExitCode::kUnsupported, HasSubstr("matmul_v2")));
}

TEST(WeightCache, KeepsWhatWasPackedOfLastingValuesOnly) {
  const HostTensor lasting = HostTensor::Of<float>({1}, {1}), other = lasting;
  WeightCache cache;
  cache.AddLasting(&lasting);
  int packs = 0;
  const auto pack = [&]() -> absl::StatusOr<WeightCache::Packed> {
    ++packs;
    return std::make_shared<const HostTensor>(lasting);
  };
  ASSERT_OK_AND_ASSIGN(const WeightCache::Packed first, cache.Get(&lasting, "a", pack));
  ASSERT_OK_AND_ASSIGN(const WeightCache::Packed again, cache.Get(&lasting, "a", pack));
  EXPECT_EQ(first, again);
  EXPECT_EQ(packs, 1);
  ASSERT_OK(cache.Get(&lasting, "b", pack));
  EXPECT_EQ(packs, 2);
  ASSERT_OK(cache.Get(&other, "a", pack));
  ASSERT_OK(cache.Get(&other, "a", pack));
  EXPECT_EQ(packs, 4);
}

TEST(WeightCache, ServesThreadsAtTheSameTime) {
  const HostTensor value = HostTensor::Of<float>({1}, {1});
  WeightCache cache;
  cache.AddLasting(&value);
  std::vector<WeightCache::Packed> got(8);
  std::vector<std::thread> threads;
  for (WeightCache::Packed& g : got) {
    threads.emplace_back([&cache, &value, &g] {
      g = *cache.Get(&value, "a", [&]() -> absl::StatusOr<WeightCache::Packed> { return std::make_shared<const HostTensor>(value); });
    });
  }
  for (std::thread& t : threads) t.join();
  for (const WeightCache::Packed& g : got) EXPECT_EQ(g, got[0]);
}

// Tensors of all sizes beside each other, some freed early, keep their values.
TEST(LastingTensor, LiesApartFromOthers) {
  std::mt19937 rng(1);
  std::vector<std::shared_ptr<HostTensor>> held;
  std::vector<uint8_t> values;
  for (int round = 0; round < 200; ++round) {
    const std::vector<int64_t> sizes = {0, 1, 4096, 65535, 65536, 100001, 3 << 20, 40 << 20};
    ASSERT_OK_AND_ASSIGN(const std::shared_ptr<HostTensor> t, CreateLasting(DType::kU8, {sizes[rng() % (round % 20 == 0 ? 8 : 7)]}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data()) % 64, 0u);
    held.push_back(t);
    values.push_back(static_cast<uint8_t>(rng()));
    std::fill_n(static_cast<uint8_t*>(t->mutable_data()), t->size_bytes(), values.back());
    if (held.size() < 12) continue;
    const size_t gone = rng() % held.size();
    for (const uint8_t v : held[gone]->values<uint8_t>()) ASSERT_EQ(v, values[gone]);
    held.erase(held.begin() + gone);
    values.erase(values.begin() + gone);
  }
  for (size_t i = 0; i < held.size(); ++i) {
    for (const uint8_t v : held[i]->values<uint8_t>()) ASSERT_EQ(v, values[i]);
  }
}

TEST(LastingTensor, RefusesWhatNoTensorCanBe) {
  EXPECT_FALSE(CreateLasting(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(CreateLasting(DType::kF32, {-1}).ok());
}

}  // namespace
}  // namespace ampc::testing
