#include "runtime/exec/prepared_program.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/device_job.h"
#include "kernels/evaluator.h"
#include "kernels/lib/int8.h"
#include "passes/analysis/target_support.h"
#include "passes/pipelines.h"

namespace ampc {
namespace {

// Passes write into the program what plans need, and drop what runs do not need.
absl::Status RunPasses(Program& program, const RunnerOptions& options) {
  for (const Var* feed : program.feeds) {
    if (feed->type.lod_level > 0) {
      return UnsupportedError(absl::StrCat("feed '", feed->name(), "' carries level-of-detail information (lod_level ",
                                           feed->type.lod_level, "), which cannot be executed"));
    }
  }
  AMPC_ASSIGN_OR_RETURN(const PrecisionSupport* support, TargetSupport("cpu"));
  const std::unique_ptr<Evaluator> evaluator = MakeCpuEvaluator();
  PassContext ctx;
  ctx.support = support;
  ctx.evaluator = evaluator.get();
  const bool on_device = options.target != nullptr;
  const auto has = [&options](const char* op) { return options.target->kernels->Find(op) != nullptr; };
  // On a CPU that rounds each result there is nothing to win.
  const bool elementwise = options.fuse && (on_device ? has("fused_elementwise") : options.excess_precision);
  const bool linear = options.fuse_linear && on_device && has("fused_gemm_epilogue") && has("fused_gemm_epilogue_grad");
  const bool in_job = on_device && ProcessDeviceJob(*options.target->device) != nullptr;
  const PlanOptions plan = {.fuse = options.fuse,
                            .linear = linear,
                            .attention = options.fuse && !on_device && options.excess_precision,
                            .products = options.fuse && !on_device,
                            .elementwise = elementwise,
                            .excess = !on_device,
                            .quantized = on_device                                ? "none"
                                         : options.fuse && onednn::HasExactInt8() ? "products"
                                                                                  : "scales",
                            .group_updates = on_device,
                            .bucket_gradients = in_job};
  return RunPipeline(PlanPipeline(plan), {}, ctx, program);
}

// The narrower of two float types in one storage cannot hold the other's values.
bool Holds(DType declared, DType scope) { return declared == scope || (declared == DType::kF32 && IsLowPrecision(scope)); }

absl::StatusOr<Scope::Variable*> FindState(const Var& var, Scope& scope) {
  Scope::Variable* found = scope.FindVariable(var.name());
  if (found == nullptr) return UsageError(absl::StrCat(Name(var.kind), " '", var.name(), "' is not in the scope"));
  const TensorType have(found->dtype, Dims(found->value.dims().begin(), found->value.dims().end()));
  if (!Holds(var.type.dtype, found->dtype) || !Compatible(have.WithDType(var.type.dtype), var.type)) {
    return UsageError(
        absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(have), " in the scope, the program needs ", ToString(var.type)));
  }
  return found;
}

// Without their weights, nothing that a pass or a plan does can depend on first values.
absl::Status DropWeights(Program& program, Scope& scope) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (!LivesInScope(*var)) continue;
      if (scope.FindVariable(var->name()) == nullptr)
        return UsageError(absl::StrCat(Name(var->kind), " '", var->name(), "' is not in the scope"));
      var->weight = nullptr;
    }
  }
  return absl::OkStatus();
}

std::set<const Var*> Written(const Program& program) {
  std::set<const Var*> written;
  ForEachOp(program, [&written](const Op& op) { written.insert(op.outputs().begin(), op.outputs().end()); });
  return written;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedProgram>> PreparedProgram::Create(Program program, const RunnerOptions& options) {
  if (options.scope != nullptr) AMPC_RETURN_IF_ERROR(DropWeights(program, *options.scope));
  AMPC_RETURN_IF_ERROR(RunPasses(program, options));
  States states;
  if (options.scope != nullptr) {
    AMPC_ASSIGN_OR_RETURN(states, BindStates(program, *options.scope, options.target));
  }
  const bool on_host = options.target == nullptr;
  AMPC_ASSIGN_OR_RETURN(Constants constants, Constants::Load(program, states.table.get(), on_host ? &CpuKernels() : nullptr));
  std::unique_ptr<PreparedProgram> prepared(new PreparedProgram(std::move(program), std::move(states), std::move(constants)));
  if (options.target != nullptr) prepared->SetTarget(*options.target);
  prepared->DeclareConstants();
  prepared->MakeContext(options);
  return prepared;
}

absl::StatusOr<PreparedProgram::States> PreparedProgram::BindStates(const Program& program, Scope& scope, const DeviceTarget* target) {
  States states;
  auto table = std::make_unique<StateTable>(program);
  if (target != nullptr) {
    AMPC_ASSIGN_OR_RETURN(ScopeMirror * mirror, scope.Mirror(target->device));
    states.mirrored.emplace(*mirror);
  }
  const std::set<const Var*> written = Written(program);
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (!LivesInScope(*var)) continue;
      AMPC_ASSIGN_OR_RETURN(Scope::Variable * variable, FindState(*var, scope));
      if (!states.mirrored.has_value()) {
        table->Set(*var, &variable->value);
        continue;
      }
      AMPC_ASSIGN_OR_RETURN(ScopeMirror::Copy * copy, states.mirrored->mirror().Bind(var->name(), *variable, var->type.dtype));
      table->Set(*var, &variable->value, copy->memory.data());
      states.mirrored->Add(copy, written.contains(var.get()));
    }
  }
  states.table = std::move(table);
  return states;
}

void PreparedProgram::SetTarget(const DeviceTarget& target) {
  device_constants_.emplace(target.device);
  target_ = PlanTarget{target, &*device_constants_, nullptr};
  if (states_.mirrored.has_value()) target_->stream = &states_.mirrored->mirror().stream();
}

void PreparedProgram::DeclareConstants() {
  constants_.DeclareTo(weights_);
  if (!device_constants_.has_value()) return;
  for (const std::shared_ptr<const HostTensor>& value : constants_.all()) {
    if (value != nullptr) device_constants_->AddLasting(value.get());
  }
}

void PreparedProgram::MakeContext(const RunnerOptions& options) {
  context_.emplace(PlanContext{.program = program_,
                               .constants = constants_,
                               .liveness = liveness_,
                               .kernels = CpuKernels(),
                               .weights = &weights_,
                               .choices = options.choices,
                               .threads = options.threads,
                               .states = states_.table.get(),
                               .excess_precision = options.excess_precision,
                               .in_place = options.in_place,
                               .fuse = options.fuse,
                               .target = target_.has_value() ? &*target_ : nullptr});
}

bool LivesInScope(const Var& var) {
  return (var.kind == VarKind::kParam || var.kind == VarKind::kState) && var.type.kind == TypeKind::kTensor;
}

}  // namespace ampc
