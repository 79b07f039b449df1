// Steps that no op asked for: a value to another place, or to another memory order.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "runtime/plan/plan_target.h"

namespace ampc {

// An operand to another place, bit by bit.
std::unique_ptr<Kernel> MakeCopy(int input, int64_t bytes);

// A value from one memory order to the other; where both orders are the same, an alias. On a device by the entry of this name in its
// registry, whose spec has no op; where there is none, on the host.
inline constexpr char kConvertLayout[] = "convert_layout";
absl::StatusOr<std::unique_ptr<Kernel>> MakeLayoutConversion(const PlanTarget* target, const TensorDesc& from, const TensorDesc& to);

// True where both orders put every element at the same place.
bool SameInBothLayouts(const Dims& dims);

}  // namespace ampc
