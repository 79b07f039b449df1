// Programs with control flow, as the real Paddle made and ran them (tests/golden/control).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/formats/tensor_io/npz.h"
#include "passes/analysis/target_support.h"
#include "runtime/convert/options.h"
#include "runtime/session.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

std::string File(absl::string_view name, absl::string_view suffix) { return absl::StrCat("tests/golden/control/", name, suffix); }

// The values of case `i`: of its feeds by name, of its outputs by number.
TensorMap Values(const TensorMap& all, int i, absl::string_view kind) {
  const std::string prefix = absl::StrCat(i, ".", kind, ".");
  TensorMap out;
  for (const auto& [name, value] : all) {
    if (name.compare(0, prefix.size(), prefix) == 0) out[name.substr(prefix.size())] = value;
  }
  return out;
}

// Sums of several steps: the bound of one op, of the largest value.
void ExpectClose(const HostTensor& found, const HostTensor& needed) {
  ASSERT_EQ(found.dtype(), needed.dtype());
  ASSERT_EQ(found.dims(), needed.dims());
  if (needed.dtype() != DType::kF32) {
    EXPECT_EQ(found, needed);
    return;
  }
  double largest = 0;
  for (float v : needed.values<float>()) largest = std::max(largest, std::abs(static_cast<double>(v)));
  const testing::Tolerance t = testing::ToleranceFor(DType::kF32);
  for (int64_t i = 0; i < needed.num_elements(); ++i) {
    EXPECT_NEAR(found.values<float>()[i], needed.values<float>()[i], t.abs + t.rel * largest) << "element " << i;
  }
}

void Check(const Session& session, const TensorMap& all) {
  int cases = 0;
  for (TensorMap feeds = Values(all, 0, "in"); !feeds.empty(); feeds = Values(all, ++cases, "in")) {
    SCOPED_TRACE(absl::StrCat("case ", cases));
    ASSERT_OK_AND_ASSIGN(const TensorMap found, session.Run(feeds));
    const TensorMap needed = Values(all, cases, "out");
    ASSERT_EQ(needed.size(), session.outputs().size());
    for (size_t k = 0; k < needed.size(); ++k) {
      SCOPED_TRACE(absl::StrCat("output ", k));
      ExpectClose(found.at(session.outputs()[k].name), needed.at(absl::StrCat(k)));
    }
  }
  EXPECT_GE(cases, 3);
}

class GoldenControl : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenControl, LikePaddle) {
  ASSERT_OK_AND_ASSIGN(const TensorMap all, ReadNpz(File(GetParam(), ".npz")));
  ASSERT_OK_AND_ASSIGN(const Session fused, Session::Load(File(GetParam(), ".pdmodel"), {.threads = 1}));
  Check(fused, all);
  const int plans = fused.num_plans();
  Check(fused, all);
  EXPECT_EQ(fused.num_plans(), plans);
  ASSERT_OK_AND_ASSIGN(const Session unfused, Session::Load(File(GetParam(), ".pdmodel"), {.threads = 2, .strict_rounding = true}));
  Check(unfused, all);
}

// Mixed precision leaves a program that runs: loops end where they did, floats are near.
TEST_P(GoldenControl, Converted) {
  ASSERT_OK_AND_ASSIGN(const TensorMap all, ReadNpz(File(GetParam(), ".npz")));
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(File(GetParam(), ".pdmodel")));
  ASSERT_OK_AND_ASSIGN(const PrecisionSupport* support, TargetSupport("cuda"));
  PassContext ctx;
  ctx.support = support;
  ASSERT_OK(RunPipeline(ConvertPipeline({}), {}, ctx, program));
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(program), {.threads = 1}));
  for (int i = 0; !Values(all, i, "in").empty(); ++i) {
    ASSERT_OK_AND_ASSIGN(const TensorMap found, session.Run(Values(all, i, "in")));
    const TensorMap needed = Values(all, i, "out");
    for (size_t k = 0; k < needed.size(); ++k) {
      const HostTensor& have = found.at(session.outputs()[k].name);
      const HostTensor& want = needed.at(absl::StrCat(k));
      ASSERT_EQ(have.dims(), want.dims());
      ASSERT_EQ(have.dtype(), want.dtype());
      const testing::Tolerance t = testing::ToleranceFor(DType::kF16);
      for (int64_t e = 0; want.dtype() == DType::kF32 && e < want.num_elements(); ++e) {
        EXPECT_NEAR(have.values<float>()[e], want.values<float>()[e], 10 * t.abs + 10 * t.rel * std::abs(want.values<float>()[e]));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, GoldenControl,
                         ::testing::Values("loop_with_arrays", "branches", "nested_loops", "gru_decoder", "chosen_rows"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ampc
