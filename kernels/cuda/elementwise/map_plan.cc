#include "kernels/cuda/elementwise/map_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/host_tensor.h"
#include "kernels/cpu/elementwise/broadcast.h"

namespace ampc::cuda {
namespace {

// How the lanes of a thread lie in an operand that does not have all elements.
Along AlongOf(const MapShape& shape, const MapOperand& in) {
  if (shape.size[0].divisor() % kMaxLanes != 0) return Along::kElement;
  return in.stride[0] == 0 ? Along::kRepeat : Along::kRow;
}

}  // namespace

bool PlanMap(absl::Span<const std::vector<int64_t>> operands, absl::Span<const int64_t> out, MapShape* shape, absl::Span<MapOperand> in) {
  struct Axis {
    int64_t size;
    std::vector<int64_t> stride;
  };
  std::vector<Axis> axes;  // innermost first
  std::vector<int64_t> elements(operands.size(), 1);
  shape->n = 1;
  for (size_t d = out.size(); d-- > 0;) {
    shape->n *= out[d];
    Axis axis{out[d], std::vector<int64_t>(operands.size())};
    for (size_t i = 0; i < operands.size(); ++i) {
      axis.stride[i] = operands[i][d] == 1 ? 0 : elements[i];
      elements[i] *= operands[i][d];
    }
    if (axis.size == 1) continue;
    bool joins = !axes.empty();
    for (size_t i = 0; joins && i < operands.size(); ++i) joins = axis.stride[i] == axes.back().stride[i] * axes.back().size;
    if (joins) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(std::move(axis));
    }
  }
  if (axes.size() > kMaxMapRank) return false;
  if (shape->n == 0) return true;
  shape->rank = static_cast<int>(axes.size());
  for (int d = 0; d < shape->rank; ++d) {
    shape->size[d] = Divider(axes[d].size);
    for (size_t i = 0; i < operands.size(); ++i) in[i].stride[d] = axes[d].stride[i];
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    in[i].along = elements[i] == shape->n ? Along::kSame : elements[i] == 1 ? Along::kOne : AlongOf(*shape, in[i]);
  }
  return true;
}

absl::Status PlanBinary(const SpecView& view, MapParams<2>* p) {
  const KernelSpec& spec = view.spec();
  const std::optional<AlignedDims> dims =
      AlignDims(spec.inputs[0].dims, spec.inputs[1].dims, view.op().GetInt("axis", -1), spec.outputs[0].dims);
  if (!dims) return view.Internal("the operands do not broadcast to the result");
  const std::vector<int64_t> operands[] = {dims->x, dims->y};
  if (!PlanMap(operands, spec.outputs[0].dims, &p->shape, p->in)) {
    return view.Unsupported(absl::StrCat("operands that repeat along more than ", kMaxMapRank, " dimensions have no device kernel"));
  }
  for (int i = 0; i < 2; ++i) p->in[i].dtype = spec.inputs[i].dtype;
  p->out.dtype = spec.outputs[0].dtype;
  return absl::OkStatus();
}

absl::Status CheckClass(const SpecView& view, DType operand, DType result) {
  if (!IsComplex(operand) && StorageType(operand) == StorageType(result)) return absl::OkStatus();
  return view.Unsupported(absl::StrCat("operands of the types ", std::string(Name(operand)), " and ", std::string(Name(result)),
                                       " have no common device kernel; cast one first"));
}

DeviceScalar::DeviceScalar(const SpecView& view, absl::string_view slot, double fallback) {
  Fix(fallback, integer::FromFloat<int64_t>(fallback));
  const int flat = view.In(slot);
  if (flat < 0) return;
  if (const std::optional<double> value = view.Number(slot)) {
    const HostTensor& exact = *view.spec().values[flat];
    Fix(*value, ReadAsInt(exact.data(), exact.dtype()));
    return;
  }
  flat_ = flat;
  source_.dtype = view.spec().inputs[flat].dtype;
}

}  // namespace ampc::cuda
