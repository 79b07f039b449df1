// The names of the functors as numbers, for tables and parameters: functors::UnaryOp::kRelu is functors::Relu.
#pragma once

#include <cstdint>

#include "kernels/common/functors.h"
#include "kernels/common/gradient_functors.h"

namespace ampc::functors {

#define AMPC_ENUM(name) k##name,
enum class UnaryOp : uint8_t { AMPC_UNARY_FUNCTORS(AMPC_ENUM) };
enum class BinaryOp : uint8_t { AMPC_BINARY_FUNCTORS(AMPC_ENUM) };
enum class UnaryGradient : uint8_t { AMPC_UNARY_GRADIENTS(AMPC_ENUM) };
enum class RowGradient : uint8_t { AMPC_BROADCAST_GRADIENTS(AMPC_ENUM) AMPC_REDUCTION_GRADIENTS(AMPC_ENUM) };
#undef AMPC_ENUM

}  // namespace ampc::functors
