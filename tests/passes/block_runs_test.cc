// How often blocks run, and what becomes of predicted times by it.
#include "passes/analysis/block_runs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "passes/analysis/time_model.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

using ::testing::ElementsAre;

constexpr char kBody[] =
    "\nblock body parent=main {\n  onnx.enter() -> inputs=[i, c, v] : i64 [], bool [], f32 [4, 4]\n  t = onnx.MatMul.13(v, w) : f32 [4, "
    "4]\n"
    "  onnx.yield(c, t)\n}\n";

Program Loop(const std::string& most) {
  return testing::BareProgram(absl::StrCat(most,
                                           "\nfeed x : f32 [4, 4]\nfeed w : f32 [4, 4]\nh = onnx.MatMul.13(x, w) : f32 [4, 4]\n"
                                           "y = onnx.Loop.16(M=n, v_initial=[h], captures=[w]) body=&body : f32 [4, 4]\nfetch y\n",
                                           kBody));
}

TEST(BlockRuns, OfALoopAreItsTrips) {
  EXPECT_THAT(BlockRuns(Loop("const n : i64 [] = [25]")), ElementsAre(1, 25));
  EXPECT_THAT(BlockRuns(Loop("const n : i64 [] = [0]")), ElementsAre(1, 0));
  // As long as its condition holds, and as many times as somebody says.
  EXPECT_THAT(BlockRuns(Loop("const n : i64 [] = [9223372036854775807]")), ElementsAre(1, kUnknownTrips));
  EXPECT_THAT(BlockRuns(Loop("const n : i64 [] = [-1]")), ElementsAre(1, kUnknownTrips));
  EXPECT_THAT(BlockRuns(Loop("feed n : i64 []")), ElementsAre(1, kUnknownTrips));
}

TEST(BlockRuns, OfAScanAreItsRows) {
  for (const auto& [rows, runs] : {std::pair{"6", 6.0}, {"?", kUnknownTrips}}) {
    const Program program =
        testing::BareProgram(absl::StrCat("feed s : f32 [4]\nfeed x : f32 [", rows,
                                          ", 4]\nfeed w : f32 [4]\nonnx.Scan.11(initial_state_and_scan_inputs=[s, x], captures=[w]) -> "
                                          "final_state_and_scan_outputs=[a, b] body=&body num_scan_inputs=1 : f32 [4], f32 [",
                                          rows,
                                          ", 4]\nfetch b\n\n"
                                          "block body parent=main {\n  onnx.enter() -> inputs=[p, q] : f32 [4], f32 [4]\n  t = "
                                          "onnx.Mul.14(p, w) : f32 [4]\n  u = onnx.Add.14(t, q) "
                                          ": f32 [4]\n  onnx.yield(t, u)\n}\n"));
    EXPECT_THAT(BlockRuns(program), ElementsAre(1, runs)) << rows;
  }
}

// A loop around a condition whose block runs every other time.
TEST(BlockRuns, OfBlocksWithinBlocksMultiply) {
  const Program program = testing::BareProgram(R"(
feed x : f32 [8, 8]
feed go : bool [1]
param w : f32 [8, 8]
carry on : bool [1]
carry r : f32 [8, 8]
on <- assign(go)
r, on <- while(X=[x, go], Condition=on) sub_block=&outer
fetch r

block outer parent=main {
  r <- conditional_block(Cond=[go], Input=[x]) is_scalar_condition=true sub_block=&inner
  on <- logical_not(on)
}

block inner parent=outer {
  a = matmul_v2(x, w) : f32 [8, 8]
  r <- relu(a)
}
)");
  EXPECT_THAT(BlockRuns(program), ElementsAre(1, kUnknownTrips, kUnknownTrips / 2));
}

// The ops of a body, and casts in it, are paid once a trip; a measured time is of all trips together.
TEST(BlockRuns, MultiplyPredictedTimes) {
  const Program program = Loop("const n : i64 [] = [25]");
  const DeviceNumbers& device = *FindDeviceNumbers("cuda:8.0");
  const TimeModel model(program, nullptr, device, DType::kF16);
  const Op &outside = *program.main().ops()[0], &inside = *program.block(1).ops()[1];
  EXPECT_GT(model.OpSeconds(outside, false), 0);
  EXPECT_DOUBLE_EQ(model.OpSeconds(inside, false), 25 * model.OpSeconds(outside, false));
  EXPECT_DOUBLE_EQ(model.OpSeconds(inside, true), 25 * model.OpSeconds(outside, true));
  const Var& value = *outside.outputs()[0];
  EXPECT_DOUBLE_EQ(model.CastSeconds(value, 1), 25 * model.CastSeconds(value, 0));
  ProgramSizes sizes = SizesOf(program, program);
  sizes.measured.resize(program.num_op_ids());
  sizes.measured[inside.id()].fp32 = 3;
  EXPECT_EQ(TimeModel(program, &sizes, device, DType::kF16).OpSeconds(inside, false), 3);
}

}  // namespace
}  // namespace ampc
