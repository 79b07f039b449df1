#include "runtime/tune/tuned_model.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "kernels/evaluator.h"
#include "passes/amp/decide/op_times.h"
#include "passes/analysis/target_support.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "runtime/convert/convert.h"
#include "runtime/convert/report.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/target_numbers.h"

namespace ampc {
namespace {

constexpr char kTuneRule[] = "tune";

// The step amp-decide of a conversion at that level.
Pipeline DecideStep(ConvertOptions options, const char* level) {
  options.level = level;
  const Pipeline all = DecidePipeline(options);
  const PipelineStep& last = all.steps().back();
  return Pipeline().Add(last.pass, last.options);
}

bool IsRequested(const OpDecision& op) { return op.rule == "include" || op.rule == "white-list"; }

}  // namespace

TunedModel::TunedModel(const ConvertOptions& options, Program program)
    : options_(options), program_(std::move(program)), device_(NumbersOfTarget(options.target)), evaluator_(MakeCpuEvaluator()) {}

absl::StatusOr<std::unique_ptr<TunedModel>> TunedModel::Load(const ConvertOptions& options) {
  if (options.mode != "own")
    return UsageError(absl::StrCat("tune contradicts --compat ", options.mode, ", whose decisions are not ampc's"));
  if (!options.plan.empty()) return UsageError("tune contradicts --plan, which decides already");
  if (options.promote) return UsageError("tune contradicts --promote: it decides by error and by what casts cost");
  if (!options.level.empty() && options.level != "O2")
    return UsageError(absl::StrCat("tune contradicts --level ", options.level, ": it chooses among the ops that O2 makes low"));
  ConvertOptions convert = options;
  convert.level = "O2";
  convert.decide_only = true;
  std::optional<Program> decided;
  convert.decided = [&decided](const Program& program, const AmpDecision&) { decided = program.Clone(); };
  AMPC_ASSIGN_OR_RETURN(ConvertResult result, Convert(convert));
  if (!decided.has_value() || IsConverted(*decided)) {
    return UsageError(absl::StrCat(options.model, " was converted before, tune needs the original: ampc strip gives it back"));
  }
  ConvertOptions in_effect = result.options;
  in_effect.decide_only = false;
  std::unique_ptr<TunedModel> model(new TunedModel(in_effect, *std::move(decided)));
  model->notes_ = std::move(result.notes);
  AMPC_RETURN_IF_ERROR(model->FindCandidates());
  return model;
}

void TunedModel::SetSizes(ProgramSizes sizes) {
  sizes_ = std::move(sizes);
  time_.emplace(program_, &sizes_, device_, options_.dtype);
}

PassContext TunedModel::Context() const {
  PassContext ctx;
  ctx.support = support_;
  ctx.evaluator = evaluator_.get();
  ctx.Put(std::make_unique<FindsSizes>(FindsSizes{[this](const Program&) { return sizes_; }}));
  return ctx;
}

absl::Status TunedModel::FindCandidates() {
  AMPC_ASSIGN_OR_RETURN(support_, TargetSupport(options_.target, options_.runtime));
  SetSizes(SizesFor(options_, program_));
  PassContext ctx = Context();
  AMPC_RETURN_IF_ERROR(RunPipeline(DecideStep(options_, "O2"), {}, ctx, program_));
  const AmpDecision& decision = *ctx.Find<AmpDecision>();
  o2_ = PlanOf(program_, decision);
  o2_.measured = options_.ranged;
  PlannedOps planned = MatchPlan(o2_, program_);
  entry_ = std::move(planned.entry);
  ForEachOp(program_, [&](const Op& op) {
    const OpDecision& d = decision.For(op);
    if (d.low && !IsRequested(d) && entry_[op.id()] >= 0) candidates_.push_back(&op);
  });
  return absl::OkStatus();
}

void TunedModel::UseSizesOf(const TensorMap& feeds) {
  std::map<std::string, std::vector<int64_t>> dims;
  for (const auto& [name, tensor] : feeds) dims[name].assign(tensor.dims().begin(), tensor.dims().end());
  const absl::StatusOr<Program> sized = WithDims(program_, dims);
  if (!sized.ok()) return;
  ProgramSizes sizes = SizesOf(program_, *sized);
  if (options_.times != nullptr) UseTimes(*options_.times, program_, options_.dtype, &sizes);
  SetSizes(std::move(sizes));
}

absl::StatusOr<Assignment> TunedModel::Fastest(const LowPenalty& penalty) const {
  PassContext ctx = Context();
  ctx.Put(std::make_unique<LowPenalty>(penalty));
  Program program = program_.Clone();
  AMPC_RETURN_IF_ERROR(RunPipeline(DecideStep(options_, "auto"), {}, ctx, program));
  const AmpDecision& decision = *ctx.Find<AmpDecision>();
  Assignment low(program_.num_op_ids(), false);
  ForEachOp(program, [&](const Op& op) { low[op.id()] = decision.For(op).low; });
  return low;
}

Assignment TunedModel::Fp32() const {
  Assignment low(program_.num_op_ids(), false);
  ForEachOp(program_, [&](const Op& op) { low[op.id()] = entry_[op.id()] >= 0 && o2_.entries[entry_[op.id()]].low; });
  for (const Op* op : candidates_) low[op->id()] = false;
  return low;
}

absl::Status TunedModel::DecideIn(const Assignment& low, PassContext* ctx, Program& program) const {
  auto planned = std::make_unique<PlannedOps>();
  planned->plan = o2_;
  planned->entry = entry_;
  for (const Op* op : candidates_) planned->plan.entries[entry_[op->id()]].low = low[op->id()];
  ctx->Put(std::move(planned));
  return RunPipeline(DecideStep(options_, "O2"), {}, *ctx, program);
}

absl::StatusOr<std::unique_ptr<AmpDecision>> TunedModel::Decide(const Assignment& low) const {
  PassContext ctx = Context();
  Program program = program_.Clone();
  AMPC_RETURN_IF_ERROR(DecideIn(low, &ctx, program));
  auto decision = std::make_unique<AmpDecision>();
  const AmpDecision& made = *ctx.Find<AmpDecision>();
  decision->low = made.low;
  decision->ops = made.ops;
  for (OpDecision& op : decision->ops) op.follows = nullptr;  // of the clone
  decision->keep_var = made.keep_var;
  decision->low_var = made.low_var;
  decision->low_param = made.low_param;
  decision->copy_param = made.copy_param;
  decision->masks = made.masks;
  return decision;
}

absl::StatusOr<Program> TunedModel::Rewrite(const Assignment& low) const {
  PassContext ctx = Context();
  Program program = program_.Clone();
  AMPC_RETURN_IF_ERROR(DecideIn(low, &ctx, program));
  AMPC_RETURN_IF_ERROR(RunPipeline(RewritePipeline(options_), {}, ctx, program));
  return program;
}

std::string TunedModel::PlanText(const Assignment& low, const std::map<int, std::string>& reasons) const {
  Plan plan = o2_;
  for (const Op* op : candidates_) {
    PlanEntry& entry = plan.entries[entry_[op->id()]];
    if (low[op->id()]) continue;
    entry.low = false;
    entry.rule = kTuneRule;
    const auto reason = reasons.find(op->id());
    entry.reason = reason == reasons.end() ? "" : reason->second;
  }
  return PlanJson(plan, [this](JsonWriter& json) { WriteConvertConfig(options_, json); });
}

PredictedRun TunedModel::Predicted(const AmpDecision& decision) const { return Predict(program_, decision, *time_); }

double TunedModel::WeightBytes(const AmpDecision& decision) const {
  double bytes = 0;
  ForEachVar(program_, [&](const Var& var) {
    if (!IsStored(var)) return;
    double each = static_cast<double>(SizeOf(var.type.dtype));
    if (AmpDecision::Has(decision.low_param, var.id())) each = 2;
    if (AmpDecision::Has(decision.copy_param, var.id())) each += 2;
    bytes += each * static_cast<double>(var.type.NumElements());
  });
  return bytes;
}

}  // namespace ampc
