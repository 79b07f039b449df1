#include "passes/analysis/shape_values.h"

#include <algorithm>

#include "graph/base/host_tensor.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

constexpr int64_t kMostElements = 64;

bool IsType(const Op& op, absl::string_view onnx_type, absl::string_view native) {
  return onnx::DefOf(op.def()) != nullptr ? onnx::TypeName(op.def()) == onnx_type : op.type() == native;
}

int64_t Clamped(int64_t at, int64_t size) { return std::clamp(at < 0 ? at + size : at, int64_t{0}, size); }

// The literal as it is, negative numbers included.
std::optional<std::vector<int64_t>> Literal(const Var* var) {
  if (var == nullptr || var->literal == nullptr || var->literal->num_elements() > kMostElements) return std::nullopt;
  if (var->literal->dtype() == DType::kI64)
    return std::vector<int64_t>(var->literal->values<int64_t>().begin(), var->literal->values<int64_t>().end());
  if (var->literal->dtype() == DType::kI32)
    return std::vector<int64_t>(var->literal->values<int32_t>().begin(), var->literal->values<int32_t>().end());
  return std::nullopt;
}

}  // namespace

const Dims* ShapeValues::Of(const Var& var) {
  const auto it = values_.find(&var);
  if (it != values_.end()) return &it->second;
  const std::optional<std::vector<int64_t>> literal = Literal(&var);
  if (!literal.has_value()) return nullptr;
  return &values_.emplace(&var, Dims(literal->begin(), literal->end())).first->second;
}

void ShapeValues::Add(const Op& op) {
  if (op.outputs().size() != 1 || op.inputs().empty() || !IsInteger(op.outputs()[0]->type.dtype)) return;
  std::optional<Dims> value = Compute(op);
  if (value.has_value() && static_cast<int64_t>(value->size()) <= kMostElements) values_[op.outputs()[0]] = *std::move(value);
}

std::optional<Dims> ShapeValues::Compute(const Op& op) {
  const Var& in = *op.inputs()[0];
  if (IsType(op, "Shape", "shape")) {
    if (!in.type.has_rank) return std::nullopt;
    const int64_t rank = in.type.rank();
    const int64_t from = Clamped(op.GetInt("start", 0), rank);
    const int64_t to = op.explicit_attr("end") == nullptr ? rank : Clamped(op.GetInt("end"), rank);
    return from < to ? Dims(in.type.dims.begin() + from, in.type.dims.begin() + to) : Dims();
  }
  if (IsType(op, "Concat", "concat")) {
    Dims all;
    for (const Var* var : op.inputs()) {
      const Dims* part = Of(*var);
      if (part == nullptr || var->type.rank() != 1) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
  const Dims* value = Of(in);
  if (value == nullptr || in.type.rank() > 1) return std::nullopt;
  const Dims source = *value;
  const auto size = static_cast<int64_t>(source.size());
  if (op.type() == "cast" || IsType(op, "Identity", "assign") || IsType(op, "Unsqueeze", "unsqueeze2") || IsType(op, "Squeeze", "squeeze2"))
    return source;
  if (IsType(op, "Gather", "gather") && op.inputs().size() >= 2) {
    const std::optional<std::vector<int64_t>> index = Literal(op.inputs()[1]);
    if (!index.has_value()) return std::nullopt;
    Dims out;
    for (const int64_t i : *index) {
      if (i < -size || i >= size) return std::nullopt;
      out.push_back(source[i < 0 ? i + size : i]);
    }
    return out;
  }
  if (onnx::TypeName(op.def()) == "Slice" && op.inputs().size() >= 3) {
    const auto starts = Literal(op.inputs()[1]), ends = Literal(op.inputs()[2]);
    const int steps_slot = op.def().InputSlot("steps");
    const auto steps = steps_slot < 0 || op.input(steps_slot) == nullptr ? std::vector<int64_t>{1} : Literal(op.input(steps_slot));
    if (!starts.has_value() || !ends.has_value() || starts->size() != 1 || ends->size() != 1 || steps != std::vector<int64_t>{1})
      return std::nullopt;
    const int64_t from = Clamped((*starts)[0], size), to = Clamped((*ends)[0], size);
    return from < to ? Dims(source.begin() + from, source.begin() + to) : Dims();
  }
  return std::nullopt;
}

std::optional<Dims> ShapeValues::ResultDims(const Op& op) {
  const absl::string_view type = onnx::TypeName(op.def());
  if (onnx::DefOf(op.def()) == nullptr || op.inputs().empty()) return std::nullopt;
  if (type == "ConstantOfShape") {
    const Dims* dims = Of(*op.inputs()[0]);
    return dims == nullptr ? std::nullopt : std::optional<Dims>(*dims);
  }
  if ((type != "Reshape" && type != "Expand") || op.inputs().size() < 2) return std::nullopt;
  const Dims* wanted = Of(*op.inputs()[1]);
  if (wanted == nullptr) return std::nullopt;
  const TensorType& in = op.inputs()[0]->type;
  Dims dims = *wanted;
  if (type == "Reshape") {
    for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
      if (dims[i] == 0 && op.GetInt("allowzero") == 0) dims[i] = in.has_rank && i < in.rank() ? in.dims[i] : kUnknownDim;
    }
    return dims;
  }
  if (!in.has_rank) return std::nullopt;
  const int rank = std::max(in.rank(), static_cast<int>(dims.size()));
  Dims out(rank, kUnknownDim);
  for (int i = 0; i < rank; ++i) {
    const int a = i - (rank - in.rank()), b = i - (rank - static_cast<int>(dims.size()));
    const int64_t have = a < 0 ? 1 : in.dims[a], want = b < 0 ? 1 : dims[b];
    out[i] = have == 1 ? want : want == 1 || have > 1 ? have : want > 1 ? want : kUnknownDim;
  }
  return out;
}

}  // namespace ampc
