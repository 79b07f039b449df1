// Facts in words.
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "passes/amp/protect/facts.h"

namespace ampc {
namespace {

void AddBounds(const Fact& fact, std::vector<std::string>* parts) {
  if (std::isfinite(fact.bounds.low) || std::isfinite(fact.bounds.high))
    parts->push_back(absl::StrCat("[", fact.bounds.low, ", ", fact.bounds.high, "]"));
  if (fact.measured != fact.bounds) parts->push_back(absl::StrCat("measured [", fact.measured.low, ", ", fact.measured.high, "]"));
}

void AddTraits(const Fact& fact, std::vector<std::string>* parts) {
  static constexpr absl::string_view kTraits[] = {"constant", "large",   "small",  "square", "statistic", "summed",     "exponential",
                                                  "whole",    "product", "extent", "fed",    "loss",      "worst case", "moment"};
  for (size_t i = 0; i < std::size(kTraits); ++i) {
    if (fact.Has(static_cast<uint16_t>(1 << i))) parts->emplace_back(kTraits[i]);
  }
}

void AddLosses(const Fact& fact, std::vector<std::string>* parts) {
  static constexpr absl::string_view kSizeHints[] = {"", "at least ", "a reciprocal up to ", "scaled to ", "weighted to "};
  if (fact.lost.loss != Loss::kNone) parts->push_back(absl::StrCat("loses ", fact.lost.value));
  if (fact.size_hint.kind != Fact::SizeHint::kNone) parts->push_back(absl::StrCat(kSizeHints[fact.size_hint.kind], fact.size_hint.size));
}

// "" for what is not known, and for what is no computed fp32 value.
absl::string_view VerdictText(const Facts& facts, const Var& var) {
  if (var.type.dtype != DType::kF32 || IsStored(var)) return "";
  switch (facts.VerdictOf(var)) {
    case Facts::Verdict::kSafe: return "safe";
    case Facts::Verdict::kLeaves: return "leaves the range";
    case Facts::Verdict::kUnknown: return "";
  }
  return "";
}

}  // namespace

std::string FactText(const Facts& facts, const Var& var) {
  const Fact& fact = facts.Of(var);
  std::vector<std::string> parts;
  AddBounds(fact, &parts);
  AddTraits(fact, &parts);
  AddLosses(fact, &parts);
  if (fact.power.base >= 0) parts.push_back(absl::StrCat(facts.flow().var(fact.power.base).name(), "^", fact.power.degree));
  if (const absl::string_view verdict = VerdictText(facts, var); !verdict.empty()) parts.emplace_back(verdict);
  if (fact.origin >= 0) parts.push_back(absl::StrCat("of ", facts.flow().var(fact.origin).name()));
  return absl::StrJoin(parts, ", ");
}

std::string SizeText(const Fact& fact) {
  std::vector<std::string> parts;
  AddBounds(fact, &parts);
  AddLosses(fact, &parts);
  return absl::StrJoin(parts, ", ");
}

std::string ProofText(const Facts& facts, const Var& var) {
  const absl::string_view verdict = VerdictText(facts, var);
  const Fact& fact = facts.Of(var);
  const bool measured = verdict.empty() && var.type.dtype == DType::kF32 && !IsStored(var) && facts.InRange(fact.measured);
  if (measured)
    return absl::StrCat("measured in the range of ", Name(facts.low()), ", not proven: [", fact.measured.low, ", ", fact.measured.high,
                        "]");
  if (verdict.empty()) return "";
  const char* worst = fact.Has(Fact::kWorstCase) ? " at worst" : "";
  const char* what = facts.VerdictOf(var) == Facts::Verdict::kSafe ? "in" : "beyond";
  return absl::StrCat("proven ", what, " the range of ", Name(facts.low()), ": [", fact.bounds.low, ", ", fact.bounds.high, "]", worst);
}

}  // namespace ampc
