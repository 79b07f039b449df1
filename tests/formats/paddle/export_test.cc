// Programs that did not come from a Paddle file, or were changed since.
#include "absl/strings/match.h"
#include "graph/formats/format.h"
#include "graph/op_registry.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "proto/paddle_framework.pb.h"
#include "tests/formats/paddle/desc.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::DescBuilder;
using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> OpTypes(const paddle::BlockDesc& block) {
  std::vector<std::string> types;
  for (const paddle::OpDesc& op : block.ops()) types.push_back(op.type());
  return types;
}

TEST(FromText, WritesAnInferenceModel) {
  const TempFolder folder;
  absl::StatusOr<Program> program = ParseProgram(R"(
program p version=1

block main {
  feed b : f32 [?, 2]
  feed a : f32 [?, 2]
  param w : f32 [2, 2] = [1.0, 2.0, 3.0, 4.0]
  const c : f32 [2] = [5.0, 6.0]
  h = elementwise_add(a, b) : f32 [?, 2]
  i = matmul_v2(h, w) : f32 [?, 2]
  y = elementwise_add(i, c) : f32 [?, 2]
  fetch y
}
)");
  ASSERT_OK(program);
  ASSERT_OK(Verify(*program));
  ASSERT_OK(SaveModel(*program, folder / "m.pdmodel"));
  paddle::ProgramDesc desc;
  ASSERT_TRUE(desc.ParseFromString(ReadFile(folder / "m.pdmodel")));
  EXPECT_THAT(OpTypes(desc.blocks(0)), ElementsAre("feed", "feed", "elementwise_add", "matmul_v2", "elementwise_add", "fetch"));
  // As Paddle does: the last feed comes first.
  EXPECT_EQ(desc.blocks(0).ops(0).outputs(0).arguments(0), "a");
  EXPECT_EQ(desc.blocks(0).ops(0).attrs(0).i(), 1);
  EXPECT_EQ(desc.version().version(), 2006000);
  std::vector<std::string> attrs;
  for (const paddle::OpDesc_Attr& attr : desc.blocks(0).ops(3).attrs()) attrs.push_back(attr.name());
  EXPECT_TRUE(std::is_sorted(attrs.begin(), attrs.end()));
  EXPECT_THAT(attrs, ::testing::IsSupersetOf({"trans_x", "trans_y", "op_role", "op_namescope"}));

  absl::StatusOr<Program> back = LoadModel(folder / "m.pdmodel");
  ASSERT_OK(back);
  ASSERT_OK(Verify(*back));
  EXPECT_EQ(back->feeds[0]->name(), "b");
  absl::StatusOr<HostTensor> c = LoadWeight(*back->main().FindVar("c")->weight, {2});
  ASSERT_OK(c);
  EXPECT_EQ(*c, HostTensor::Of<float>({2}, {5, 6}));
  absl::StatusOr<HostTensor> w = LoadWeight(*back->main().FindVar("w")->weight, {2, 2});
  ASSERT_OK(w);
  EXPECT_EQ(*w, HostTensor::Of<float>({2, 2}, {1, 2, 3, 4}));
}

TEST(FromText, AmpCastIsACast) {
  const TempFolder folder;
  absl::StatusOr<Program> program =
      ParseProgram("program p version=1\nblock main {\n  feed x : f32 [2]\n  y = amp_cast(x) dtype=f16 : f16 [2]\n  fetch y\n}\n");
  ASSERT_OK(program);
  ASSERT_OK(SaveModel(*program, folder / "m.pdmodel"));
  absl::StatusOr<Program> back = LoadModel(folder / "m.pdmodel");
  ASSERT_OK(back);
  ASSERT_OK(Verify(*back));
  EXPECT_EQ(back->main().ops()[0]->type(), "cast");
  EXPECT_EQ(back->main().ops()[0]->GetDType("in_dtype"), DType::kF32);
  EXPECT_EQ(back->main().ops()[0]->GetDType("out_dtype"), DType::kF16);
}

