#include "runtime/train/amp_rewrite.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "runtime/convert/options.h"

namespace ampc::amp {
namespace {

ConvertOptions ConversionOf(const DecorateOptions& o, const AmpSettings& settings) {
  ConvertOptions c;
  c.level = settings.level;
  c.dtype = o.dtype;
  c.mode = o.compat;
  c.guard = settings.guard;
  c.promote = o.use_promote;
  if (settings.level != "OD") {  // Paddle drops the user's lists there
    c.white_list = o.lists.custom_white_list;
    c.black_list = o.lists.custom_black_list;
    c.black_vars = o.lists.custom_black_varnames;
  }
  c.classes = ClassRulesText(o.lists.Rules());
  return c;
}

// Which weights become low, in the place of what is right for weights that never change.
void DecideParams(const Program& program, const std::vector<std::string>* low_params, bool own_o1, AmpDecision& decision) {
  decision.copy_param.clear();
  if (low_params == nullptr) {
    if (own_o1) decision.low_param.clear();
    return;
  }
  const absl::flat_hash_set<std::string> low(low_params->begin(), low_params->end());
  decision.low_param.assign(program.num_var_ids(), false);
  ForEachVar(program, [&](const Var& var) {
    if (var.kind == VarKind::kParam && low.contains(var.name())) decision.low_param[var.id()] = true;
  });
}

// The params that the rewriting declared low. The weight that comes along stays as it is: master weights are made of it.
std::vector<std::string> TakeLowParams(Program& program) {
  std::vector<std::string> out;
  ForEachVar(program, [&out](const Var& var) {
    if (var.kind != VarKind::kParam || !IsRetyped(var)) return;
    out.push_back(var.name());
    if (var.weight != nullptr) var.weight->transforms.clear();
  });
  return out;
}

}  // namespace

absl::StatusOr<AmpRewrite> RewriteForTraining(Program& program, const DecorateOptions& options, const AmpSettings& settings,
                                              const std::vector<std::string>* low_params) {
  AmpRewrite out;
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport(options.target));
  const Pipeline all = ConvertPipeline(ConversionOf(options, settings));
  const int steps = static_cast<int>(all.steps().size());
  Pipeline decide, rewrite;
  bool decided = false;
  for (int i = 0; i < steps; ++i) {
    const PipelineStep& step = all.steps()[i];
    (decided ? rewrite : decide).Add(step.pass, step.options);
    decided = decided || step.pass == "amp-decide";
  }
  AMPC_RETURN_IF_ERROR(RunPipeline(decide, PipelineOptions(), ctx, program));
  if (AmpDecision* decision = ctx.Find<AmpDecision>())
    DecideParams(program, low_params, options.compat == "own" && settings.level == "O1", *decision);
  AMPC_RETURN_IF_ERROR(RunPipeline(rewrite, PipelineOptions(), ctx, program));
  out.low_params = TakeLowParams(program);
  out.notes = std::move(ctx.notes);
  return out;
}

}  // namespace ampc::amp
