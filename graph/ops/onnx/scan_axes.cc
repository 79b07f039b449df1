#include "graph/ops/onnx/scan_axes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

// The type without the dim `axis`; unranked where the axis does not fit.
TensorType Without(TensorType type, int64_t axis) {
  if (!type.has_rank) return type;
  if (axis < 0) axis += type.rank();
  if (axis < 0 || axis >= type.rank()) return TensorType::Unranked(type.dtype);
  type.dims.erase(type.dims.begin() + axis);
  return type;
}

// `n` numbers; zeros where the attribute is not given.
absl::StatusOr<std::vector<int64_t>> Numbers(const Op& op, absl::string_view name, int n) {
  std::vector<int64_t> out = op.GetInts(name);
  if (out.empty()) out.resize(n, 0);
  if (static_cast<int>(out.size()) == n) return out;
  return BadInputError(absl::StrCat(Describe(op), ": attribute ", name, " has ", out.size(), " elements, needs ", n));
}

absl::StatusOr<std::vector<bool>> Directions(const Op& op, absl::string_view name, int n) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, Numbers(op, name, n));
  std::vector<bool> out;
  for (const int64_t v : numbers) out.push_back(v != 0);
  return out;
}

// Operands have the batch and, but for states, the axis that is scanned.
absl::Status CheckRanks(const Op& op, const ScanAxes& axes) {
  for (size_t i = 0; i < axes.operands.size(); ++i) {
    const TensorType& type = axes.operands[i]->type;
    const int needed = (axes.batched ? 1 : 0) + (static_cast<int>(i) < axes.states ? 0 : 1);
    if (type.has_rank && type.rank() < needed)
      return BadInputError(
          absl::StrCat(Describe(op), ": '", axes.operands[i]->name(), "' has rank ", type.rank(), ", needs at least ", needed));
  }
  return absl::OkStatus();
}

}  // namespace

TensorType ScanAxes::EntryType(int i) const {
  TensorType type = operands[i]->type;
  if (batched) type = Without(std::move(type), 0);
  return i < states ? type : Without(std::move(type), in_axes[i - states]);
}

TensorType ScanAxes::OutputType(int i, const TensorType& element) const {
  if (!element.has_rank) return element;
  const TensorType& scanned = operands[states]->type;
  const int batch = batched ? 1 : 0;
  const int64_t in_axis = batch + (in_axes[0] < 0 && scanned.has_rank ? in_axes[0] + scanned.rank() - batch : in_axes[0]);
  const int64_t steps = scanned.has_rank && in_axis >= 0 && in_axis < scanned.rank() ? scanned.dims[in_axis] : kUnknownDim;
  const int64_t axis = out_axes[i] < 0 ? out_axes[i] + element.rank() + 1 : out_axes[i];
  if (axis < 0 || axis > element.rank()) return TensorType::Unranked(element.dtype);
  TensorType out = element;
  out.dims.insert(out.dims.begin() + axis, steps);
  if (batched) out.dims.insert(out.dims.begin(), scanned.has_rank ? scanned.dims[0] : kUnknownDim);
  return out;
}

absl::StatusOr<ScanAxes> ReadScanAxes(const Op& op) {
  ScanAxes out;
  out.batched = static_cast<const OnnxDef&>(op.def()).schema->since < 9;
  out.operands = op.inputs(op.def().InputSlot("initial_state_and_scan_inputs"));
  const int64_t inputs = op.GetInt("num_scan_inputs");
  out.states = static_cast<int>(static_cast<int64_t>(out.operands.size()) - inputs);
  out.outputs = static_cast<int>(op.outputs().size()) - out.states;
  if (inputs < 1 || out.states < 0 || out.outputs < 0) {
    return BadInputError(absl::StrCat(Describe(op), ": num_scan_inputs is ", inputs, ", the op has ", out.operands.size(), " operands and ",
                                      op.outputs().size(), " results"));
  }
  AMPC_RETURN_IF_ERROR(CheckRanks(op, out));
  const int n = static_cast<int>(inputs);
  if (out.batched) {
    out.in_axes.assign(n, 0);
    out.out_axes.assign(out.outputs, 0);
    out.out_reversed.assign(out.outputs, false);
    AMPC_ASSIGN_OR_RETURN(out.in_reversed, Directions(op, "directions", n));
    return out;
  }
  AMPC_ASSIGN_OR_RETURN(out.in_axes, Numbers(op, "scan_input_axes", n));
  AMPC_ASSIGN_OR_RETURN(out.out_axes, Numbers(op, "scan_output_axes", out.outputs));
  AMPC_ASSIGN_OR_RETURN(out.in_reversed, Directions(op, "scan_input_directions", n));
  AMPC_ASSIGN_OR_RETURN(out.out_reversed, Directions(op, "scan_output_directions", out.outputs));
  return out;
}

}  // namespace ampc::onnx
