// A Paddle program in the IR.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
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

class Import : public ::testing::Test {
 protected:
  // Loads without weights; what comes back is verified, and writing it gives the same bytes.
  absl::StatusOr<Program> Load(const DescBuilder& builder) {
    const std::string bytes = builder.Bytes();
    WriteFile(folder_ / "m.pdmodel", bytes);
    absl::StatusOr<Program> program = LoadModel(folder_ / "m.pdmodel", {.program_only = true});
    if (!program.ok()) return program;
    EXPECT_OK(Verify(*program));
    EXPECT_OK(SaveModel(*program, folder_ / "out.pdmodel", {.program_only = true}));
    EXPECT_EQ(ReadFile(folder_ / "out.pdmodel"), bytes);
    return program;
  }

  static std::vector<std::string> Names(absl::Span<Var* const> vars) {
    std::vector<std::string> names;
    for (const Var* var : vars) names.push_back(var->name());
    return names;
  }

  TempFolder folder_;
};

// Paddle's numbers of element types.
TEST_F(Import, ElementTypes) {
  const std::vector<std::pair<int, DType>> numbers = {{0, DType::kBool}, {1, DType::kI16},   {2, DType::kI32},  {3, DType::kI64},
                                                      {4, DType::kF16},  {5, DType::kF32},   {6, DType::kF64},  {20, DType::kU8},
                                                      {21, DType::kI8},  {22, DType::kBF16}, {23, DType::kC64}, {24, DType::kC128}};
  DescBuilder builder;
  for (const auto& [number, dtype] : numbers) builder.Var(0, absl::StrCat("v", number), {2, 2}, number).set_persistable(true);
  ASSERT_OK_AND_ASSIGN(const Program program, Load(builder));
  for (const auto& [number, dtype] : numbers) {
    const Var* var = program.main().FindVar(absl::StrCat("v", number));
    ASSERT_NE(var, nullptr) << number;
    EXPECT_EQ(Name(var->type.dtype), Name(dtype)) << number;
  }
}

TEST_F(Import, SignatureFollowsCol) {
  DescBuilder b;
  for (const char* name : {"a", "b", "y", "z"}) b.Var(0, name);
  b.Holder("feed", 9);
  b.Holder("fetch", 10);
  b.Feed("b", 1);
  b.Feed("a", 0);
  b.Op(0, "elementwise_add", {{"X", {"a"}}, {"Y", {"b"}}}, {{"Out", {"y"}}});
  b.Op(0, "relu", {{"X", {"y"}}}, {{"Out", {"z"}}});
  b.Fetch("z", 1);
  b.Fetch("y", 0);
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  EXPECT_THAT(Names(program->feeds), ElementsAre("a", "b"));
  EXPECT_THAT(Names(program->fetches), ElementsAre("y", "z"));
  EXPECT_EQ(program->main().ops().size(), 2u);
}

TEST_F(Import, SameColTwice) {
  DescBuilder b;
  b.Var(0, "a");
  b.Var(0, "b");
  b.Feed("a", 0);
  b.Feed("b", 0);
  EXPECT_THAT(Load(b), StatusIs(ExitCode::kBadInput, HasSubstr("two feed ops have col 0")));
}

TEST_F(Import, OverwrittenTemporariesBecomeVersions) {
  DescBuilder b;
  for (const char* name : {"x", "t", "t.1", "y"}) b.Var(0, name);
  b.Op(0, "relu", {{"X", {"x"}}}, {{"Out", {"t"}}});
  b.Op(0, "relu", {{"X", {"t"}}}, {{"Out", {"t.1"}}});
  b.Op(0, "relu", {{"X", {"t"}}}, {{"Out", {"t"}}});
  b.Op(0, "elementwise_add", {{"X", {"t"}}, {"Y", {"t.1"}}}, {{"Out", {"y"}}});
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  EXPECT_THAT(Names(program->feeds), ElementsAre("x"));  // read, never written
  const Op& last = *program->main().ops()[3];
  EXPECT_EQ(last.input("X")->name(), "t.2");  // t.1 is another variable
  EXPECT_EQ(last.input("X")->exported(), "t");
  EXPECT_EQ(last.input("Y")->name(), "t.1");
  EXPECT_EQ(program->main().ops()[2]->input("X")->name(), "t");
}

