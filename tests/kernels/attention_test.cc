// fused_attention gives what its ops give one after the other, NaN and infinities too, and needs memory that is linear in the positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kernels/op_run.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

class Draw {
 public:
  explicit Draw(uint32_t seed) : rng_(seed) {}
  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }

  // bf16 holds each of them; with `special`, some are not finite.
  Tensor Values(const Shape& dims, DType dtype, bool special = false) {
    const float odd[] = {std::nanf(""), INFINITY, -INFINITY};
    Tensor t{dtype, *HostTensor::Create(DType::kF32, dims)};
    for (float& v : t.stored.mutable_values<float>()) {
      v = special && Below(150) == 0 ? odd[Below(3)] : static_cast<float>(Below(33) - 16) / 16;
    }
    return t;
  }

 private:
  std::mt19937 rng_;
};

Tensor One(const OpRun& op) {
  const absl::StatusOr<std::vector<Tensor>> out = op.Run();
  EXPECT_OK(out.status());
  return out.ok() ? (*out)[0] : Tensor{};
}

// Intermediate values are float32.
Tensor StepByStep(Tensor q, Tensor k, Tensor v, const Tensor* mask, float scale, bool trans_k, bool nan_to_zero) {
  q.dtype = k.dtype = v.dtype = DType::kF32;
  Tensor s = One(OpRun("matmul_v2").In("X", q).In("Y", k).Attr("trans_y", trans_k).Out("Out"));
  s = One(OpRun("scale").In("X", s).Attr("scale", scale).Out("Out"));
  if (mask != nullptr) s = One(OpRun("elementwise_add").In("X", s).In("Y", *mask).Out("Out"));
  s = One(OpRun("softmax").In("X", s).Out("Out"));
  if (nan_to_zero) {
    for (float& p : s.stored.mutable_values<float>()) p = std::isnan(p) ? 0 : p;
  }
  return One(OpRun("matmul_v2").In("X", s).In("Y", v).Out("Out"));
}

void ExpectAlike(const Tensor& got, const Tensor& want, float tolerance, const std::string& where) {
  ASSERT_EQ(got.dims(), want.dims()) << where;
  const std::vector<float> a = got.floats(), b = want.floats();
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::isnan(a[i]), std::isnan(b[i])) << where << " at " << i;
    if (std::isnan(b[i]) || a[i] == b[i]) continue;  // infinities
    ASSERT_NEAR(a[i], b[i], tolerance) << where << " at " << i;
  }
}

// One of the sizes that repeat where the other operand has more.
int64_t OrOne(Draw& draw, int64_t n) { return draw.Below(4) == 0 ? 1 : n; }

class Attention : public ::testing::TestWithParam<DType> {};

TEST_P(Attention, GivesWhatItsOpsGive) {
  const DType dtype = GetParam();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const int64_t batch = 1 + draw.Below(3), heads = 1 + draw.Below(8), rows = 1 + draw.Below(90), positions = 1 + draw.Below(70);
    const int64_t size = 1 + draw.Below(40), width = 1 + draw.Below(40);
    const bool trans_k = draw.Below(2) == 0, masked = draw.Below(3) > 0, special = draw.Below(2) == 0, nan_to_zero = seed % 3 == 0;
    const int64_t q_rows = masked ? OrOne(draw, rows) : rows, keys = masked ? OrOne(draw, positions) : positions;
    Shape k = {OrOne(draw, batch), OrOne(draw, heads), size, keys};
    if (trans_k) std::swap(k[2], k[3]);
    const Tensor q = draw.Values({OrOne(draw, batch), heads, q_rows, size}, dtype, special), keys_of = draw.Values(k, dtype, special);
    const Tensor v = draw.Values({batch, OrOne(draw, heads), positions, width}, dtype, special);
    Tensor mask = draw.Values({batch, 1, rows, positions}, DType::kF32, special);
    for (float& m : mask.stored.mutable_values<float>()) m = draw.Below(3) == 0 ? -INFINITY : m;
    OpRun fused("fused_attention");
    fused.In("Q", q).In("K", keys_of).In("V", v);
    if (masked) fused.In("Mask", mask);
    fused.Attr("scale", 0.25f).Attr("trans_k", trans_k).Attr("nan_to_zero", nan_to_zero).Out("Out");
    const std::string where = absl::StrCat(Name(dtype), " seed ", seed);
    const float tolerance = dtype == DType::kF32 ? 1e-5f : dtype == DType::kF16 ? 1e-3f : 0.02f;
    ExpectAlike(One(fused), StepByStep(q, keys_of, v, masked ? &mask : nullptr, 0.25f, trans_k, nan_to_zero), tolerance, where);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Attention, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(Attention, OverNothingIsZero) {
  Draw draw(1);
  const Tensor none = One(OpRun("fused_attention")
                              .In("Q", draw.Values({2, 3, 4}, DType::kF32))
                              .In("K", draw.Values({2, 4, 0}, DType::kF32))
                              .In("V", draw.Values({2, 0, 5}, DType::kF32))
                              .Out("Out"));
  EXPECT_EQ(none.floats(), std::vector<float>(30, 0.0f));
  const Tensor means = One(OpRun("fused_attention")
                               .In("Q", draw.Values({1, 2, 0}, DType::kF32))
                               .In("K", draw.Values({1, 0, 4}, DType::kF32))
                               .In("V", Of<float>({1, 4, 1}, {1, 2, 3, 6}))
                               .Out("Out"));
  EXPECT_EQ(means.floats(), std::vector<float>(2, 3.0f));
}

TEST(Attention, NeedsMemoryThatIsLinearInThePositions) {
  const auto bytes = [](int64_t n) {
    Draw draw(1);
    const Tensor x = draw.Values({1, 2, n, 16}, DType::kF32);
    absl::StatusOr<std::unique_ptr<Kernel>> kernel =
        OpRun("fused_attention").In("Q", x).In("K", x).In("V", x).Attr("trans_k", true).Out("Out").Make();
    EXPECT_OK(kernel.status());
    return kernel.ok() ? (*kernel)->workspace_bytes() : 0;
  };
  EXPECT_GT(bytes(4096), 0);
  EXPECT_LT(bytes(4096), 4096 * 4096 * 4 / 8);
  EXPECT_LE(bytes(8192), 2 * bytes(4096));
}

}  // namespace
}  // namespace ampc::testing
