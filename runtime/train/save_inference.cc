#include "runtime/train/save_inference.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/verify.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/analysis/use_def.h"
#include "passes/cleanup/for_inference.h"
#include "passes/cleanup/prune.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"

namespace ampc {
namespace {

using Masters = absl::flat_hash_map<std::string, std::string>;  // param -> its fp32 master

Masters FindMasters(const Program& trained) {
  Masters masters;
  ForEachOp(trained, [&masters](const Op& op) {
    if (op.def().opaque || op.def().InputSlot("Param") < 0 || op.def().InputSlot("MasterParam") < 0) return;
    const Var* param = op.input("Param");
    const Var* master = op.input("MasterParam");
    if (param != nullptr && master != nullptr) masters[param->name()] = master->name();
  });
  return masters;
}

absl::Status SetFetches(const std::vector<std::string>& names, Program& program) {
  if (names.empty()) return absl::OkStatus();
  program.fetches.clear();
  for (const std::string& name : names) {
    Var* var = program.main().FindVar(name);
    if (var == nullptr) return UsageError(absl::StrCat("the fetch '", name, "' is no value of the main block"));
    program.fetches.push_back(var);
  }
  return absl::OkStatus();
}

// After the training part went.
absl::Status CheckFetches(const Program& program) {
  const UseDef uses(program);
  for (const Var* fetch : program.fetches) {
    if ((fetch->kind != VarKind::kTemp && fetch->kind != VarKind::kCarry) || uses.producer(*fetch) != nullptr) continue;
    return UsageError(
        absl::StrCat("the fetch '", fetch->name(), "' is computed by the backward or optimizer part, needs a value of the forward part"));
  }
  return absl::OkStatus();
}

WeightRef Stored(const HostTensor& value, DType declared) {
  WeightRef ref;
  ref.source = WeightBuffer(std::string(static_cast<const char*>(value.data()), value.size_bytes()));
  ref.bytes = value.size_bytes();
  ref.dtype = value.dtype();
  // The values are rounded already, or as the training would round them.
  if (declared != value.dtype()) ref.transforms.push_back({declared, OnOverflow::kKeep, OnTiny::kSubnormal});
  return ref;
}

absl::Status TakeValue(const Scope& scope, const Masters& masters, Var& var) {
  const Scope::Variable* found = scope.Find(var.name());
  if (IsLowPrecision(var.type.dtype)) {
    if (const auto master = masters.find(var.name()); master != masters.end()) {
      if (const Scope::Variable* exact = scope.Find(master->second)) found = exact;
    }
  }
  if (found == nullptr) {
    if (var.weight != nullptr || var.literal != nullptr) return absl::OkStatus();
    return BadInputError(absl::StrCat(Name(var.kind), " '", var.name(), "' has no value in the scope"));
  }
  const HostTensor& value = found->value;
  const TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  const bool same = value.dtype() == var.type.dtype || (value.dtype() == DType::kF32 && IsLowPrecision(var.type.dtype));
  if (!same || !Compatible(type.WithDType(var.type.dtype), var.type)) {
    return BadInputError(
        absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(type), " in the scope, the program needs ", ToString(var.type)));
  }
  var.weight = std::make_unique<WeightRef>(Stored(value, var.type.dtype));
  var.literal = nullptr;
  return absl::OkStatus();
}

absl::Status TakeValues(const Scope& scope, const Masters& masters, Program& program) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (var->kind == VarKind::kParam || var->kind == VarKind::kState) AMPC_RETURN_IF_ERROR(TakeValue(scope, masters, *var));
    }
  }
  return absl::OkStatus();
}

// Which fp32 params a run would cast down: all their readers low, or some.
std::unique_ptr<AmpDecision> LowParams(const Program& program) {
  auto decision = std::make_unique<AmpDecision>();
  decision->low = DType::kInvalid;
  decision->low_param.assign(program.num_var_ids(), false);
  decision->copy_param.assign(program.num_var_ids(), false);
  const UseDef uses(program);
  ForEachVar(program, [&](const Var& var) {
    if (var.kind != VarKind::kParam || var.type.dtype != DType::kF32 || uses.num_writers(var) > 0) return;
    size_t low = 0;
    for (const Use& use : uses.uses(var)) {
      if (!IsInserted(*use.op) || !IsCast(*use.op) || !IsLowPrecision(use.op->outputs()[0]->type.dtype)) continue;
      decision->low = use.op->outputs()[0]->type.dtype;
      ++low;
    }
    if (low > 0) (low == uses.uses(var).size() && !uses.fetched(var) ? decision->low_param : decision->copy_param)[var.id()] = true;
  });
  if (decision->low == DType::kInvalid) return nullptr;
  // The ops take their operands as they are: nothing is to be decided for them any more.
  decision->ops.resize(program.num_op_ids());
  for (OpDecision& op : decision->ops) op.untouched = true;
  return decision;
}

absl::Status StoreLow(Program& program) {
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cpu"));
  std::unique_ptr<AmpDecision> decision = LowParams(program);
  if (decision == nullptr) return absl::OkStatus();
  ctx.Put(std::move(decision));
  return RunPipeline(Pipeline().Add("cast-parameters-to-fp16", {{"on_overflow", "keep"}}), {}, ctx, program);
}

absl::Status RemoveAmpCast(Program& program) {
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cpu"));
  return RunPipeline(Pipeline().Add("remove-amp-cast"), {}, ctx, program);
}

}  // namespace

absl::StatusOr<Program> InferenceProgram(const Program& trained, const Scope& scope, const std::vector<std::string>& feeds,
                                         const std::vector<std::string>& fetches, const InferenceOptions& options) {
  Program program = trained.Clone();
  AMPC_RETURN_IF_ERROR(SetFetches(fetches, program));
  MakeForInference(program);
  AMPC_RETURN_IF_ERROR(CheckFetches(program));
  AMPC_RETURN_IF_ERROR(Prune(feeds, fetches, program).status());
  const Masters masters = options.remove_amp_cast ? FindMasters(trained) : Masters();
  AMPC_RETURN_IF_ERROR(TakeValues(scope, masters, program));
  AMPC_RETURN_IF_ERROR(options.remove_amp_cast ? RemoveAmpCast(program) : StoreLow(program));
  AMPC_RETURN_IF_ERROR(Verify(program));
  return program;
}

absl::Status SaveInferenceProgram(const Program& trained, const Scope& scope, const std::vector<std::string>& feeds,
                                  const std::vector<std::string>& fetches, const std::string& path, const InferenceOptions& options,
                                  const SaveOptions& save) {
  AMPC_ASSIGN_OR_RETURN(const Program program, InferenceProgram(trained, scope, feeds, fetches, options));
  return SaveModel(program, path, save);
}

}  // namespace ampc
