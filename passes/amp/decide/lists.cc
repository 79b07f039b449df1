#include "passes/amp/decide/lists.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/op.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

constexpr std::pair<absl::string_view, AmpClass> kClasses[] = {{"allow", AmpClass::kAllow},
                                                               {"infer", AmpClass::kInfer},
                                                               {"clear", AmpClass::kClear},
                                                               {"deny", AmpClass::kDeny},
                                                               {"widest", AmpClass::kWidest}};

// An attribute as the lists write it.
std::string ValueText(const AttrValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int32_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<float>(&value)) return absl::StrCat(*number);
  if (const auto* number = std::get_if<double>(&value)) return absl::StrCat(*number);
  if (const auto* type = std::get_if<DType>(&value)) return std::string(Name(*type));
  return "";
}

bool Fits(const ClassRule& rule, const Op& op) {
  if (rule.op != op.type() && rule.op != onnx::TypeName(op.def())) return false;
  if (rule.attr.empty()) return true;
  const AttrValue* value = op.attr(rule.attr);
  if (value == nullptr) return false;
  const std::string text = ValueText(*value);
  for (const std::string& want : rule.values) {
    if (want == text) return true;
  }
  return false;
}

}  // namespace

absl::string_view Name(ListKind kind) {
  switch (kind) {
    case ListKind::kTarget: return "target";
    case ListKind::kFp16OrFp32: return "fp16-or-fp32";
    case ListKind::kFp32: return "fp32";
    case ListKind::kConditional: return "conditional";
    case ListKind::kWidest: return "widest";
    case ListKind::kNone: break;
  }
  return "none";
}

ListKind KindOf(const OpDef& def) {
  if (def.amp_when != nullptr) return ListKind::kConditional;
  switch (def.amp) {
    case AmpClass::kAllow: return ListKind::kTarget;
    case AmpClass::kInfer:
    case AmpClass::kClear: return ListKind::kFp16OrFp32;
    case AmpClass::kDeny: return ListKind::kFp32;
    case AmpClass::kWidest: return ListKind::kWidest;
    case AmpClass::kNever: break;
  }
  return ListKind::kNone;
}

const AmpClass* FindClass(const std::vector<ClassRule>& rules, const Op& op) {
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    if (Fits(*rule, op)) return &rule->amp;
  }
  return nullptr;
}

std::string ClassRulesText(const std::vector<ClassRule>& rules) {
  std::vector<std::string> out;
  for (const ClassRule& rule : rules) {
    std::string text = absl::StrCat(rule.own_op ? "!" : "", rule.op, "=", Name(rule.amp));
    if (!rule.attr.empty()) absl::StrAppend(&text, ":", rule.attr, "=", absl::StrJoin(rule.values, "|"));
    out.push_back(std::move(text));
  }
  return absl::StrJoin(out, ";");
}

absl::Status ParseClassRules(absl::string_view text, std::vector<ClassRule>* rules) {
  for (absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const auto error = [part] {
      return UsageError(absl::StrCat("class rule '", part, "' needs the form op=allow|infer|clear|deny|widest[:attr=value|value]"));
    };
    ClassRule rule;
    const std::vector<absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits(':', 1));
    const std::vector<absl::string_view> head = absl::StrSplit(sides[0], absl::MaxSplits('=', 1));
    if (head.size() != 2) return error();
    absl::string_view op = head[0];
    rule.own_op = absl::ConsumePrefix(&op, "!");
    rule.op = std::string(op);
    bool found = false;
    for (const auto& [name, amp] : kClasses) {
      if (name != head[1]) continue;
      rule.amp = amp;
      found = true;
    }
    if (!found || rule.op.empty()) return error();
    if (sides.size() == 2) {
      const std::vector<std::string> condition = absl::StrSplit(sides[1], absl::MaxSplits('=', 1));
      if (condition.size() != 2) return error();
      rule.attr = condition[0];
      rule.values = absl::StrSplit(condition[1], '|');
    }
    rules->push_back(std::move(rule));
  }
  return absl::OkStatus();
}

