// The kinds of lists against the records.
#include "passes/amp/decide/lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "graph/op_registry.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

TEST(ListKindTest, EveryOpIsInExactlyOne) {
  std::map<ListKind, int> count;
  for (const OpDef* def : Ops().All()) {
    const ListKind kind = KindOf(*def);
    ++count[kind];
    EXPECT_FALSE(Name(kind).empty());
    // The kinds mean different things, so an op that fits two has a record that contradicts itself.
    EXPECT_EQ(kind == ListKind::kConditional, def->amp_when != nullptr) << def->name;
    EXPECT_FALSE(def->amp_reason.empty()) << def->name;
    if (kind == ListKind::kTarget || kind == ListKind::kWidest) {
      EXPECT_FALSE(def->inputs.empty()) << def->name;
    }
  }
  for (ListKind kind :
       {ListKind::kTarget, ListKind::kFp16OrFp32, ListKind::kFp32, ListKind::kConditional, ListKind::kWidest, ListKind::kNone}) {
    EXPECT_GT(count[kind], 0) << Name(kind);
  }
}

TEST(ClassRulesTest, TextAndBack) {
  AutoMixedPrecisionLists lists;
  lists.fp16_or_fp32_list = {"exp"};
  lists.widest_list = {"where"};
  lists.conditional_fp32_list = {{"scale", "scale", {"2", "3"}}};
  lists.HalfFunction("mine").FloatFunction("yours").PromoteFunction("ours");
  EXPECT_OK(lists.Check());
  const std::string text = ClassRulesText(lists.Rules());
  EXPECT_EQ(text, "!mine=allow;!yours=deny;!ours=widest;exp=infer;where=widest;scale=deny:scale=2|3");
  std::vector<ClassRule> back;
  ASSERT_OK(ParseClassRules(text, &back));
  EXPECT_EQ(ClassRulesText(back), text);
  for (const char* wrong : {"exp", "exp=", "=allow", "exp=low", "exp=deny:attr"}) {
    EXPECT_THAT(ParseClassRules(wrong, &back), testing::StatusIs(ExitCode::kUsage, ::testing::HasSubstr("needs the form"))) << wrong;
  }
}

}  // namespace
}  // namespace ampc
