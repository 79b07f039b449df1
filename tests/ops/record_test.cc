// Parts of the records that cases cannot show: costs, classes that depend on attributes, windows that kernels read.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/op_record.h"
#include "graph/op_registry.h"
#include "graph/ops/window.h"
#include "graph/program.h"
#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

Cost CostOf(absl::string_view text) {
  const Program program = testing::BareProgram(text);
  const Op& op = *program.main().ops().back();
  return ampc::CostOf(op);
}

TEST(Slots, SayWhatTheyTake) {
  const auto text = [](const SlotDef& slot) {
    return absl::StrCat(slot.name, slot.optional ? " optional" : "", slot.variadic ? " variadic" : "", slot.host_value ? " host" : "");
  };
  OpDef def("t");
  def.In("A").OptIn("B").VarIn("C").OptVarIn("D").HostIn("E").HostVarIn("F");
  std::vector<std::string> slots;
  for (const SlotDef& slot : def.inputs) slots.push_back(text(slot));
  EXPECT_EQ(slots, (std::vector<std::string>{"A", "B optional", "C variadic", "D optional variadic", "E optional host",
                                             "F optional variadic host"}));
}

TEST(Cost, ConvolutionCountsTwoFlopsPerMultiplyAdd) {
  const Cost cost = CostOf("feed x : f16 [2, 6, 8, 8]\nparam w : f16 [4, 3, 3, 3]\ny = conv2d(x, w) groups=2 : f16 [2, 4, 6, 6]\n");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 4 * 6 * 6) * (3 * 3 * 3));
  EXPECT_EQ(cost.bytes, 2.0 * (2 * 6 * 8 * 8 + 4 * 3 * 3 * 3 + 2 * 4 * 6 * 6));
}

TEST(Cost, TransposedConvolutionCountsByOperand) {
  const Cost cost = CostOf("feed x : f32 [1, 4, 5, 5]\nparam w : f32 [4, 2, 3, 3]\ny = conv2d_transpose(x, w) : f32 [1, 2, 7, 7]\n");
  EXPECT_EQ(cost.flops, 2.0 * (4 * 5 * 5) * (2 * 3 * 3));
}

TEST(Cost, MatmulCountsTheInnerDimension) {
  EXPECT_EQ(CostOf("feed x : f32 [4, 8]\nfeed y : f32 [8, 5]\nz = matmul_v2(x, y) : f32 [4, 5]\n").flops, 2.0 * 4 * 5 * 8);
  EXPECT_EQ(CostOf("feed x : f32 [8, 4]\nfeed y : f32 [8, 5]\nz = matmul_v2(x, y) trans_x=true : f32 [4, 5]\n").flops, 2.0 * 4 * 5 * 8);
  EXPECT_EQ(CostOf("feed x : f32 [4, 2, 4]\nfeed y : f32 [8, 5]\nz = mul(x, y) : f32 [4, 5]\n").flops, 2.0 * 4 * 5 * 8);
  EXPECT_EQ(CostOf("feed x : f32 [4, 8]\nfeed y : f32 [8, 5]\nz = fc(x, y) : f32 [4, 5]\n").flops, 2.0 * 4 * 5 * 8);
}

// Its steps are made one by one, as many as there are.
TEST(Cost, AnUnknownNumberOfStepsCountsAsOne) {
  const auto flops = [](absl::string_view steps) {
    return CostOf(absl::StrCat("feed x : f32 [", steps,
                               ", 2, 4]\nparam w : f32 [1, 24, 4]\nparam r : f32 [1, 24, 6]\nparam p : f32 [1, 18]\n",
                               "onnx.LSTM.14(X=[x], W=[w], R=[r], P=[p]) -> Y=[y] hidden_size=6l : f32 [", steps, ", 1, 2, 6]\n"))
        .flops;
  };
  EXPECT_GE(flops("1"), 2.0 * 2 * 24 * (4 + 6));
  EXPECT_EQ(flops("?"), flops("1"));
  EXPECT_GT(flops("3"), flops("1"));
}

TEST(Cost, UnknownDimensionsCountAsOne) {
  const Cost cost = CostOf("feed x : f32 [?, 8]\ny = relu(x) : f32 [?, 8]\n");
  EXPECT_EQ(cost.flops, 8.0);
  EXPECT_EQ(cost.bytes, 2 * 8 * 4.0);
}

TEST(Cost, ReductionsReadAllViewsNothing) {
  EXPECT_EQ(CostOf("feed x : f32 [4, 8]\ny = reduce_sum(x) dim=[0] : f32 [8]\n").flops, 32.0);
  EXPECT_EQ(CostOf("feed x : f32 [4, 8]\ny = reshape2(x) shape=[32] : f32 [32]\n").bytes, 0.0);
  EXPECT_EQ(CostOf("feed w : f32 [1000, 8]\nfeed i : i64 [2]\ny = lookup_table_v2(w, i) : f32 [2, 8]\n").bytes, 2.0 * 2 * 8 * 4 + 2 * 8);
  EXPECT_EQ(CostOf("feed x : f32 [1000, 8]\ny = slice(x) axes=[0] starts=[0] ends=[2] : f32 [2, 8]\n").bytes, 2.0 * 2 * 8 * 4);
}

