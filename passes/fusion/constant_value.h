// Constants as passes compute with them.
#pragma once

#include <optional>
#include <vector>

#include "graph/base/host_tensor.h"
#include "passes/analysis/use_def.h"

namespace ampc {

// f32, f16 or bf16: the only values that fused ops compute. Their kernels have no other type, and their factors are floats.
bool IsFusedType(DType dtype);
// The elements of a float const or of a param with its weight, widened; nullopt for anything else.
std::optional<std::vector<float>> ConstantFloats(const Var& var);
// The only operand that is neither a literal nor a param; null where there are none or several.
Var* VariableOperand(const Op& op);
// Float values rounded to nearest even into `dtype` (f32, f16, bf16).
HostTensor MakeConstant(DType dtype, absl::Span<const int64_t> dims, absl::Span<const float> values);
// No finite value becomes infinite in `dtype`.
bool FitsType(DType dtype, absl::Span<const float> values);
// A new const of `block` named after `base`.
Var* AddConstant(Block& block, absl::string_view base, HostTensor value);
// Nothing but `op` writes the value, if anything does.
bool WrittenOnlyBy(const UseDef& uses, const Var& var, const Op* op);

}  // namespace ampc
