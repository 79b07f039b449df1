// The ONNX dialect itself: every version of every operator is a complete record.
#include "graph/ops/onnx/dialect.h"

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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

// Two versions that take the same operands, results and attributes, but for types: one may stand for the other.
TEST(Dialect, VersionsThatDifferInTypesAlone) {
  EXPECT_TRUE(DiffersInTypesAlone("Relu", 13, 14));
  EXPECT_TRUE(DiffersInTypesAlone("Clip", 12, 13));
  EXPECT_TRUE(DiffersInTypesAlone("Gemm", 11, 13));
  EXPECT_FALSE(DiffersInTypesAlone("Gemm", 9, 11));  // C became optional
  EXPECT_FALSE(DiffersInTypesAlone("Resize", 11, 13));
  EXPECT_FALSE(DiffersInTypesAlone("OptionalHasElement", 15, 18));
  EXPECT_FALSE(DiffersInTypesAlone("Slice", 9, 10));     // attributes became operands
  EXPECT_FALSE(DiffersInTypesAlone("Softmax", 12, 13));  // another default of axis
  EXPECT_FALSE(DiffersInTypesAlone("Upsample", 9, 10));  // taken out
}

// A class decides what a conversion does: each op's stands in the list, so that none changes unseen.
TEST(Dialect, AmpClassesAreThoseOfTheList) {
  std::set<std::string> now;
  std::vector<const OpDef*> all = Ops().All();
  for (const OpDef* def : AllOps()) all.push_back(def);
  for (const OpDef* def : all) {
    const std::string name = absl::StartsWith(def->name, "onnx.") ? absl::StrCat("onnx.", TypeName(*def)) : def->name;
    now.insert(absl::StrCat(name, " ", Name(def->amp), def->amp_when == nullptr ? "" : " or another by its attributes"));
  }
  std::set<std::string> listed;
  std::ifstream in("tests/onnx/amp_classes.txt");
  for (std::string line; std::getline(in, line);) listed.insert(line);
  for (const std::string& line : now) EXPECT_TRUE(listed.contains(line)) << "not in the list: " << line;
  for (const std::string& line : listed) EXPECT_TRUE(now.contains(line)) << "in the list alone: " << line;
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
