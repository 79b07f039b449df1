// einsum by plain loops.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/kernel.h"
#include "kernels/spec/product/einsum_spec.h"

namespace ampc {

// The operands of `e` are the kernel's first, its result is the kernel's; all of the type of result 0 of the spec.
absl::StatusOr<std::unique_ptr<Kernel>> MakeEinsumLoops(const SpecView& view, const Equation& e);

}  // namespace ampc
