// The table of names of a program, and the operands of an op.
#include <gtest/gtest.h>

#include "graph/program.h"

namespace ampc {
namespace {

Var* Add(Block& block, std::string name) { return block.AddVar(std::move(name), VarKind::kTemp, TensorType(DType::kF32, {1})); }

void Remove(Program& program, const Var* var) {
  std::vector<bool> dead(program.num_var_ids(), false);
  dead[var->id()] = true;
  var->block().RemoveVars(dead);
}

TEST(Names, BlocksBesideEachOtherHaveTheSame) {
  Program program;
  Block& first = program.AddBlock(0, "first");
  Block& second = program.AddBlock(0, "second");
  Var* a = Add(first, "x");
  Var* b = Add(second, "x");
  EXPECT_EQ(first.FindVar("x"), a);
  EXPECT_EQ(second.FindVar("x"), b);
  EXPECT_EQ(program.main().FindVar("x"), nullptr);
  EXPECT_TRUE(first.Finds(*a) && second.Finds(*b));
  EXPECT_FALSE(first.Finds(*b) || second.Finds(*a));

  Remove(program, a);
  EXPECT_EQ(first.FindVar("x"), nullptr);
  EXPECT_EQ(second.FindVar("x"), b);
  Var* again = Add(first, "x");
  EXPECT_EQ(first.FindVar("x"), again);
  EXPECT_EQ(second.FindVar("x"), b);

  Remove(program, b);
  EXPECT_EQ(first.FindVar("x"), again);
  EXPECT_EQ(second.FindVar("x"), nullptr);
}

TEST(Names, ARenamedVariableIsFoundByItsNewName) {
  Program program;
  Block& inner = program.AddBlock(0, "inner");
  Var* outside = Add(program.main(), "x");
  Var* inside = Add(inner, "x");
  inner.RenameVar(inside, "y");
  EXPECT_EQ(inner.FindVar("x"), nullptr);
  EXPECT_EQ(inner.FindVisible("x"), outside);
  EXPECT_EQ(inner.FindVar("y"), inside);
  EXPECT_EQ(inside->name(), "y");
  program.main().RenameVar(outside, "y");
  EXPECT_EQ(program.main().FindVar("y"), outside);
  EXPECT_EQ(inner.FindVar("y"), inside);
}

TEST(Names, OnceUsedTheyAreTaken) {
  Program program;
  Remove(program, Add(program.main(), "x"));
  EXPECT_EQ(program.main().FindVar("x"), nullptr);
  EXPECT_TRUE(program.NameTaken("x"));
  EXPECT_EQ(program.main().UniqueName("x"), "x.1");
}

TEST(Names, StayWhenTheProgramMoves) {
  Program from;
  const Var* var = Add(from.main(), "a name that is longer than a string holds by itself");
  Program to = std::move(from);
  EXPECT_EQ(to.main().FindVar("a name that is longer than a string holds by itself"), var);
  EXPECT_EQ(var->name(), "a name that is longer than a string holds by itself");
  EXPECT_EQ(from.main().FindVar("x"), nullptr);
}

TEST(Operands, SlotsGrowAndShrinkWhereverTheyAre) {
  Program program;
  Block& block = program.main();
  std::vector<Var*> v;
  for (int i = 0; i < 6; ++i) v.push_back(Add(block, block.UniqueName("v")));
  const std::unique_ptr<Op> op = block.NewOp(program.OpaqueDef("test.op", {"A", "B"}, {"Y", "Z"}));
  op->SetOutputs(1, {v[5]});
  op->SetInputs(1, {v[1], v[2]});
  op->SetInputs(0, {v[0]});
  op->SetOutputs(0, {v[3], v[4]});
  EXPECT_EQ(op->inputs(), absl::MakeConstSpan(v).subspan(0, 3));
  EXPECT_EQ(op->outputs(), absl::MakeConstSpan(v).subspan(3));
  EXPECT_EQ(op->InputSlotOf(0), 0);
  EXPECT_EQ(op->InputSlotOf(2), 1);
  EXPECT_EQ(op->InputSlotOf(3), -1);
  EXPECT_EQ(op->OutputSlotOf(1), 0);
  EXPECT_EQ(op->OutputSlotOf(2), 1);
  EXPECT_EQ(op->OutputSlotOf(3), -1);

  op->SetInputs(0, op->inputs(1));  // of itself, and more than before
  EXPECT_EQ(op->inputs(), absl::MakeConstSpan(std::vector<Var*>{v[1], v[2], v[1], v[2]}));
  op->SetInputs(1, {});
  EXPECT_EQ(op->inputs(), absl::MakeConstSpan(std::vector<Var*>{v[1], v[2]}));
  op->ReplaceOutput(2, v[0]);
  EXPECT_EQ(op->output("Z"), v[0]);
  EXPECT_EQ(op->input("B"), nullptr);
}

}  // namespace
}  // namespace ampc
