// Facts that passes rely on, held to what they mean: over all pairs of types, over every kind of subgraph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/status_macros.h"
#include "passes/analysis/dataflow.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using Real = long double;  // holds every value below

struct Kind {
  DType dtype;
  int bits;             // of the significand, or of the number
  int smallest, large;  // exponents of the smallest and the largest power of two; of an integer type 0 and that of its largest number
  bool is_float, has_sign;
};
constexpr Kind kKinds[] = {
    {DType::kBool, 1, 0, 0, false, false},     {DType::kU8, 8, 0, 7, false, false},      {DType::kI8, 7, 0, 6, false, true},
    {DType::kU4, 4, 0, 3, false, false},       {DType::kI4, 3, 0, 2, false, true},       {DType::kU2, 2, 0, 1, false, false},
    {DType::kI2, 1, 0, 0, false, true},        {DType::kU16, 16, 0, 15, false, false},   {DType::kU32, 32, 0, 31, false, false},
    {DType::kI16, 15, 0, 14, false, true},     {DType::kI32, 31, 0, 30, false, true},    {DType::kI64, 63, 0, 62, false, true},
    {DType::kF16, 11, -24, 15, true, true},    {DType::kBF16, 8, -133, 127, true, true}, {DType::kF32, 24, -149, 127, true, true},
    {DType::kF64, 53, -1074, 1023, true, true}};

// Those that another type lacks first: the ends of the range, the smallest one, and a significand of ones.
std::vector<Real> Extremes(const Kind& k) {
  const Real ones = std::ldexp(Real{2}, k.bits - 1) - 1;
  std::vector<Real> out = {0, 1};
  out.push_back(k.is_float ? std::ldexp(ones, k.large - k.bits + 1) : ones);
  if (k.is_float) out.push_back(std::ldexp(Real{1}, k.smallest));
  if (k.has_sign) out.push_back(k.is_float ? -out[2] : -ones - 1);
  return out;
}

bool Has(const Kind& k, Real v) {
  if (v < 0 && !k.has_sign) return false;
  if (!k.is_float) return v == std::floor(v) && v <= std::ldexp(Real{2}, k.bits - 1) - 1 && v >= -std::ldexp(Real{2}, k.bits - 1);
  if (v == 0) return true;
  int exponent = 0;
  const Real significand = std::ldexp(std::frexp(std::fabs(v), &exponent), k.bits);
  const int last = std::max(exponent - k.bits, k.smallest);
  return exponent - 1 <= k.large && significand == std::floor(significand) && std::ldexp(v, -last) == std::floor(std::ldexp(v, -last));
}

absl::Status FoldCasts(Program& program) {
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  return RunPipeline(Pipeline().Add("fold-casts"), {}, ctx, program);
}

// b = cast(cast(x)) is x where the type between has every value of x's, and is not where it lacks one.
TEST(FoldCasts, DropsExactlyTheCastsThatLoseNothing) {
  for (const Kind& from : kKinds) {
    for (const Kind& to : kKinds) {
      if (from.dtype == to.dtype || from.dtype == DType::kBool || to.dtype == DType::kBool) continue;
      const std::string a(Name(from.dtype)), b(Name(to.dtype));
      ASSERT_OK_AND_ASSIGN(Program program,
                           testing::ParseBare(absl::StrCat("feed x : ", a, " [4]\nt = cast(x) in_dtype=", a, " out_dtype=", b, " : ", b,
                                                           " [4]\ny = cast(t) in_dtype=", b, " out_dtype=", a, " : ", a,
                                                           " [4]\nz = scale(y) scale=2.0 : ", a, " [4]\nfetch z\n")));
      ASSERT_OK(FoldCasts(program));
      bool exact = true;
      for (const Real v : Extremes(from)) exact = exact && Has(to, v);
      EXPECT_EQ(program.main().ops().size() == 1, exact) << a << " through " << b;
    }
  }
}

