// PIR programs that are damaged, newer, or say what nobody knows: one sentence each.
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "passes/analysis/target_support.h"
#include "runtime/convert/options.h"
#include "runtime/session.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kType = R"({"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,4],"NCHW",[],0]})";

// y = relu(x), keys sorted as Paddle writes them.
std::string Smallest() {
  return absl::StrReplaceAll(
      R"({"base_code":{"magic":"pir","version":4},"program":{"regions":[{"#":"region_0","blocks":[{"#":"block_0","args":[],"ops":[)"
      R"({"#":"1.data","A":[{"AT":{"#":"0.a_str","D":"x"},"N":"name"},{"AT":{"#":"1.a_intarray","D":[-1,4]},"N":"shape"},{"AT":{"#":"1.a_dtype","D":"float32"},"N":"dtype"},)"
      R"({"AT":{"#":"1.a_place","D":[0,0,""]},"N":"place"}],"I":[],"O":[{"%":1,"TT":TYPE}]},)"
      R"({"#":"1.relu","A":[],"I":[{"%":1}],"O":[{"%":2,"TT":TYPE}]},)"
      R"({"#":"1.fetch","A":[{"AT":{"#":"0.a_str","D":"y"},"N":"name"},{"AT":{"#":"0.a_i32","D":0},"N":"col"}],"I":[{"%":2}],"O":[{"%":3,"TT":TYPE}]}]}]}]}})",
      {{"TYPE", kType}});
}

absl::StatusOr<Program> Load(const TempFolder& folder, const std::string& text) {
  WriteFile(folder / "x.json", text);
  return LoadModel(folder / "x.json");
}

std::string With(const std::string& from, const std::string& to) {
  const std::string text = absl::StrReplaceAll(Smallest(), {{from, to}});
  EXPECT_NE(text, Smallest()) << from;
  return text;
}

TEST(BadPir, TheSmallestProgramIsGood) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(const Program program, Load(folder, Smallest()));
  EXPECT_OK(Verify(program));
  ASSERT_EQ(program.main().ops().size(), 1u);
  EXPECT_EQ(program.main().ops()[0]->type(), "relu");
  EXPECT_EQ(program.feeds[0]->name(), "x");
  EXPECT_EQ(program.fetches[0]->name(), "y");
  ASSERT_OK(SaveModel(program, folder / "again.json", {.no_sync = true}));
  EXPECT_EQ(ReadFile(folder / "again.json"), Smallest());
}

TEST(BadPir, Heads) {
  const TempFolder folder;
  EXPECT_THAT(Load(folder, "{}"), StatusIs(ExitCode::kBadInput, HasSubstr("not a program of Paddle 3")));
  EXPECT_THAT(Load(folder, With("\"pir\"", "\"pip\"")), StatusIs(ExitCode::kBadInput, HasSubstr("not a program of Paddle 3")));
  EXPECT_THAT(Load(folder, With(",\"version\":4", "")), StatusIs(ExitCode::kBadInput, HasSubstr("version")));
  EXPECT_THAT(Load(folder, With("\"version\":4", "\"version\":0")), StatusIs(ExitCode::kBadInput, HasSubstr("version")));
  EXPECT_THAT(Load(folder, With("\"version\":4", "\"version\":5")),
              StatusIs(ExitCode::kUnsupported, HasSubstr("PIR version 5, known are 1 to 4")));
  EXPECT_THAT(Load(folder, Smallest() + " x"), StatusIs(ExitCode::kBadInput, HasSubstr("needs the end")));
  EXPECT_THAT(Load(folder, std::string(100000, '[')), StatusIs(ExitCode::kBadInput, HasSubstr("nested deeper")));
}

TEST(BadPir, Values) {
  const TempFolder folder;
  EXPECT_THAT(Load(folder, With(R"("I":[{"%":1}])", R"("I":[{"%":7}])")),
              StatusIs(ExitCode::kBadInput, HasSubstr("value 7 is read, and nothing in front defines it")));
  EXPECT_THAT(Load(folder, With(R"("O":[{"%":2)", R"("O":[{"%":1)")),
              StatusIs(ExitCode::kBadInput, HasSubstr("two results have the number 1")));
  EXPECT_THAT(Load(folder, With(R"("I":[{"%":1}])", R"("I":[{"%":"1"}])")),
              StatusIs(ExitCode::kBadInput, HasSubstr("an operand without a number")));
  EXPECT_THAT(Load(folder, With("[-1,4],\"NCHW\"", "[-2,4],\"NCHW\"")),
              StatusIs(ExitCode::kBadInput, HasSubstr("needs dims of 0 and more, or -1")));
  EXPECT_THAT(Load(folder, With("\"NCHW\",[],0]", "\"NCHW\"]")),
              StatusIs(ExitCode::kBadInput, HasSubstr("needs element type, dims, layout, LoD and offset")));
  EXPECT_THAT(Load(folder, With(R"(,"N":"col")", R"(,"N":"row")")),
              StatusIs(ExitCode::kBadInput, HasSubstr("a fetch without name and col")));
}

