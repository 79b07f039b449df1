#include "runtime/plan/execution_plan.h"

#include "absl/strings/str_cat.h"

namespace ampc {
namespace {

std::string AddressText(const Address& address) {
  switch (address.kind) {
    case Address::kNone: return "-";
    case Address::kArena: return absl::StrCat("+", address.offset);
    case Address::kConstant: return "const";
    case Address::kFeed: return absl::StrCat("feed", address.feed);
    case Address::kState: return "state";
    case Address::kFetch: return absl::StrCat("fetch", address.fetch);
  }
  return "?";
}

}  // namespace

std::string ToString(const ExecutionPlan& plan) {
  std::string out;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    absl::StrAppend(&out, i, "  ", step.instance->op == nullptr ? "move" : step.instance->op->type(), "  ", step.kernel->implementation(),
                    " ");
    for (int k = 0; k < step.inputs + step.outputs; ++k) {
      absl::StrAppend(&out, k == step.inputs ? " -> " : " ", AddressText(plan.operands[step.first + k]));
      if (k < step.inputs || step.instance->outputs.empty()) continue;
      const TensorDesc& desc = plan.specialized.descs[step.instance->outputs[k - step.inputs]];
      absl::StrAppend(&out, ":", Name(plan.target.has_value() ? desc.dtype : desc.storage()),
                      desc.layout == Layout::kChannelsLast ? ":nhwc" : "");
    }
    if (step.bytes_through_host > 0) absl::StrAppend(&out, "  on the host, ", step.bytes_through_host, " bytes copied");
    absl::StrAppend(&out, "\n");
  }
  absl::StrAppend(&out, "arena ", plan.arena_bytes, " bytes\n");
  return out;
}

}  // namespace ampc
