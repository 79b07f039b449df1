// PreparedProgram: a program after the passes of a plan, with its constants, its states and what it has on a device: what its plans share.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "kernels/device/open_device.h"
#include "kernels/weight_cache.h"
#include "runtime/exec/scope.h"
#include "runtime/exec/scope_mirror.h"
#include "runtime/plan/constants.h"
#include "runtime/plan/device_constants.h"
#include "runtime/plan/liveness.h"
#include "runtime/plan/plan_context.h"
#include "runtime/plan/plan_target.h"
#include "runtime/plan/state_table.h"

namespace ampc {

struct RunnerOptions {
  int threads = 1;
  bool fuse = true;               // ops may be joined, so that some values are not rounded in between
  bool excess_precision = false;  // see PlanContext
  bool in_place = true;           // see PlanContext
  bool fuse_linear = false;  // of a training step, on a device that has the kernels: linear layers and their gradients, whatever `fuse`
  // Null: params and states are constants of the program, and what it writes to them ends with the run. Otherwise they are those of
  // the scope, by name, whatever weights the program brings along: runs read and overwrite them there, plans bake nothing of them in.
  // The scope must outlive the runner.
  Scope* scope = nullptr;
  KernelChoices* choices = nullptr;  // of kernels on the CPU that have several implementations; null: they choose by the shapes
  // Null: the CPU. Otherwise the program runs on this device, a scope's variables in copies there (runtime/exec/scope_mirror.h).
  const DeviceTarget* target = nullptr;
};

class PreparedProgram {
 public:
  // Errors as ProgramRunner::Create.
  static absl::StatusOr<std::unique_ptr<PreparedProgram>> Create(Program program, const RunnerOptions& options);
  PreparedProgram(const PreparedProgram&) = delete;

  const Program& program() const { return program_; }
  const PlanContext& context() const { return *context_; }
  // Of a scope's variables on a device; otherwise null.
  const MirroredStates* mirrored() const { return states_.mirrored.has_value() ? &*states_.mirrored : nullptr; }

 private:
  // A program's states, in memory and on a device.
  struct States {
    std::unique_ptr<const StateTable> table;  // null without a scope
    std::optional<MirroredStates> mirrored;   // on a device
  };
  PreparedProgram(Program program, States states, Constants constants)
      : program_(std::move(program)),
        states_(std::move(states)),
        constants_(std::move(constants)),
        liveness_(program_, states_.table.get()) {}
  static absl::StatusOr<States> BindStates(const Program& program, Scope& scope, const DeviceTarget* target);
  void SetTarget(const DeviceTarget& target);
  void DeclareConstants();
  void MakeContext(const RunnerOptions& options);

  const Program program_;
  const States states_;
  const Constants constants_;
  const Liveness liveness_;
  WeightCache weights_;
  std::optional<DeviceConstants> device_constants_;
  std::optional<PlanTarget> target_;    // none: the CPU
  std::optional<PlanContext> context_;  // of all this
};

// A param or state that a scope holds: tensors; arrays are made anew by each run.
bool LivesInScope(const Var& var);

}  // namespace ampc
