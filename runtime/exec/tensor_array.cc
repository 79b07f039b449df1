#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "kernels/tensor_desc.h"
#include "runtime/exec/host_ops.h"

namespace ampc {
namespace {

// The elements agree in type, rank and all dims but `axis` (none may differ where they are stacked: axis -1).
absl::Status CheckElements(const Op& op, const TensorArray& array, int64_t axis) {
  for (size_t i = 0; i < array.size(); ++i) {
    if (array[i] == nullptr) return UsageError(absl::StrCat(Describe(op), ": element ", i, " of the array has no value"));
    bool same = array[i]->dtype() == array[0]->dtype() && array[i]->rank() == array[0]->rank();
    for (int d = 0; same && d < array[0]->rank(); ++d) same = d == axis || array[i]->dims()[d] == array[0]->dims()[d];
    if (same) continue;
    return UsageError(absl::StrCat(Describe(op), ": element ", i, " of the array has dims ", ShapeToString(array[i]->dims()),
                                   ", element 0 has ", ShapeToString(array[0]->dims())));
  }
  return absl::OkStatus();
}

// The tensor of an empty array: nothing along the axis, and 0 for the dims that the array's type leaves open.
absl::Status NoElements(const HostCall& call, int64_t axis, bool stack) {
  const TensorType& element = call.op.input("X")->type;
  if (!element.has_rank) return UsageError(absl::StrCat(Describe(call.op), ": array '", call.op.input("X")->name(), "' is empty"));
  std::vector<int64_t> dims;
  for (const int64_t d : element.dims) dims.push_back(std::max<int64_t>(d, 0));
  const int64_t limit = static_cast<int64_t>(dims.size()) + (stack ? 1 : 0);
  if (axis < 0) axis += limit;
  if (axis < 0 || axis >= limit)
    return UsageError(absl::StrCat(Describe(call.op), ": axis ", axis, " does not fit elements of rank ", dims.size()));
  if (stack) dims.insert(dims.begin() + axis, 0);
  dims[axis] = 0;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::Create(StorageType(element.dtype), dims));
  call.env.Set(*call.op.output("Out"), std::make_shared<const HostTensor>(std::move(out)));
  if (const Var* index = call.op.output("OutIndex")) {
    const int64_t none[] = {0};
    call.env.Set(*index, std::make_shared<const HostTensor>(HostTensor::FromValues<int32_t>(none, {})));
  }
  return absl::OkStatus();
}

int64_t Product(absl::Span<const int64_t> dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

}  // namespace

absl::Status TensorArrayToTensor(const HostCall& call) {
  const TensorArray& array = call.env.Array(*call.op.input("X"));
  const bool stack = call.op.GetBool("use_stack");
  if (array.empty()) return NoElements(call, call.op.GetInt("axis"), stack);
  const int64_t rank = array[0] == nullptr ? 0 : array[0]->rank();
  const int64_t limit = stack ? rank + 1 : rank;
  int64_t axis = call.op.GetInt("axis");
  if (axis < 0) axis += limit;
  if (axis < 0 || axis >= limit)
    return UsageError(absl::StrCat(Describe(call.op), ": axis ", axis, " does not fit elements of rank ", rank));
  AMPC_RETURN_IF_ERROR(CheckElements(call.op, array, stack ? -1 : axis));
  std::vector<int64_t> dims(array[0]->dims().begin(), array[0]->dims().end());
  std::vector<int32_t> lengths;
  int64_t total = 0;
  for (const SharedTensor& element : array) {
    lengths.push_back(stack ? 1 : static_cast<int32_t>(element->dims()[axis]));
    total += lengths.back();
  }
  if (stack) dims.insert(dims.begin() + axis, 0);
  dims[axis] = total;
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(array[0]->dtype(), dims));
  const int64_t outer = Product(absl::MakeConstSpan(dims).first(axis));
  char* to = static_cast<char*>(out.mutable_data());
  for (int64_t o = 0; o < outer; ++o) {
    for (const SharedTensor& element : array) {
      const size_t bytes = element->size_bytes() / outer;
      if (bytes > 0) std::memcpy(to, static_cast<const char*>(element->data()) + o * bytes, bytes);
      to += bytes;
    }
  }
  call.env.Set(*call.op.output("Out"), std::make_shared<const HostTensor>(std::move(out)));
  if (const Var* index = call.op.output("OutIndex")) {
    const int64_t n = static_cast<int64_t>(lengths.size());
    call.env.Set(*index, std::make_shared<const HostTensor>(HostTensor::FromValues<int32_t>({&n, 1}, lengths)));
  }
  return absl::OkStatus();
}

}  // namespace ampc
