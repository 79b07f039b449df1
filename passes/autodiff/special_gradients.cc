#include "passes/autodiff/special_gradients.h"

#include "absl/strings/match.h"

namespace ampc {
namespace {

std::vector<Attr> AttributesOf(const Op& forward, const Var& operand) {
  const std::string& type = forward.type();
  if (type == "cast") return {{"in_dtype", forward.output(0)->type.dtype}, {"out_dtype", operand.type.dtype}};
  if (type == "amp_cast" || type == "amp_multicast") return {{"dtype", operand.type.dtype}};
  if (type == "scale") return {{"scale", static_cast<float>(forward.GetFloat("scale"))}};
  if (type == "split") return {{"axis", static_cast<int32_t>(forward.GetInt("axis"))}};
  return {};
}

}  // namespace

bool HasSpecialGradient(const Op& forward) {
  const std::string& gradient = forward.def().gradient;
  return !gradient.empty() && !absl::EndsWith(gradient, "_grad") && !absl::StartsWith(gradient, "none: ");
}

std::vector<SpecialGradient> SpecialGradients(const Op& forward, absl::Span<Var* const> gradients, absl::Span<const int> wanted) {
  std::vector<SpecialGradient> out;
  for (const int operand : wanted) {
    SpecialGradient gradient;
    gradient.operand = operand;
    if (gradients.size() == 1) {
      gradient.inputs = {{"X", {gradients[0]}}};
    } else if (forward.type() == "amp_multicast") {
      gradient.inputs = {{"X", {gradients[operand]}}};
    } else {
      gradient.inputs = {{"X", {gradients.begin(), gradients.end()}}};
    }
    if (Var* scale = forward.input("ScaleTensor")) gradient.inputs.push_back({"ScaleTensor", {scale}});
    gradient.attrs = AttributesOf(forward, *forward.inputs()[operand]);
    out.push_back(std::move(gradient));
  }
  return out;
}

}  // namespace ampc
