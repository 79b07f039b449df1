#include "passes/amp/decide/use_plan.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/plan.h"
#include "passes/amp/protect/op_class.h"
#include "passes/amp/protect/rules.h"
#include "passes/make_pass.h"
#include "passes/option_text.h"

namespace ampc {
namespace {

constexpr size_t kMostMisfits = 20;  // that are listed

void NoteMisfits(const PlannedOps& planned, std::vector<std::string>* notes) {
  const size_t shown = std::min(kMostMisfits, planned.misfits.size());
  notes->insert(notes->end(), planned.misfits.begin(), planned.misfits.begin() + static_cast<std::ptrdiff_t>(shown));
  if (shown < planned.misfits.size()) notes->push_back(absl::StrCat("plan: ", planned.misfits.size() - shown, " more entries fit no op"));
}

absl::StatusOr<bool> UsePlan(const std::string& path, PassContext& ctx, Program& program) {
  Plan plan;
  if (const Plan* given = ctx.Find<Plan>()) {
    plan = *given;
  } else {
    AMPC_ASSIGN_OR_RETURN(plan, ReadPlan(path));
  }
  auto planned = std::make_unique<PlannedOps>(MatchPlan(std::move(plan), program));
  NoteMisfits(*planned, &ctx.notes);
  bool changed = false;
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      const PlanEntry* entry = planned->For(*op);
      if (entry == nullptr || !MayBecomeLow(*op)) continue;
      const std::string& reason = !entry->low && entry->rule == kMeasuredRule ? entry->reason : entry->measured;
      if (reason.empty()) continue;
      std::string text = MarkText(*FindRule(kMeasuredRule), reason);
      changed = changed || op->marks.amp != AmpMark::kFp32 || op->marks.amp_reason != text;
      op->marks.amp = AmpMark::kFp32;
      op->marks.amp_reason = std::move(text);
    }
  }
  ctx.Put(std::move(planned));
  return changed;
}

}  // namespace

PassInfo UsePlanPass() {
  PassInfo info;
  info.name = "use-plan";
  info.summary = "lets the decisions of an earlier conversion decide";
  info.options = {{"file", "the plan"}};
  info.make = [](const PassOptions& text) -> absl::StatusOr<std::unique_ptr<Pass>> {
    const auto it = text.find("file");
    const std::string path = it == text.end() ? "" : UnescapeItem(it->second);
    return MakePass([path](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      if (path.empty()) return UsageError("option file is empty, the file of a plan is needed");
      return UsePlan(path, ctx, program);
    });
  };
  return info;
}

}  // namespace ampc
