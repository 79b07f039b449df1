// The ONNX dialect itself: every version of every operator is a complete record.
#include "graph/ops/onnx/dialect.h"

#include "graph/op_registry.h"
#include "graph/ops/onnx/schema.h"
#include "gtest/gtest.h"

namespace ampc::onnx {
namespace {

TEST(Dialect, RecordsAreComplete) {
  ASSERT_GT(AllOps().size(), 100u);
  for (const OpDef* def : AllOps()) {
    SCOPED_TRACE(def->name);
    EXPECT_FALSE(def->doc.empty());
    EXPECT_FALSE(def->amp_reason.empty());
    EXPECT_NE(def->infer, nullptr);
    EXPECT_NE(def->cost, nullptr);
    EXPECT_FALSE(def->gradient.empty());
    EXPECT_EQ(Ops().Find(def->name), def);
  }
}

TEST(Dialect, AnOperatorSetHasTheNewestVersionUpToIt) {
  EXPECT_EQ(FindOp("Relu", 12)->name, "onnx.Relu.6");
  EXPECT_EQ(FindOp("Relu", 13)->name, "onnx.Relu.13");
  EXPECT_EQ(FindOp("onnx.Relu"), FindOp("Relu", NewestOpset()));
  EXPECT_EQ(FindOp("Relu", 0), nullptr);
  EXPECT_EQ(FindOp("NoSuchOperator", 13), nullptr);
}

TEST(Dialect, NamesTheNativeOp) {
  const OpDef& relu = *FindOp("Relu", 13);
  EXPECT_EQ(NativeName(relu), "relu");
  EXPECT_EQ(TypeName(relu), "Relu");
  EXPECT_EQ(NativeName(*Ops().Find("relu")), "relu");
  EXPECT_EQ(NativeName(*FindOp(kYield)), "");
}

}  // namespace
}  // namespace ampc::onnx