TEST(FromText, WhatPaddleDoesNotHave) {
  const TempFolder folder;
  absl::StatusOr<Program> program =
      ParseProgram("program p version=1\nblock main {\n  feed x : f32 [2]\n  onnx.Foo(X=[x]) -> Y=[y] !opaque : f32 [2]\n  fetch y\n}\n");
  ASSERT_OK(program);
  EXPECT_THAT(SaveModel(*program, folder / "m.pdmodel"),
              StatusIs(ExitCode::kUnsupported, HasSubstr("op 'Foo' has no form in a Paddle program")));
  EXPECT_EQ(ReadFile(folder / "m.pdmodel"), "");
}

TEST(FromText, AParameterWithoutValue) {
  const TempFolder folder;
  absl::StatusOr<Program> program =
      ParseProgram("program p version=1\nblock main {\n  param w : f32 [2]\n  y = relu(w) : f32 [2]\n  fetch y\n}\n");
  ASSERT_OK(program);
  EXPECT_THAT(SaveModel(*program, folder / "m.pdmodel"), StatusIs(ExitCode::kBadInput, HasSubstr("param 'w' has no value to write")));
  EXPECT_EQ(ReadFile(folder / "m.pdmodel"), "");
  EXPECT_OK(SaveModel(*program, folder / "m.pdmodel", {.program_only = true}));
}

class Changed : public ::testing::Test {
 protected:
  // x -> relu -> t (overwritten by the second relu) -> y
  void SetUp() override {
    DescBuilder b;
    for (const char* name : {"x", "t", "y"}) b.Var(0, name);
    b.Holder("feed", 9);
    b.Holder("fetch", 10);
    b.Feed("x", 0);
    b.Op(0, "relu", {{"X", {"x"}}}, {{"Out", {"t"}}});
    b.Op(0, "tanh", {{"X", {"t"}}}, {{"Out", {"t"}}});
    b.Op(0, "relu", {{"X", {"t"}}}, {{"Out", {"y"}}});
    b.Fetch("y", 0);
    original_ = b.Bytes();
    WriteFile(folder_ / "m.pdmodel", original_);
    absl::StatusOr<Program> program = LoadModel(folder_ / "m.pdmodel");
    ASSERT_OK(program);
    program_ = *std::move(program);
  }

  paddle::ProgramDesc Save() {
    EXPECT_OK(Verify(program_));
    EXPECT_OK(SaveModel(program_, folder_ / "out.pdmodel"));
    paddle::ProgramDesc desc;
    EXPECT_TRUE(desc.ParseFromString(ReadFile(folder_ / "out.pdmodel")));
    return desc;
  }

  // `x` cast to float16 in front of op `at`.
  Var* InsertCast(size_t at, Var* x) {
    Block& main = program_.main();
    Var* low = main.AddVar(main.UniqueName("low"), VarKind::kTemp, x->type.WithDType(DType::kF16));
    std::unique_ptr<Op> cast = main.NewOp(Ops().Find("cast"));
    cast->SetInputs(0, {x});
    cast->SetOutputs(0, {low});
    cast->SetAttr("in_dtype", DType::kF32);
    cast->SetAttr("out_dtype", DType::kF16);
    cast->marks.amp = AmpMark::kInserted;
    std::vector<std::unique_ptr<Op>> ops = main.TakeOps();
    ops.insert(ops.begin() + at, std::move(cast));
    main.SetOps(std::move(ops));
    return low;
  }

  TempFolder folder_;
  std::string original_;
  Program program_;
};

TEST_F(Changed, NewOpsStandBetweenFeedsAndFetches) {
  Var* y = program_.fetches[0];
  program_.fetches[0] = InsertCast(3, y);
  InsertCast(0, program_.feeds[0]);
  const paddle::ProgramDesc desc = Save();
  EXPECT_THAT(OpTypes(desc.blocks(0)), ElementsAre("feed", "cast", "relu", "tanh", "relu", "cast", "fetch"));
  EXPECT_EQ(desc.blocks(0).ops(6).inputs(0).arguments(0), "low");
}

