#include "tools/c_api/tensors.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "tools/c_api/errors.h"
#include "tools/c_api/types.h"

namespace ampc::c_api {

namespace {

absl::Span<const int64_t> DimsOf(const ampc_tensor& tensor) { return {tensor.dims, static_cast<size_t>(tensor.rank)}; }

absl::Status Check(const ampc_tensor& tensor) {
  const DType dtype = FromC(tensor.dtype);
  if (dtype == DType::kInvalid) return UsageError(absl::StrCat("its dtype is ", tensor.dtype, ", an ampc_dtype is needed"));
  if (tensor.rank < 0) return UsageError(absl::StrCat("its rank is ", tensor.rank, ", 0 or more is needed"));
  AMPC_RETURN_IF_ERROR(NeedArray(tensor.dims, static_cast<size_t>(tensor.rank), "its dims"));
  // The size first: nothing is allocated for dims that the data cannot have.
  const std::optional<int64_t> bytes = NumBytes(dtype, DimsOf(tensor));
  if (!bytes.has_value())
    return UsageError(absl::StrCat("its shape is ", ShapeToString(DimsOf(tensor)), ", known dims and less than 2^63 bytes are needed"));
  if (static_cast<uint64_t>(*bytes) != tensor.bytes) {
    return UsageError(
        absl::StrCat("it has ", tensor.bytes, " bytes, ", Name(dtype), " ", ShapeToString(DimsOf(tensor)), " needs ", *bytes));
  }
  return *bytes > 0 ? Need(tensor.data, "its data") : absl::OkStatus();
}

bool IsAligned(const ampc_tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.data) % SizeOf(FromC(tensor.dtype)) == 0; }

}  // namespace

absl::StatusOr<HostTensor> Borrow(const ampc_tensor& tensor) {
  AMPC_RETURN_IF_ERROR(Check(tensor));
  if (IsAligned(tensor)) return HostTensor::Borrow(FromC(tensor.dtype), DimsOf(tensor), tensor.data);
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(FromC(tensor.dtype), DimsOf(tensor)));
  if (tensor.bytes > 0) std::memcpy(out.mutable_data(), tensor.data, tensor.bytes);
  return out;
}

absl::StatusOr<HostTensor> BorrowMutable(const ampc_tensor& tensor) {
  AMPC_RETURN_IF_ERROR(Check(tensor));
  if (IsAligned(tensor)) return HostTensor::BorrowMutable(FromC(tensor.dtype), DimsOf(tensor), const_cast<void*>(tensor.data));
  return HostTensor::CreateUninitialized(FromC(tensor.dtype), DimsOf(tensor));
}

absl::StatusOr<TensorMap> Feeds(absl::Span<const ampc_tensor> inputs) {
  TensorMap feeds;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == nullptr) return UsageError(absl::StrCat("the name of input ", i, " is NULL"));
    absl::StatusOr<HostTensor> tensor = Borrow(inputs[i]);
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("input '", inputs[i].name, "'"));
    if (!feeds.emplace(inputs[i].name, *std::move(tensor)).second)
      return UsageError(absl::StrCat("input '", inputs[i].name, "' is given twice"));
  }
  return feeds;
}

}  // namespace ampc::c_api
