#include "passes/autodiff/special_gradients.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace ampc {
namespace {

// Copies an attribute that the gradient has in common with `forward`.
void Copy(const Op& forward, absl::string_view name, std::vector<Attr>& to) {
  if (const AttrValue* value = forward.attr(name)) to.push_back({std::string(name), *value});
}

std::vector<Attr> AttributesOf(const Op& forward, const Var& operand) {
  const std::string& type = forward.type();
  std::vector<Attr> attrs;
  if (type == "cast") return {{"in_dtype", forward.output(0)->type.dtype}, {"out_dtype", operand.type.dtype}};
  if (type == "amp_cast" || type == "amp_multicast") return {{"dtype", operand.type.dtype}};
  if (type == "sum") return {{"scale", 1.0f}};
  if (type == "sign") return {{"scale", 0.0f}};
  if (type == "scale") Copy(forward, "scale", attrs);
  if (type == "split" || type == "unstack" || type == "unbind" || type == "flip") Copy(forward, "axis", attrs);
  return attrs;
}

}  // namespace

bool HasSpecialGradient(const Op& forward) {
  const std::string& gradient = forward.def().gradient;
  return !gradient.empty() && !absl::EndsWith(gradient, "_grad") && !absl::StartsWith(gradient, "none: ");
}

bool PairsOperandsWithResults(const Op& forward) { return forward.type() == "amp_multicast"; }

SpecialGradient SpecialGradientOf(const Op& forward, absl::Span<Var* const> gradients, int operand) {
  SpecialGradient gradient;
  if (PairsOperandsWithResults(forward)) gradients = gradients.subspan(operand, 1);
  gradient.inputs = {{"X", {gradients.begin(), gradients.end()}}};
  for (const char* slot : {"ScaleTensor", "AxisTensor"}) {
    if (Var* var = forward.input(slot)) gradient.inputs.push_back({slot, {var}});
  }
  gradient.attrs = AttributesOf(forward, *forward.inputs()[operand]);
  return gradient;
}

}  // namespace ampc