AutoMixedPrecisionLists& AutoMixedPrecisionLists::HalfFunction(std::string op) {
  functions.push_back({std::move(op), AmpClass::kAllow, {}, {}, true});
  return *this;
}

AutoMixedPrecisionLists& AutoMixedPrecisionLists::FloatFunction(std::string op) {
  functions.push_back({std::move(op), AmpClass::kDeny, {}, {}, true});
  return *this;
}

AutoMixedPrecisionLists& AutoMixedPrecisionLists::PromoteFunction(std::string op) {
  functions.push_back({std::move(op), AmpClass::kWidest, {}, {}, true});
  return *this;
}

absl::Status AutoMixedPrecisionLists::Check() const {
  std::map<std::string, absl::string_view> seen;
  std::set<std::string> known;
  for (const OpDef* def : Ops().All()) known.insert(def->name);
  for (const ClassRule& rule : functions) known.insert(rule.op);
  const std::vector<std::string> names(known.begin(), known.end());
  const auto add = [&](const std::string& op, absl::string_view list) -> absl::Status {
    if (!known.contains(op))
      return UsageError(absl::StrCat("the ", list, " names the op '", op, "', which is unknown", Suggest(op, names)));
    const auto [it, fresh] = seen.try_emplace(op, list);
    if (!fresh && it->second != list) {
      return UsageError(absl::StrCat("op '", op, "' is in the ", it->second, " and in the ", list, ", needs to be in one"));
    }
    return absl::OkStatus();
  };
  absl::Status status;
  const std::pair<const std::vector<std::string>*, absl::string_view> lists[] = {{&custom_white_list, "custom white list"},
                                                                                 {&custom_black_list, "custom black list"},
                                                                                 {&fp16_or_fp32_list, "fp16-or-fp32 list"},
                                                                                 {&widest_list, "widest list"}};
  for (const auto& [list, name] : lists) {
    for (const std::string& op : *list) status.Update(add(op, name));
  }
  for (const Conditional& c : conditional_fp32_list) status.Update(add(c.op, "conditional fp32 list"));
  for (const ClassRule& rule : functions) {
    status.Update(add(rule.op, rule.amp == AmpClass::kAllow  ? "half functions"
                               : rule.amp == AmpClass::kDeny ? "float functions"
                                                             : "promote functions"));
  }
  return status;
}

std::vector<ClassRule> AutoMixedPrecisionLists::Rules() const {
  std::vector<ClassRule> out = functions;
  for (const std::string& op : fp16_or_fp32_list) out.push_back({op, AmpClass::kInfer});
  for (const std::string& op : widest_list) out.push_back({op, AmpClass::kWidest});
  for (const Conditional& c : conditional_fp32_list) out.push_back({c.op, AmpClass::kDeny, c.attr, c.values});
  return out;
}

absl::Status CheckKnown(const std::vector<std::string>& white_list, const std::vector<std::string>& black_list,
                        const std::vector<ClassRule>& classes, const Program& program) {
  if (white_list.empty() && black_list.empty()) return absl::OkStatus();
  std::set<std::string> known;
  for (const OpDef* def : Ops().All()) known.insert(def->name);
  for (const OpDef* def : onnx::AllOps()) known.insert(std::string(onnx::TypeName(*def)));
  ForEachOp(program, [&](const Op& op) { known.insert(op.type()); });
  for (const ClassRule& rule : classes) {
    if (rule.own_op) known.insert(rule.op);
  }
  for (const std::vector<std::string>* list : {&white_list, &black_list}) {
    for (const std::string& type : *list) {
      if (known.contains(type)) continue;
      std::vector<std::string> names(known.begin(), known.end());
      // Of names that are equally near the program's own kind is meant.
      const bool onnx = std::any_of(program.main().ops().begin(), program.main().ops().end(),
                                    [](const auto& op) { return onnx::DefOf(op->def()) != nullptr; });
      std::stable_partition(names.begin(), names.end(), [onnx](const std::string& name) { return absl::ascii_isupper(name[0]) == onnx; });
      return UsageError(
          absl::StrCat(list == &white_list ? "white" : "black", "-list names the op '", type, "', which is unknown", Suggest(type, names)));
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc
