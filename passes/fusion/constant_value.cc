#include "passes/fusion/constant_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/host_values.h"

namespace ampc {
namespace {

template <typename T>
HostTensor Rounded(absl::Span<const int64_t> dims, absl::Span<const float> values) {
  std::vector<T> out;
  out.reserve(values.size());
  for (float v : values) out.push_back(T(v));
  return HostTensor::FromValues<T>(dims, out);
}

}  // namespace

bool IsFusedType(DType dtype) { return dtype == DType::kF32 || IsLowPrecision(dtype); }

std::optional<std::vector<float>> ConstantFloats(const Var& var) {
  if (var.literal != nullptr) return FloatsOf(*var.literal);
  if (var.kind != VarKind::kParam && var.kind != VarKind::kState) return std::nullopt;
  if (var.weight == nullptr || !var.type.IsStatic()) return std::nullopt;
  const absl::StatusOr<HostTensor> value = LoadWeight(*var.weight, var.type.dims);
  var.weight->source->Release(var.weight->offset, var.weight->bytes);
  return value.ok() ? FloatsOf(*value) : std::nullopt;
}

Var* VariableOperand(const Op& op) {
  Var* found = nullptr;
  for (Var* var : op.inputs()) {
    if (var->literal != nullptr || var->kind == VarKind::kParam) continue;
    if (found != nullptr) return nullptr;
    found = var;
  }
  return found;
}

HostTensor MakeConstant(DType dtype, absl::Span<const int64_t> dims, absl::Span<const float> values) {
  if (dtype == DType::kF16) return Rounded<Half>(dims, values);
  if (dtype == DType::kBF16) return Rounded<BFloat16>(dims, values);
  return HostTensor::FromValues<float>(dims, values);
}

bool FitsType(DType dtype, absl::Span<const float> values) {
  const float limit = dtype == DType::kF16 ? 65519.996f : dtype == DType::kBF16 ? 3.3961775e38f : std::numeric_limits<float>::max();
  return std::all_of(values.begin(), values.end(), [limit](float v) { return std::abs(v) <= limit; });
}

Var* AddConstant(Block& block, absl::string_view base, HostTensor value) {
  TensorType type(value.dtype(), Dims(value.dims().begin(), value.dims().end()));
  Var* var = block.AddVar(block.UniqueName(base), VarKind::kConst, std::move(type));
  var->literal = std::make_shared<const HostTensor>(std::move(value));
  var->stop_gradient = true;
  return var;
}

bool WrittenOnlyBy(const UseDef& uses, const Var& var, const Op* op) {
  return uses.num_writers(var) == 0 || (uses.num_writers(var) == 1 && uses.producer(var) == op);
}

}  // namespace ampc
