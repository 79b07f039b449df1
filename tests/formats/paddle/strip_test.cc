// A converted model says how to take the conversion back: reading it, stripping it and writing it gives the original bytes.
#include "absl/strings/match.h"
#include "graph/formats/format.h"
#include "graph/formats/marks.h"
#include "graph/formats/paddle/undo.h"
#include "graph/verify.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"
#include "runtime/convert/options.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::TempFolder;

TEST(Undo, MarksOfAnOp) {
  OpMarks marks;
  EXPECT_EQ(EncodeMarks(marks), "");
  marks.amp = AmpMark::kInserted;
  marks.guard = 3;
  marks.was = {{"out_dtype", DType::kF32}, {"x=y", DType::kInvalid}};
  EXPECT_EQ(EncodeMarks(marks), "inserted;guard=3;was.out_dtype=f32;was.x=y=-");
  EXPECT_EQ(DecodeMarks(EncodeMarks(marks)), marks);
  OpMarks kept;
  kept.amp = AmpMark::kFp32;
  kept.amp_reason = "protect.shape; guard=2";
  EXPECT_EQ(EncodeMarks(kept), "fp32=protect.shape; guard=2");
  EXPECT_EQ(DecodeMarks(EncodeMarks(kept)), kept);
  EXPECT_EQ(DecodeMarks("what;guard=x;was."), OpMarks());
  EXPECT_EQ(DecodeMarks("guard=99999999999"), OpMarks());  // beyond the numbers there are
}

TEST(Undo, Variables) {
  EXPECT_EQ(paddle::EncodeVarUndo({}), "");
  EXPECT_EQ(paddle::EncodeVarUndo({{DType::kInvalid}, "", false}), "");
  EXPECT_EQ(paddle::EncodeVarUndo({{DType::kF32, DType::kF32}, "", false}), "was=f32");
  const paddle::VarUndo undo = {{DType::kF32, DType::kInvalid, DType::kF64}, "a;was=f16", true};
  const std::string text = paddle::EncodeVarUndo(undo);
  EXPECT_EQ(text, "was=f32,-,f64;frozen;as=a;was=f16");
  EXPECT_TRUE(paddle::DecodeVarUndo(text).frozen);
  EXPECT_EQ(paddle::DecodeVarUndo(text).was, undo.was);
  EXPECT_EQ(paddle::DecodeVarUndo(text).as, undo.as);
}

struct Conversion {
  const char* program;
  const char* level;
};

class Convert : public ::testing::TestWithParam<Conversion> {};

TEST_P(Convert, AndBack) {
  const TempFolder folder;
  const SaveOptions only = {.program_only = true};
  const std::string original = std::string("tests/golden/paddle/") + GetParam().program + ".pdmodel";
  absl::StatusOr<Program> program = LoadModel(original, {.program_only = true});
  ASSERT_OK(program);
  PassContext ctx;
  ctx.support = *TargetSupport("cuda");
  ConvertOptions options;
  options.level = GetParam().level;
  ASSERT_OK(RunPipeline(ConvertPipeline(options), {}, ctx, *program));
  ASSERT_OK(SaveModel(*program, folder / "low.pdmodel", only));
  EXPECT_TRUE(absl::StrContains(ReadFile(folder / "low.pdmodel"), "ampc_undo"));

  absl::StatusOr<Program> low = LoadModel(folder / "low.pdmodel", {.program_only = true});
  ASSERT_OK(low);
  ASSERT_OK(Verify(*low));
  std::string why;
  EXPECT_TRUE(SameProgram(*program, *low, &why)) << why;
  ASSERT_OK(SaveModel(*low, folder / "same.pdmodel", only));
  EXPECT_EQ(ReadFile(folder / "same.pdmodel"), ReadFile(folder / "low.pdmodel"));

  ASSERT_OK(RunPipeline(StripPipeline(), {}, ctx, *low));
  ASSERT_OK(SaveModel(*low, folder / "stripped.pdmodel", only));
  EXPECT_EQ(ReadFile(folder / "stripped.pdmodel"), ReadFile(original));
}

INSTANTIATE_TEST_SUITE_P(Golden, Convert,
                         ::testing::Values(Conversion{"while_2.6", "O1"}, Conversion{"while_2.6", "O2"}, Conversion{"cond_2.4", "O1"},
                                           Conversion{"cond_2.4", "O2"}, Conversion{"inplace_2.0", "O1"}, Conversion{"inplace_2.0", "O2"},
                                           Conversion{"fp64_2.6", "O2"}));

}  // namespace
}  // namespace ampc
