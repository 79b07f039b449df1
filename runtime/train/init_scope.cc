#include "runtime/train/init_scope.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/weight.h"
#include "kernels/tensor_desc.h"
#include "runtime/exec/program_runner.h"

namespace ampc {
namespace {

using Names = absl::flat_hash_set<std::string>;

template <typename F>
absl::Status ForEachKept(const Program& program, F&& f) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (LivesInScope(*var)) AMPC_RETURN_IF_ERROR(f(*var));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> AsStored(const Var& var, bool transformed) {
  WeightRef ref = *var.weight;
  if (!transformed) ref.transforms.clear();
  AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(ref, var.type.dims));
  if (StorageType(value.dtype()) == StorageType(var.type.dtype)) return value;
  return BadInputError(
      absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(var.type), ", but its stored value is ", Name(value.dtype())));
}

// `other`: the variable of that name in the startup program, or null; its declared type holds until that has run.
absl::Status AddOne(const Var& var, const Var* other, Scope& scope, Names& unset) {
  if (!var.type.IsStatic())
    return BadInputError(absl::StrCat(Name(var.kind), " '", var.name(), "' is ", ToString(var.type), ", needs known dims"));
  const Var* stored = var.weight != nullptr ? &var : other != nullptr && other->weight != nullptr ? other : nullptr;
  if (stored == nullptr) {
    const DType dtype = other != nullptr ? other->type.dtype : var.type.dtype;
    AMPC_ASSIGN_OR_RETURN(HostTensor zeros, HostTensor::Create(StorageType(dtype), var.type.dims));
    unset.insert(var.name());
    return scope.Add(var.name(), dtype, std::move(zeros));
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor value, AsStored(*stored, false));
  const DType stored_as = value.dtype();
  AMPC_RETURN_IF_ERROR(scope.Add(var.name(), stored_as, std::move(value)));
  return other == nullptr || StorageType(other->type.dtype) != StorageType(stored_as) ? absl::OkStatus()
                                                                                      : scope.SetDType(var.name(), other->type.dtype);
}

absl::Status AddAll(const TrainingProgram& program, Scope& scope, Names& unset) {
  AMPC_RETURN_IF_ERROR(ForEachKept(
      program.main, [&](const Var& var) -> absl::Status { return AddOne(var, program.startup.main().FindVar(var.name()), scope, unset); }));
  return ForEachKept(program.startup, [&](const Var& var) -> absl::Status {
    return scope.Find(var.name()) != nullptr ? absl::OkStatus() : AddOne(var, nullptr, scope, unset);
  });
}

// An op that reads a variable of `unset` is an error; one that writes it takes it out.
absl::Status CheckReads(const Program& program, const Block& block, Names& unset) {
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (const Var* var : op->inputs()) {
      if (!LivesInScope(*var) || !unset.contains(var->name())) continue;
      return BadInputError(absl::StrCat(Describe(*op), ": reads ", Name(var->kind), " '", var->name(),
                                        "', to which neither a stored weight nor the startup program gives a value"));
    }
    for (int index : op->SubBlocks()) AMPC_RETURN_IF_ERROR(CheckReads(program, program.block(index), unset));
    for (const Var* var : op->outputs()) unset.erase(var->name());
  }
  return absl::OkStatus();
}

absl::Status RunStartup(const Program& startup, int threads, Scope& scope) {
  if (startup.main().ops().empty()) return absl::OkStatus();
  if (!startup.feeds.empty())
    return BadInputError(absl::StrCat("the startup program has a feed '", startup.feeds[0]->name(), "', needs none"));
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<ProgramRunner> runner,
                        ProgramRunner::Create(startup.Clone(), {.threads = threads, .fuse = false, .scope = &scope}));
  return runner->Run({}, nullptr).status();
}

Names Written(const Program& program) {
  Names names;
  ForEachOp(program, [&names](const Op& op) {
    for (const Var* var : op.outputs()) names.insert(var->name());
  });
  return names;
}

}  // namespace

absl::Status FillStateDims(TrainingProgram& program) {
  for (const std::unique_ptr<Op>& op : program.startup.main().ops()) {
    AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(*op, TypeEnv()));
    for (size_t i = 0; i < types.size(); ++i) {
      Var& filled = *op->outputs()[i];
      if (!LivesInScope(filled) || !types[i].has_value() || !types[i]->IsStatic()) continue;
      Var* var = program.main.main().FindVar(filled.name());
      for (Var* open : {&filled, var}) {
        if (open != nullptr && !open->type.IsStatic() && Compatible(open->type, types[i]->WithDType(open->type.dtype))) {
          open->type = types[i]->WithDType(open->type.dtype);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status InitScope(const TrainingProgram& program, int threads, Scope& scope) {
  Names unset;
  AMPC_RETURN_IF_ERROR(AddAll(program, scope, unset));
  AMPC_RETURN_IF_ERROR(CheckReads(program.startup, program.startup.main(), unset));
  AMPC_RETURN_IF_ERROR(RunStartup(program.startup, threads, scope));
  AMPC_RETURN_IF_ERROR(CheckReads(program.main, program.main.main(), unset));
  const Names written = Written(program.startup);
  return ForEachKept(program.main, [&](const Var& var) -> absl::Status {
    if (scope.Find(var.name())->dtype != var.type.dtype) AMPC_RETURN_IF_ERROR(scope.SetDType(var.name(), var.type.dtype));
    if (var.weight == nullptr || var.weight->transforms.empty() || written.contains(var.name())) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(const HostTensor value, AsStored(var, true));
    return scope.Set(var.name(), value);
  });
}

}  // namespace ampc
