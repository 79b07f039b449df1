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

absl::StatusOr<HostTensor> Borrow(const ampc_tensor& tensor) {
  const DType dtype = FromC(tensor.dtype);
  if (dtype == DType::kInvalid) return UsageError(absl::StrCat("its dtype is ", tensor.dtype, ", an ampc_dtype is needed"));
  if (tensor.rank < 0) return UsageError(absl::StrCat("its rank is ", tensor.rank, ", 0 or more is needed"));
  AMPC_RETURN_IF_ERROR(NeedArray(tensor.dims, static_cast<size_t>(tensor.rank), "its dims"));
  // The size first: nothing is allocated for dims that the data cannot have.
  const absl::Span<const int64_t> dims(tensor.dims, static_cast<size_t>(tensor.rank));
  const std::optional<int64_t> bytes = NumBytes(dtype, dims);
  if (!bytes.has_value())
    return UsageError(absl::StrCat("its shape is ", ShapeToString(dims), ", known dims and less than 2^63 bytes are needed"));
  if (static_cast<uint64_t>(*bytes) != tensor.bytes) {
    return UsageError(absl::StrCat("it has ", tensor.bytes, " bytes, ", Name(dtype), " ", ShapeToString(dims), " needs ", *bytes));
  }
  if (*bytes > 0) AMPC_RETURN_IF_ERROR(Need(tensor.data, "its data"));
  if (reinterpret_cast<uintptr_t>(tensor.data) % SizeOf(dtype) == 0) return HostTensor::Borrow(dtype, dims, tensor.data);
  AMPC_ASSIGN_OR_RETURN(HostTensor out, HostTensor::CreateUninitialized(dtype, dims));
  if (*bytes == 0) return out;
  std::memcpy(out.mutable_data(), tensor.data, tensor.bytes);
  return out;
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