TEST_F(Import, KindsOfKeptVariables) {
  DescBuilder b;
  b.Var(0, "x");
  b.Var(0, "y");
  for (const char* name : {"trained", "rate", "moving"}) b.Var(0, name, {2}).set_persistable(true);
  b.desc().mutable_blocks(0)->mutable_vars(2)->set_is_parameter(true);
  b.desc().mutable_blocks(0)->mutable_vars(4)->set_is_parameter(true);
  b.desc().mutable_blocks(0)->mutable_vars(4)->set_stop_gradient(true);
  b.Op(0, "opt", {{"Param", {"trained"}}, {"Rate", {"rate"}}}, {{"ParamOut", {"trained"}}});
  b.Op(0, "stat", {{"X", {"x"}}}, {{"Y", {"y"}}, {"MeanOut", {"moving"}}});
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  EXPECT_EQ(program->main().FindVar("trained")->kind, VarKind::kParam);
  EXPECT_TRUE(program->main().FindVar("trained")->trainable);
  EXPECT_EQ(program->main().FindVar("rate")->kind, VarKind::kState);
  EXPECT_EQ(program->main().FindVar("moving")->kind, VarKind::kState);
  EXPECT_FALSE(program->main().FindVar("moving")->trainable);
}

TEST_F(Import, WhatTheRecordDoesNotKnowIsOpaque) {
  DescBuilder b;
  for (const char* name : {"x", "y", "z", "u", "v"}) b.Var(0, name);
  b.Op(0, "no_such_op", {{"X", {"x"}}}, {{"Out", {"y"}}});
  b.Op(0, "relu", {{"X", {"x"}}, {"Strange", {"y"}}}, {{"Out", {"z"}}});
  DescBuilder::Attr(b.Op(0, "scale", {{"X", {"x"}}}, {{"Out", {"u"}}}), "scale", 2).set_s("two");
  // An empty slot and an attribute without meaning are nothing to stumble over.
  DescBuilder::Attr(b.Op(0, "relu", {{"X", {"x"}}, {"Strange", {}}}, {{"Out", {"v"}}}), "extra", 2).set_s("two");
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  const auto& ops = program->main().ops();
  EXPECT_TRUE(ops[0]->def().opaque);
  EXPECT_TRUE(ops[1]->def().opaque);
  EXPECT_THAT(Names(ops[1]->inputs()), ElementsAre("x", "y"));
  EXPECT_TRUE(ops[2]->def().opaque);
  EXPECT_EQ(ops[2]->GetString("scale"), "two");
  EXPECT_FALSE(ops[3]->def().opaque);
  EXPECT_EQ(ops[3]->GetString("extra"), "two");
}

TEST_F(Import, AttributesKeepTheirTypes) {
  DescBuilder b;
  b.Var(0, "y");
  paddle::OpDesc& op = b.Op(0, "fill_constant", {}, {{"Out", {"y"}}});
  DescBuilder::Attr(op, "dtype", 0).set_i(5);
  DescBuilder::Attr(op, "shape", 11).add_longs(2);
  op.mutable_attrs(1)->add_longs(2);
  DescBuilder::Attr(op, "value", 1).set_f(-0.0f);
  DescBuilder::Attr(op, "op_callstack", 5).add_strings("file.py line 3");
  DescBuilder::Attr(op, "op_role", 0).set_i(256);
  DescBuilder::Attr(op, "from_the_future", 99);
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  const Op& read = *program->main().ops()[0];
  EXPECT_EQ(read.GetDType("dtype"), DType::kF32);
  EXPECT_TRUE(std::holds_alternative<std::vector<int64_t>>(*read.explicit_attr("shape")));
  EXPECT_EQ(read.GetInt("op_role"), 256);
  EXPECT_EQ(read.explicit_attr("op_callstack"), nullptr);
  EXPECT_EQ(read.explicit_attr("from_the_future"), nullptr);
}

