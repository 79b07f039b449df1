// Walks the registry: what a record must have, and that each op has its cases. The arguments are the case files.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graph/op_registry.h"
#include "graph/ops/gradients.h"
#include "gtest/gtest.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/case_file.h"

namespace ampc {
namespace {

std::vector<std::string>* g_files = new std::vector<std::string>();

std::vector<testing::Case> AllCases() {
  std::vector<testing::Case> all;
  for (const std::string& file : *g_files) {
    absl::StatusOr<std::vector<testing::Case>> cases = testing::ParseCases(testing::ReadFile(file));
    EXPECT_TRUE(cases.ok()) << file << ": " << cases.status();
    if (cases.ok()) all.insert(all.end(), cases->begin(), cases->end());
  }
  return all;
}

TEST(Registry, EveryRecordIsComplete) {
  ASSERT_GE(Ops().All().size(), 75u);
  for (const OpDef* def : Ops().All()) {
    SCOPED_TRACE(def->name);
    EXPECT_GE(def->doc.size(), 10u) << "doc";
    EXPECT_TRUE(absl::EndsWith(def->doc, ".")) << "doc is no sentence";
    EXPECT_GE(def->amp_reason.size(), 10u) << "AMP reason";
    EXPECT_NE(def->infer, nullptr) << "inference";
    EXPECT_NE(def->cost, nullptr) << "cost";
    EXPECT_FALSE(def->gradient.empty()) << "gradient";
    EXPECT_FALSE(def->opaque);
    EXPECT_FALSE(def->outputs.empty()) << "results";
  }
}

// A denied op says which number f16 cannot hold, in digits.
TEST(Registry, DeniedOpsGiveNumbers) {
  for (const OpDef* def : Ops().All()) {
    if (def->amp != AmpClass::kDeny) continue;
    EXPECT_NE(def->amp_reason.find_first_of("0123456789"), std::string::npos) << def->name << ": " << def->amp_reason;
  }
}

TEST(Registry, GradientIsAnOpOrAReason) {
  for (const OpDef* def : Ops().All()) {
    if (absl::StartsWith(def->gradient, "none: ")) {
      EXPECT_GE(def->gradient.size(), 15u) << def->name;
    } else {
      EXPECT_EQ(ops::GradientOpName(*def).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), absl::string_view::npos) << def->name;
    }
  }
}

TEST(Registry, SlotsAndAttributesAreDistinct) {
  for (const OpDef* def : Ops().All()) {
    std::set<std::string> inputs, outputs, attrs;
    for (const SlotDef& s : def->inputs) EXPECT_TRUE(inputs.insert(s.name).second) << def->name << " input " << s.name;
    for (const SlotDef& s : def->outputs) EXPECT_TRUE(outputs.insert(s.name).second) << def->name << " output " << s.name;
    for (const AttrDef& a : def->attrs) EXPECT_TRUE(attrs.insert(a.name).second) << def->name << " attribute " << a.name;
  }
}

// Statistics stay fp32 only where there is something low beside them; a host value is read, not computed with.
TEST(Registry, SlotRulesFitTheClass) {
  for (const OpDef* def : Ops().All()) {
    for (const SlotDef& s : def->inputs) {
      EXPECT_TRUE(!s.host_value || s.precision == SlotPrecision::kAsIs) << def->name << "." << s.name;
      EXPECT_FALSE(s.overwrites) << def->name << "." << s.name;
    }
    for (const auto* slots : {&def->inputs, &def->outputs}) {
      for (const SlotDef& s : *slots) {
        EXPECT_TRUE(def->amp != AmpClass::kNever || s.precision == SlotPrecision::kAsIs) << def->name << "." << s.name;
      }
    }
  }
}

TEST(Registry, FindsByName) {
  for (const OpDef* def : Ops().All()) EXPECT_EQ(Ops().Find(def->name), def);
  EXPECT_EQ(Ops().Find("conv2"), nullptr);
}

TEST(Registry, RefusesTwins) {
  OpRegistry registry;
  const auto relu = [] { return OpDef("relu"); };
  EXPECT_TRUE(registry.Add("relu", relu).ok());
  EXPECT_EQ(registry.Add("relu", relu).message(), "op 'relu' has two records");
  EXPECT_EQ(registry.All().size(), 1u);
}

TEST(Registry, PaddlesCommonAttributesAreCarried) {
  for (const OpDef* def : Ops().All()) {
    const AttrDef* role = def->FindAttr("op_role");
    ASSERT_NE(role, nullptr) << def->name;
    EXPECT_TRUE(role->extra) << def->name;
  }
}

bool HasSlot(const OpDef& def, absl::string_view slot) { return def.InputSlot(slot) >= 0 || def.OutputSlot(slot) >= 0; }

// A record that names the slots of its gradient op has these slots, and the op is found.
TEST(Gradients, SlotsAreThoseOfTheForwardOp) {
  for (const OpDef* forward : Ops().All()) {
    if (!forward->gradient_slots.has_value()) continue;
    SCOPED_TRACE(forward->name);
    const GradientSlots& slots = *forward->gradient_slots;
    EXPECT_EQ(forward->gradient, absl::StrCat(forward->name, "_grad"));
    EXPECT_EQ(ops::ForwardOf(forward->gradient), forward);
    for (absl::string_view slot : absl::StrSplit(slots.needs, ' ', absl::SkipEmpty())) {
      EXPECT_TRUE(HasSlot(*forward, absl::StripSuffix(slot, "?"))) << "needs " << slot;
    }
    for (absl::string_view slot : absl::StrSplit(slots.of, ' ')) EXPECT_GE(forward->OutputSlot(slot), 0) << "of " << slot;
    for (absl::string_view slot : absl::StrSplit(slots.gives, ' ')) EXPECT_GE(forward->InputSlot(slot), 0) << "gives " << slot;
    EXPECT_TRUE(absl::StrContains(slots.needs, slots.like)) << "like " << slots.like;
  }
  EXPECT_EQ(ops::ForwardOf("relu"), nullptr);
  EXPECT_EQ(ops::ForwardOf("while_grad"), nullptr);
}

TEST(Gradients, EveryDifferentiableOpHasItsGradientOp) {
  for (const OpDef* def : Ops().All()) {
    if (absl::StartsWith(def->gradient, "none: ")) continue;
    EXPECT_NE(Ops().Find(ops::GradientOpName(*def)), nullptr) << def->name << " names the gradient op " << def->gradient;
  }
}

// An op has a case that shows what is inferred, and one with its exact error; tests/autodiff has those of gradient ops.
TEST(Registry, EveryOpHasItsCases) {
  const std::vector<testing::Case> cases = AllCases();
  for (const OpDef* def : Ops().All()) {
    if (ops::ForwardOf(def->name) != nullptr) continue;
    bool infers = false;
    bool fails = false;
    for (const testing::Case& c : cases) {
      const bool calls = absl::StrContains(c.in, absl::StrCat(" ", def->name, "(")) ||
                         absl::StartsWith(c.in, absl::StrCat(def->name, "(")) ||
                         absl::StrContains(c.in, absl::StrCat("\n", def->name, "("));
      infers = infers || (calls && c.expect == testing::Expect::kOut);
      fails = fails || (c.expect == testing::Expect::kError && absl::StrContains(c.expected, absl::StrCat("op '", def->name, "'")));
    }
    EXPECT_TRUE(infers) << def->name << ": no case in tests/ops/*.case shows what is inferred";
    EXPECT_TRUE(fails) << def->name << ": no case in tests/ops/*.case has an error of it";
  }
}

}  // namespace
}  // namespace ampc

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ampc::g_files->assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}
