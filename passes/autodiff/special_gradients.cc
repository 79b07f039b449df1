#include "passes/autodiff/special_gradients.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/ops/gradients.h"

namespace ampc {
namespace {

// `text` is that of a record's gradient behind the op's name, see graph/ops/gradients.h.
std::vector<Attr> AttributesOf(absl::string_view text, const Op& forward, const Var& operand) {
  std::vector<Attr> attrs;
  for (const absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
    float number = 0;
    if (parts.second == "X.dtype") {
      attrs.push_back({std::string(parts.first), operand.type.dtype});
    } else if (parts.second == "Out.dtype") {
      attrs.push_back({std::string(parts.first), forward.output(0)->type.dtype});
    } else if (absl::SimpleAtof(parts.second, &number)) {
      attrs.push_back({std::string(parts.first), number});
    } else if (const AttrValue* value = forward.attr(word)) {
      attrs.push_back({std::string(word), *value});
    }
  }
  return attrs;
}

}  // namespace

bool HasSpecialGradient(const Op& forward) {
  const absl::string_view gradient = ops::GradientOpName(forward.def());
  return !gradient.empty() && !absl::EndsWith(gradient, "_grad") && gradient != "none:";
}

bool PairsOperandsWithResults(const Op& forward) {
  const OpDef& def = forward.def();
  return !def.inputs.empty() && def.inputs[0].variadic && !def.outputs.empty() && def.outputs[0].variadic;
}

SpecialGradient SpecialGradientOf(const Op& forward, absl::Span<Var* const> gradients, int operand) {
  SpecialGradient gradient;
  if (PairsOperandsWithResults(forward)) gradients = gradients.subspan(operand, 1);
  gradient.inputs = {{"X", {gradients.begin(), gradients.end()}}};
  for (const char* slot : {"ScaleTensor", "AxisTensor"}) {
    if (Var* var = forward.input(slot)) gradient.inputs.push_back({slot, {var}});
  }
  const absl::string_view record = forward.def().gradient;
  gradient.attrs = AttributesOf(absl::StripPrefix(record, ops::GradientOpName(forward.def())), forward, *forward.inputs()[operand]);
  return gradient;
}

}  // namespace ampc