TEST_F(Import, CapturesOfABlockAreListed) {
  DescBuilder b;
  const int body = b.AddBlock(0);
  for (const char* name : {"x", "h", "out"}) b.Var(0, name);
  b.Var(0, "cond", {1}, 0);
  b.Var(body, "t");
  b.Op(0, "relu", {{"X", {"x"}}}, {{"Out", {"h"}}});
  // The file lists neither h nor out.
  paddle::OpDesc& op = b.Op(0, "conditional_block", {{"Cond", {"cond"}}, {"Input", {}}}, {{"Out", {}}, {"Scope", {}}});
  DescBuilder::Attr(op, "sub_block", 8).set_block_idx(body);
  DescBuilder::Attr(op, "is_scalar_condition", 6).set_b(true);
  b.Op(body, "relu", {{"X", {"h"}}}, {{"Out", {"t"}}});
  b.Op(body, "assign", {{"X", {"t"}}}, {{"Out", {"out"}}});
  b.Op(0, "relu", {{"X", {"out"}}}, {{"Out", {"h"}}});
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  const Op& read = *program->main().ops()[1];
  EXPECT_FALSE(read.def().opaque);
  EXPECT_THAT(Names(read.inputs()), ElementsAre("cond", "h"));
  EXPECT_THAT(Names(read.outputs()), ElementsAre("out"));
  EXPECT_EQ(program->main().FindVar("out")->kind, VarKind::kCarry);
  EXPECT_EQ(program->main().FindVar("h.1")->exported(), "h");
}

TEST_F(Import, ABlockMayReuseAnOuterName) {
  DescBuilder b;
  const int body = b.AddBlock(0);
  for (const char* name : {"x", "t"}) b.Var(0, name);
  b.Var(body, "t");
  b.Op(0, "relu", {{"X", {"x"}}}, {{"Out", {"t"}}});
  DescBuilder::Attr(b.Op(0, "block_op", {{"X", {"x"}}}, {}), "sub_block", 8).set_block_idx(body);
  b.Op(body, "relu", {{"X", {"x"}}}, {{"Out", {"t"}}});
  absl::StatusOr<Program> program = Load(b);
  ASSERT_OK(program);
  EXPECT_EQ(program->block(body).vars()[0]->name(), "t.1");
  EXPECT_EQ(program->block(body).vars()[0]->exported(), "t");
}

TEST_F(Import, OldFieldsAndUnknownOnesAreKept) {
  DescBuilder b;
  b.Var(0, "x");
  b.Var(0, "y");
  b.Var(0, "unused");
  b.Op(0, "relu", {{"X", {"x"}}}, {{"Out", {"y"}}}).set_is_target(true);
  b.desc().set_op_compatible_map(
      "\x12\x05"
      "1.5.0");
  b.desc().mutable_version()->set_version(1008004);
  b.desc().mutable_blocks(0)->set_forward_block_idx(-1);
  *b.desc().mutable_blocks(0)->mutable_unknown_fields() = "\xc2\x3e\x03new";
  *b.desc().mutable_unknown_fields() = "\xc2\x3e\x03new";
  EXPECT_OK(Load(b));
}

TEST_F(Import, DamagedStructure) {
  DescBuilder twice;
  twice.Var(0, "x");
  twice.Var(0, "x");
  EXPECT_THAT(Load(twice), StatusIs(ExitCode::kBadInput, HasSubstr("declares variable 'x' twice")));
  DescBuilder parent;
  parent.AddBlock(3);
  EXPECT_THAT(Load(parent), StatusIs(ExitCode::kBadInput, HasSubstr("block 1 has parent 3")));
  DescBuilder nowhere;
  DescBuilder::Attr(nowhere.Op(0, "while", {}, {}), "sub_block", 8).set_block_idx(7);
  EXPECT_THAT(Load(nowhere), StatusIs(ExitCode::kBadInput, HasSubstr("op 'while' refers to block 7, the program has 1")));
  DescBuilder deep;
  for (int i = 0; i < 1000; ++i) deep.AddBlock(i);
  EXPECT_THAT(Load(deep), StatusIs(ExitCode::kUnsupported, HasSubstr("nested deeper than 100")));
  DescBuilder slots;
  slots.Var(0, "x");
  slots.Op(0, "relu", {{"X", {"x"}}, {"X", {"x"}}}, {});
  EXPECT_THAT(Load(slots), StatusIs(ExitCode::kBadInput, HasSubstr("slot X twice")));
}

}  // namespace
}  // namespace ampc
