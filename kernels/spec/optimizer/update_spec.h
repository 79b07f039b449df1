// UpdateSpec: what the kernels of optimizer ops (sgd, momentum, adam, adamw, lamb, and grouped_update of one of them) read from a
// KernelSpec, on every device.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/common/update_rules.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/kernel.h"

namespace ampc {

// A number that is an attribute, a constant operand, or an operand read in each run.
struct ScalarSlot {
  int flat = -1;             // -1: `fixed`
  DType type = DType::kF32;  // of the operand: f32 or f64
  double fixed = 0;

  double Get(const KernelArgs& args) const { return flat < 0 ? fixed : ReadAsDouble(args.inputs[flat], type); }  // on the CPU
};

// One parameter: flat positions of operands and results, -1 for what the op has not.
struct UpdateOperands {
  int weight = -1, weight_out = -1;  // what is computed with: MasterParam, else Param
  int low = -1, low_out = -1;        // Param beside a master weight
  int grad = -1;
  int moments[2] = {-1, -1}, moments_out[2] = {-1, -1};
  int powers[2] = {-1, -1}, powers_out[2] = {-1, -1};
  int64_t elements = 0;
};

struct UpdateSpec {
  UpdateKind kind = UpdateKind::kSgd;
  std::vector<UpdateOperands> params;
  ScalarSlot lr;
  int skip = -1;          // SkipUpdate
  ScalarSlot grad_scale;  // gradients are divided by it (times its reciprocal) in the type that is computed in; 1 without
  // Declared types, the same for all parameters; what is computed in is f64 where the weight is, else f32.
  DType param_type = DType::kF32;   // of Param
  DType weight_type = DType::kF32;  // of what is computed with
  DType grad_type = DType::kF32;
  DType moment_type = DType::kF32;
  bool is_double = false;
  double mu = 0, rescale = 1, decay = 0;  // momentum; decay: lamb's, too
  bool nesterov = false;
  ScalarSlot beta1, beta2, epsilon;  // adam, lamb
  bool own_powers = true;            // adam: the op moves Beta1Pow and Beta2Pow
  double lr_ratio = 1, coeff = 0;    // adamw
  bool adapts = false;               // lamb: the rate is scaled by the norms
};

// Unimplemented for types, or slots left out, that no kernel takes; it names the op.
absl::StatusOr<UpdateSpec> ReadUpdateSpec(const SpecView& view);

// Operands and their results, for a step that is skipped: each result is its operand.
std::vector<std::pair<int, int>> KeptValues(const UpdateSpec& spec);

}  // namespace ampc
