#include "passes/amp/policy/policy.h"

#include "absl/strings/str_split.h"

namespace ampc {

const PaddlePolicy* FindPaddlePolicy(absl::string_view name) {
  for (const PaddlePolicy* policy : {&Paddle20(), &Paddle24(), &Paddle26(), &PaddleInference26()}) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

NameSet Words(absl::string_view text) {
  NameSet out;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) out.emplace(word);
  return out;
}

bool SlotMayBeLow(absl::Span<const SlotRule> rules, absl::string_view op, absl::string_view slot) {
  for (const SlotRule& rule : rules) {
    if (rule.op != op) continue;
    for (absl::string_view word : absl::StrSplit(rule.slots, ' ')) {
      if (word == slot) return rule.only;
    }
    return !rule.only;
  }
  return true;
}

}  // namespace ampc