TEST(BadPir, TypesThatDoNotFit) {
  const TempFolder folder;
  const std::string result = absl::StrCat(R"("O":[{"%":2,"TT":)", kType);
  const std::string other = absl::StrReplaceAll(result, {{"0.t_f32", "0.t_f16"}});
  ASSERT_OK_AND_ASSIGN(const Program program, Load(folder, With(result, other)));
  EXPECT_THAT(Verify(program),
              StatusIs(ExitCode::kBadInput, AllOf(HasSubstr("'relu'"), HasSubstr("f16"), HasSubstr("inference says f32"))));
}

// Kept in fp32, written back, and not executed.
TEST(BadPir, AnOpThatNobodyKnows) {
  const TempFolder folder;
  for (const char* name : {"1.relu_of_tomorrow", "3.my_relu"}) {
    const std::string text = With("1.relu", name);
    ASSERT_OK_AND_ASSIGN(Program program, Load(folder, text));
    ASSERT_OK(Verify(program));
    EXPECT_TRUE(program.main().ops()[0]->def().opaque);
    PassContext ctx;
    ASSERT_OK_AND_ASSIGN(ctx.support, TargetSupport("cuda"));
    ASSERT_OK(RunPipeline(ConvertPipeline(ConvertOptions()), {}, ctx, program));
    EXPECT_EQ(program.fetches[0]->type.dtype, DType::kF32);
    ASSERT_OK(SaveModel(program, folder / "low.json", {.no_sync = true}));
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(program), {}));
    EXPECT_THAT(session.Run({{"x", HostTensor::Of<float>({1, 4}, {1, 2, 3, 4})}}),
                StatusIs(ExitCode::kUnsupported, HasSubstr("no record")));
  }
}

TEST(BadPir, Weights) {
  const TempFolder folder;
  const std::string model = "tests/golden/paddle3/lenet/inference";
  const std::string weights = ReadFile(model + ".pdiparams");
  WriteFile(folder / "m.json", ReadFile(model + ".json"));
  EXPECT_THAT(LoadModel(folder / "m.json"), StatusIs(ExitCode::kBadInput, HasSubstr("--program-only")));
  WriteFile(folder / "m.pdiparams", weights.substr(0, weights.size() - 1));
  EXPECT_THAT(LoadModel(folder / "m.json"), StatusIs(ExitCode::kBadInput, HasSubstr("m.pdiparams")));
  WriteFile(folder / "m.pdiparams", weights + "x");
  EXPECT_THAT(LoadModel(folder / "m.json"), StatusIs(ExitCode::kBadInput, HasSubstr("1 bytes follow the last")));
  WriteFile(folder / "m.json", absl::StrReplaceAll(ReadFile(model + ".json"), {{"[400,32]", "[400,33]"}}));
  WriteFile(folder / "m.pdiparams", weights);
  EXPECT_THAT(LoadModel(folder / "m.json"), StatusIs(ExitCode::kBadInput, HasSubstr("do not belong together")));
}

TEST(BadPir, RandomDamage) {
  const TempFolder folder;
  for (const char* model : {"while_loop", "if_else", "lstm"}) {
    const std::string whole = ReadFile(absl::StrCat("tests/golden/paddle3/", model, "/inference.json"));
    ASSERT_FALSE(whole.empty());
    std::mt19937 random(7);
    constexpr absl::string_view kBytes = "0123456789-,:[]{}\"ab.";
    for (int round = 0; round < 600; ++round) {
      std::string damaged = whole;
      for (int i = 0; i < 2; ++i) damaged[random() % damaged.size()] = kBytes[random() % kBytes.size()];
      WriteFile(folder / "m.json", damaged);
      const absl::StatusOr<Program> program = LoadModel(folder / "m.json", {.program_only = true});
      const absl::Status status = program.ok() ? Verify(*program) : program.status();
      const ExitCode code = status.ok() ? ExitCode::kOk : ExitCodeOf(status);
      EXPECT_TRUE(code == ExitCode::kOk || code == ExitCode::kBadInput || code == ExitCode::kUnsupported) << status;
      EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
    }
  }
}

}  // namespace
}  // namespace ampc
