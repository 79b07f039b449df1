#include "runtime/plan/constants.h"

#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<HostTensor> ToStorage(HostTensor value) {
  if (!IsLowPrecision(value.dtype())) return value;
  AMPC_ASSIGN_OR_RETURN(HostTensor wide, HostTensor::CreateUninitialized(DType::kF32, value.dims()));
  const size_t n = static_cast<size_t>(value.num_elements());
  float* out = wide.mutable_values<float>().data();
  if (value.dtype() == DType::kF16) {
    F16ToF32(value.values<Half>().data(), out, n);
  } else {
    BF16ToF32(value.values<BFloat16>().data(), out, n);
  }
  return wide;
}

absl::StatusOr<HostTensor> FromStorage(const HostTensor& value, DType declared) {
  if (!IsLowPrecision(declared)) return value;
  AMPC_ASSIGN_OR_RETURN(HostTensor narrow, HostTensor::CreateUninitialized(declared, value.dims()));
  const size_t n = static_cast<size_t>(value.num_elements());
  const float* from = value.values<float>().data();
  if (declared == DType::kF16) {
    F32ToF16(from, narrow.mutable_values<Half>().data(), n);
  } else {
    F32ToBF16(from, narrow.mutable_values<BFloat16>().data(), n);
  }
  return narrow;
}

absl::StatusOr<Constants> Constants::Load(const Program& program, const StateTable* states) {
  Constants constants;
  constants.values_.resize(program.num_var_ids());
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) {
      if (states != nullptr && states->Find(*var) != nullptr) continue;
      std::unique_ptr<const HostTensor>& slot = constants.values_[var->id()];
      if (var->literal != nullptr) {
        AMPC_ASSIGN_OR_RETURN(HostTensor value, ToStorage(*var->literal));
        slot = std::make_unique<HostTensor>(std::move(value));
      } else if (var->weight != nullptr) {
        if (!var->type.IsStatic()) return BadInputError(absl::StrCat("'", var->name(), "' has a stored value but no fixed shape: ", ToString(var->type)));
        AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(*var->weight, var->type.dims));
        AMPC_ASSIGN_OR_RETURN(HostTensor wide, ToStorage(std::move(value)));
        slot = std::make_unique<HostTensor>(std::move(wide));
      } else if (var->kind == VarKind::kParam) {
        return BadInputError(absl::StrCat("param '", var->name(), "' has no stored value: the program was loaded without its weights"));
      }
    }
  }
  return constants;
}

}  // namespace ampc
