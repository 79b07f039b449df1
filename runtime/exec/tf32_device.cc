#include "runtime/exec/tf32_device.h"

#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<std::shared_ptr<const MatmulPlan>> Tf32Device::Matmul::Plan(const MatmulDesc& desc, int64_t workspace_limit) {
  AMPC_ASSIGN_OR_RETURN(MatmulLibrary * library, owner_.target().matmul());
  MatmulDesc allowed = desc;
  allowed.tf32 = desc.type_ab == DType::kF32;
  return library->Plan(allowed, workspace_limit);
}

absl::StatusOr<std::shared_ptr<const ConvPlan>> Tf32Device::Conv::Plan(const ConvDesc& desc, int64_t workspace_limit) {
  AMPC_ASSIGN_OR_RETURN(ConvLibrary * library, owner_.target().conv());
  ConvDesc allowed = desc;
  allowed.tf32 = desc.type == DType::kF32;
  return library->Plan(allowed, workspace_limit);
}

}  // namespace ampc
