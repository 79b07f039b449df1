// The lists of mixed precision that a user may change: op types by kind, values by name, and ops that no record describes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

// The kinds of lists that are in use (MXNet's words for them).
enum class ListKind : uint8_t {
  kTarget,       // becomes low: convolution, matmul
  kFp16OrFp32,   // takes what comes
  kFp32,         // needs fp32
  kConditional,  // fp32 for some values of an attribute
  kWidest,       // operands are cast to the widest of them
  kNone,         // no float computation, or not ours to touch
};
absl::string_view Name(ListKind kind);  // "target", "fp16-or-fp32", "fp32", "conditional", "widest", "none"
// The one kind that the record of an op says.
ListKind KindOf(const OpDef& def);

// A request for an op type: its class, or its class where an attribute has one of the values (as text: "relu", "1", "true").
struct ClassRule {
  std::string op;
  AmpClass amp = AmpClass::kInfer;
  std::string attr = {};
  std::vector<std::string> values = {};
  bool own_op = false;  // no record is needed: a user's own op, which has a low kernel where the class says low
};

// The class that `rules` give the op; null for none. The last rule that fits wins.
const AmpClass* FindClass(const std::vector<ClassRule>& rules, const Op& op);
// One text for all, and back: `op=allow;op=deny:attr=v|w;!own_op=widest`.
std::string ClassRulesText(const std::vector<ClassRule>& rules);
absl::Status ParseClassRules(absl::string_view text, std::vector<ClassRule>* rules);

// Usage errors: a list names an op type that is neither in the program, nor has a record or a rule of its own; with a suggestion.
absl::Status CheckKnown(const std::vector<std::string>& white_list, const std::vector<std::string>& black_list,
                        const std::vector<ClassRule>& classes, const Program& program);

// Paddle's three lists, MXNet's further kinds and Apex's functions. Each list holds op types, the third one names of values. An op in
// two of them is an error that names it (Check); a value's name wins over the type of the op that touches it.
struct AutoMixedPrecisionLists {
  std::vector<std::string> custom_white_list = {};      // become low
  std::vector<std::string> custom_black_list = {};      // stay fp32
  std::vector<std::string> custom_black_varnames = {};  // values whose readers and writers stay fp32
  std::vector<std::string> fp16_or_fp32_list = {};
  std::vector<std::string> widest_list = {};
  struct Conditional {
    std::string op, attr;
    std::vector<std::string> values;
  };
  std::vector<Conditional> conditional_fp32_list = {};
  std::vector<ClassRule> functions = {};

  // User-defined ops: their float operands are cast to the low type, to fp32, or to the widest type among them.
  AutoMixedPrecisionLists& HalfFunction(std::string op);
  AutoMixedPrecisionLists& FloatFunction(std::string op);
  AutoMixedPrecisionLists& PromoteFunction(std::string op);

  // Usage errors: an op in two lists; an op that no record describes and no function registers, with a suggestion.
  absl::Status Check() const;
  // Everything beyond Paddle's lists.
  std::vector<ClassRule> Rules() const;
};

}  // namespace ampc
