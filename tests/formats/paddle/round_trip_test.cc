// A model that was read and not changed is written byte for byte as it was.
#include <filesystem>

#include "graph/formats/format.h"
#include "graph/verify.h"
#include "tests/formats/paddle/vector.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, ProgramComesBackByteForByte) {
  const TempFolder folder;
  const std::string path = std::string("tests/golden/paddle/") + GetParam() + ".pdmodel";
  absl::StatusOr<Program> program = LoadModel(path, {.program_only = true});
  ASSERT_OK(program);
  EXPECT_OK(Verify(*program));
  EXPECT_GT(program->main().ops().size(), 3u);
  ASSERT_OK(SaveModel(*program, folder / "out.pdmodel", {.program_only = true}));
  EXPECT_EQ(ReadFile(folder / "out.pdmodel"), ReadFile(path));
  // A copy shares the origin.
  ASSERT_OK(SaveModel(program->Clone(), folder / "copy.pdmodel", {.program_only = true}));
  EXPECT_EQ(ReadFile(folder / "copy.pdmodel"), ReadFile(path));
}

INSTANTIATE_TEST_SUITE_P(Paddle, Golden,
                         ::testing::Values("while_2.6", "cond_2.4", "inplace_2.0", "amp_o1_2.0", "train_o1_2.0", "startup_2.0", "fp64_2.6"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(TestVector, ReadsAsItSays) {
  const TempFolder folder;
  WriteFile(folder / "m.pdmodel", testing::VectorProgram());
  WriteFile(folder / "m.pdiparams", testing::VectorParams());
  absl::StatusOr<Program> program = LoadModel(folder / "m.pdmodel");
  ASSERT_OK(program);
  ASSERT_OK(Verify(*program));
  ASSERT_EQ(program->feeds.size(), 1u);
  EXPECT_EQ(program->feeds[0]->name(), "x");
  EXPECT_EQ(ToString(program->feeds[0]->type), "f32 [?, 2]");
  ASSERT_EQ(program->fetches.size(), 1u);
  EXPECT_EQ(ToString(program->fetches[0]->type), "f16 [?, 2]");
  const auto& ops = program->main().ops();
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0]->type(), "cast");
  EXPECT_EQ(ops[0]->GetDType("out_dtype"), DType::kF16);
  EXPECT_EQ(ops[1]->type(), "matmul_v2");
  const Var* w = program->main().FindVar("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->kind, VarKind::kParam);
  ASSERT_NE(w->weight, nullptr);
  absl::StatusOr<HostTensor> value = LoadWeight(*w->weight, w->type.dims);
  ASSERT_OK(value);
  EXPECT_EQ(static_cast<float>(value->values<Half>()[3]), 65504.0f);
}

TEST(TestVector, BothFilesComeBackByteForByte) {
  const TempFolder folder;
  WriteFile(folder / "m.pdmodel", testing::VectorProgram());
  WriteFile(folder / "m.pdiparams", testing::VectorParams());
  absl::StatusOr<Program> program = LoadModel(folder / "m.pdmodel");
  ASSERT_OK(program);
  ASSERT_OK(SaveModel(*program, folder / "out.pdmodel"));
  EXPECT_EQ(ReadFile(folder / "out.pdmodel"), testing::VectorProgram());
  EXPECT_EQ(ReadFile(folder / "out.pdiparams"), testing::VectorParams());
  // Onto the files that the weights come from.
  ASSERT_OK(SaveModel(*program, folder / "m.pdmodel"));
  EXPECT_EQ(ReadFile(folder / "m.pdiparams"), testing::VectorParams());
}

TEST(Layout, SeparateFilesStaySeparate) {
  const TempFolder folder;
  WriteFile(folder / "in/__model__", testing::VectorProgram());
  WriteFile(folder / "in/w", testing::VectorParams());
  absl::StatusOr<Program> program = LoadModel(folder / "in");
  ASSERT_OK(program);
  ASSERT_OK(SaveModel(*program, folder / "out/"));
  EXPECT_EQ(ReadFile(folder / "out/__model__"), testing::VectorProgram());
  EXPECT_EQ(ReadFile(folder / "out/w"), testing::VectorParams());
  // A file name asks for one file of parameters.
  ASSERT_OK(SaveModel(*program, folder / "one.pdmodel"));
  EXPECT_EQ(ReadFile(folder / "one.pdiparams"), testing::VectorParams());
}

TEST(Layout, FolderWithOneParameterFile) {
  const TempFolder folder;
  WriteFile(folder / "in/__model__", testing::VectorProgram());
  WriteFile(folder / "in/__params__", testing::VectorParams());
  EXPECT_OK(LoadModel(folder / "in"));
  EXPECT_OK(LoadModel(folder / "in/__model__"));
  std::filesystem::rename(folder / "in/__params__", folder / "elsewhere");
  EXPECT_THAT(LoadModel(folder / "in"), StatusIs(ExitCode::kBadInput, ::testing::HasSubstr("parameter 'w'")));
  EXPECT_OK(LoadModel(folder / "in", {.params = folder / "elsewhere"}));
}

TEST(Layout, FolderOfAnInferenceModel) {
  const TempFolder folder;
  WriteFile(folder / "in/inference.pdmodel", testing::VectorProgram());
  WriteFile(folder / "in/inference.pdiparams", testing::VectorParams());
  absl::StatusOr<Program> program = LoadModel(folder / "in");
  ASSERT_OK(program);
  ASSERT_OK(SaveModel(*program, folder / "out/"));
  EXPECT_EQ(ReadFile(folder / "out/inference.pdmodel"), testing::VectorProgram());
  EXPECT_EQ(ReadFile(folder / "out/inference.pdiparams"), testing::VectorParams());
}

}  // namespace
}  // namespace ampc
