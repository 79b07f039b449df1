// Implementations of oneDNN as Kernel::implementation() names them. Only kernels/lib includes this.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"
#include "kernels/common/activation.h"
#include "kernels/lib/onednn_primitive.h"

namespace ampc::onednn {

// "onednn:brgconv:avx512_core:bf16": oneDNN's own name between ours and the type of the factors, where that is not f32.
struct KernelName {
  std::string implementation;
  DType type = DType::kF32;
};
KernelName ParseName(absl::string_view name);
std::string NameOf(const_dnnl_primitive_desc_t pd, DType type);

// Appends the names of all implementations that are no reference and not among `names` yet.
absl::Status AddNames(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr, DType type, std::vector<std::string>* names);

bool ComputesInBf16();  // this CPU

// " activation 9 1 0 1 0", or nothing for none.
std::string TextOf(const Activation& activation);

}  // namespace ampc::onednn