TEST(Cost, LossScalingCountsItsGradients) {
  const Cost cost = CostOf(
      "feed a : f16 [3]\nfeed b : f16 [5]\nstate s : f32 [1]\n"
      "check_finite_and_unscale(X=[a, b], Scale=s) -> Out=[c, d], FoundInfinite=f : f16 [3], f16 [5], bool [1]\n");
  EXPECT_EQ(cost.flops, 8.0);
}

TEST(Cost, SortsCountTheirComparisons) {
  const Cost cost = CostOf("feed x : f32 [4, 8]\nargsort(x) -> Out=y, Indices=i axis=-1 : f32 [4, 8], i64 [4, 8]\n");
  EXPECT_EQ(cost.flops, 32.0 * 3);
  EXPECT_EQ(cost.bytes, 32.0 * (4 + 4 + 8));
}

AmpClass ClassOf(absl::string_view text) {
  const Program program = testing::BareProgram(text);
  const Op& op = *program.main().ops().back();
  return AmpClassOf(op);
}

TEST(AmpClass, ScaleIsDeniedForConstantsThatF16Lacks) {
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = scale(x) scale=0.125 bias=1.0 : f32 [4]\n"), AmpClass::kInfer);
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = scale(x) scale=-10000.0 : f32 [4]\n"), AmpClass::kInfer);
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = scale(x) scale=-1e9 : f32 [4]\n"), AmpClass::kDeny);
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = scale(x) bias=1e-08 : f32 [4]\n"), AmpClass::kDeny);
}

TEST(AmpClass, ClipIsDeniedForBoundsThatRoundToZero) {
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = clip(x) min=0.0 max=6.0 : f32 [4]\n"), AmpClass::kClear);
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = clip(x) min=-1e30 max=1e30 : f32 [4]\n"), AmpClass::kClear);
  EXPECT_EQ(ClassOf("feed x : f32 [4]\ny = clip(x) min=1e-12 max=1.0 : f32 [4]\n"), AmpClass::kDeny);
}

ops::Windows WindowsOf(absl::string_view attrs, std::vector<int64_t> in, std::vector<int64_t> kernel) {
  const Program program = testing::BareProgram(
      absl::StrCat("feed x : f32 [1, 1, ?, ?]\nparam w : f32 [1, 1, ?, ?]\ny = conv2d(x, w) ", attrs, " : f32 [1, 1, ?, ?]\n"));
  absl::StatusOr<ops::Windows> windows = ops::ReadWindows(*program.main().ops().back(), in, kernel);
  EXPECT_TRUE(windows.ok()) << windows.status();
  return windows.ok() ? *windows : ops::Windows();
}

TEST(Windows, ExplicitPaddingIsPerDimensionOrPerSide) {
  ops::Windows w = WindowsOf("paddings=[1, 2] strides=[2, 3] dilations=[1, 2]", {10, 10}, {3, 4});
  EXPECT_EQ(w[0].before, 1);
  EXPECT_EQ(w[0].after, 1);
  EXPECT_EQ(w[1].after, 2);
  EXPECT_EQ(w[1].stride, 3);
  EXPECT_EQ(w[1].dilation, 2);
  EXPECT_EQ(w[1].kernel, 4);
  w = WindowsOf("paddings=[0, 1, 2, 3]", {10, 10}, {3, 3});
  EXPECT_EQ(w[0].after, 1);
  EXPECT_EQ(w[1].before, 2);
  EXPECT_EQ(w[1].after, 3);
}

TEST(Windows, SamePutsTheOddElementAfterAndDropsDilation) {
  const ops::Windows w = WindowsOf("padding_algorithm=\"SAME\" strides=[2, 2] dilations=[3, 3] paddings=[7, 7]", {10, 11}, {3, 3});
  EXPECT_EQ(w[0].before, 0);
  EXPECT_EQ(w[0].after, 1);
  EXPECT_EQ(w[1].before, 1);
  EXPECT_EQ(w[1].after, 1);
  EXPECT_EQ(w[0].dilation, 1);
  EXPECT_EQ(ops::WindowOutput(w[0], 10), 5);
  EXPECT_EQ(ops::WindowOutput(w[1], 11), 6);
}

TEST(Windows, ValidIgnoresPaddings) {
  const ops::Windows w = WindowsOf("padding_algorithm=\"VALID\" paddings=[7, 7]", {10, 10}, {3, 3});
  EXPECT_EQ(w[0].before, 0);
  EXPECT_EQ(ops::WindowOutput(w[0], 10), 8);
}

TEST(Windows, OutputRoundsDownOrUp) {
  const ops::Window w = {.kernel = 2, .stride = 2};
  EXPECT_EQ(ops::WindowOutput(w, 7), 3);
  EXPECT_EQ(ops::WindowOutput(w, 7, true), 4);
  EXPECT_EQ(ops::WindowOutput(w, 8, true), 4);
  EXPECT_EQ(ops::WindowOutput(w, 1), 0);
  EXPECT_EQ(ops::WindowOutput(w, kUnknownDim), kUnknownDim);
}

}  // namespace
}  // namespace ampc