// The first version of t is read after the second was written.
TEST_F(Changed, AStaleReadGetsANameOfItsOwn) {
  Var* first = program_.main().ops()[0]->output(0);
  program_.main().ops()[2]->ReplaceInput(0, first);
  const paddle::ProgramDesc desc = Save();
  const std::string name = desc.blocks(0).ops(1).outputs(0).arguments(0);
  EXPECT_NE(name, "t");
  EXPECT_EQ(desc.blocks(0).ops(2).inputs(0).arguments(0), name);
  EXPECT_EQ(desc.blocks(0).ops(3).inputs(0).arguments(0), name);
  EXPECT_EQ(desc.blocks(0).ops(2).outputs(0).arguments(0), "t");
  // The name in the original is remembered.
  absl::StatusOr<Program> back = LoadModel(folder_ / "out.pdmodel");
  ASSERT_OK(back);
  EXPECT_EQ(back->main().ops()[0]->output(0)->exported(), "t");
  EXPECT_EQ(back->main().ops()[1]->output(0)->exported(), "t");
  // With the read gone, so is the need for the name.
  back->main().ops()[2]->ReplaceInput(0, back->main().ops()[1]->output(0));
  ASSERT_OK(SaveModel(*back, folder_ / "again.pdmodel"));
  EXPECT_EQ(ReadFile(folder_ / "again.pdmodel"), original_);
}

TEST_F(Changed, VersionsOfTwoTypesGetTwoNames) {
  const std::vector<std::unique_ptr<Op>>& ops = program_.main().ops();
  Var* second = ops[1]->output(0);
  Var* low = InsertCast(1, ops[0]->output(0));
  program_.main().ops()[2]->ReplaceInput(0, low);
  for (Var* var : {second, program_.main().ops()[3]->output(0)}) {
    var->type.dtype = DType::kF16;
    var->was = DType::kF32;
  }
  const paddle::ProgramDesc desc = Save();
  const std::string name = desc.blocks(0).ops(3).outputs(0).arguments(0);
  EXPECT_NE(name, "t");
  absl::StatusOr<Program> back = LoadModel(folder_ / "out.pdmodel");
  ASSERT_OK(back);
  EXPECT_OK(Verify(*back));
  EXPECT_EQ(back->main().FindVar(name)->was, DType::kF32);
  EXPECT_EQ(back->main().FindVar(name)->exported(), "t");
  ASSERT_OK(SaveModel(*back, folder_ / "again.pdmodel"));
  EXPECT_EQ(ReadFile(folder_ / "again.pdmodel"), ReadFile(folder_ / "out.pdmodel"));
}

TEST_F(Changed, ANewVariableDodgesTheHolders) {
  Var* feed = program_.main().AddVar("feed", VarKind::kTemp, program_.feeds[0]->type);
  std::unique_ptr<Op> op = program_.main().NewOp(Ops().Find("relu"));
  op->SetInputs(0, {program_.feeds[0]});
  op->SetOutputs(0, {feed});
  program_.main().Append(std::move(op));
  const paddle::ProgramDesc desc = Save();
  EXPECT_EQ(desc.blocks(0).ops(4).outputs(0).arguments(0), "feed.1");
}

TEST_F(Changed, AnotherSignatureIsWrittenAnew) {
  program_.fetches.push_back(program_.main().ops()[1]->output(0));
  const paddle::ProgramDesc desc = Save();
  EXPECT_THAT(OpTypes(desc.blocks(0)), ElementsAre("feed", "relu", "tanh", "relu", "fetch", "fetch"));
  EXPECT_EQ(desc.blocks(0).vars_size(), 5);
  absl::StatusOr<Program> back = LoadModel(folder_ / "out.pdmodel");
  ASSERT_OK(back);
  EXPECT_EQ(back->fetches.size(), 2u);
}

TEST_F(Changed, AttributesArePatchedInPlace) {
  program_.main().ops()[1]->SetAttr("op_role", int32_t{256});
  paddle::ProgramDesc desc = Save();
  ASSERT_EQ(desc.blocks(0).ops(2).attrs_size(), 1);
  EXPECT_EQ(desc.blocks(0).ops(2).attrs(0).i(), 256);
  program_.main().ops()[1]->RemoveAttr("op_role");
  EXPECT_EQ(Save().SerializeAsString(), original_);
}

}  // namespace
}  // namespace ampc