// An operand that would fit in several places. Up to operator set 6 it lies from dimension `axis` of the first one on, where `broadcast` is
// set; from 7 on at its end.
TEST(UpgradeOnnxOpset, ABroadcastStaysWhereItWas) {
  const std::vector<Dims> operands = {{3, 3, 3}, {3, 3}, {3}, {3, 1}, {1, 3}, {1}, {1, 1}};
  for (const Dims& y : operands) {
    for (int axis = 0; axis + static_cast<int>(y.size()) <= 3; ++axis) {
      Dims place(3, 1), end(3, 1);
      std::copy(y.begin(), y.end(), place.begin() + axis);
      std::copy(y.begin(), y.end(), end.end() - static_cast<int>(y.size()));
      for (const char* type : {"Add", "Sub", "Mul", "Div", "Pow"}) {
        const std::string text = absl::StrCat("feed x : f32 [3, 3, 3]\nfeed y : f32 [", absl::StrJoin(y, ", "), "]\nz = onnx.", type,
                                              type == std::string("Pow") ? ".1" : ".6", "(x, y) broadcast=1l axis=", axis,
                                              "l : f32 [3, 3, 3]\nw = onnx.Abs.6(z) : f32 [3, 3, 3]\nfetch w\n");
        ASSERT_OK_AND_ASSIGN(Program program, testing::ParseBare(text));
        PassContext ctx;
        ASSERT_OK_AND_ASSIGN(ctx.support, TargetSupport("cuda"));
        const absl::Status raised =
            RunPipeline(Pipeline().Add("infer-types").Add("upgrade-onnx-opset", {{"dtype", "bf16"}}), {}, ctx, program);
        EXPECT_EQ(raised.ok(), place == end) << text << raised;
      }
    }
  }
}

std::vector<std::string> Links(const std::string& text) {
  const absl::StatusOr<Program> program = testing::ParseBare(text);
  EXPECT_OK(program);
  std::vector<std::string> out;
  if (!program.ok()) return out;
  for (const BlockLink& link : BlockLinks(*program)) out.push_back(absl::StrCat(link.from->name(), " ", link.to->name()));
  return out;
}

TEST(BlockLinks, OfALoopWithTwoStatesAndAScannedOutput) {
  EXPECT_THAT(Links(R"(
feed start : f32 [2]
feed one : f32 [2]
const n : i64 [] = 3
const go : bool [] = true
onnx.Loop.16(M=n, cond=go, v_initial=[start, one]) -> v_final_and_scan_outputs=[a, b, all] body=&body : f32 [2], f32 [2], f32 [?, 2]
fetch all
block body parent=main {
  onnx.enter() -> inputs=[i, c, p, q]
  r = elementwise_add(p, q)
  onnx.yield(outputs=[c, q, r, r])
}
)"),
              ::testing::UnorderedElementsAre("q a", "r b", "r all", "start p", "one q", "q p", "r q", "start a", "one b"));
}

TEST(BlockLinks, OfAScanWhoseElementsAreNoState) {
  EXPECT_THAT(Links(R"(
feed x : f32 [3, 2]
feed zero : f32 [2]
onnx.Scan.16(initial_state_and_scan_inputs=[zero, x]) -> final_state_and_scan_outputs=[last, sums] num_scan_inputs=1 body=&body : f32 [2], f32 [?, ?]
fetch sums
block body parent=main {
  onnx.enter() -> inputs=[sum, row]
  s = elementwise_add(sum, row)
  onnx.yield(outputs=[s, s])
}
)"),
              ::testing::UnorderedElementsAre("s last", "s sums", "zero sum", "x row", "s sum", "zero last"));
}

TEST(BlockLinks, OfAnIf) {
  EXPECT_THAT(Links(R"(
feed x : f32 [2]
feed flag : bool []
y = onnx.If.16(cond=flag, captures=[x]) then_branch=&yes else_branch=&no : f32 [2]
fetch y
block yes parent=main {
  a = scale(x) bias=1.0 : f32 [2]
  onnx.yield(outputs=[a])
}
block no parent=main {
  onnx.yield(outputs=[x])
}
)"),
              ::testing::UnorderedElementsAre("a y", "x y"));
}

}  // namespace
}  // namespace ampc
