#include "graph/base/host_tensor.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {

namespace {

absl::StatusOr<size_t> CheckedBytes(DType dtype, absl::Span<const int64_t> dims) {
  const std::optional<int64_t> bytes = NumBytes(dtype, dims);
  if (SizeOf(dtype) == 0) return UsageError("tensor without an element type");
  if (bytes) return static_cast<size_t>(*bytes);
  return UsageError(absl::StrCat("tensor of shape ", ShapeToString(dims), ": needs known dimensions and less than 2^63 bytes"));
}

}  // namespace

absl::StatusOr<HostTensor> HostTensor::Over(DType dtype, absl::Span<const int64_t> dims, const void* data, Memory memory) {
  AMPC_ASSIGN_OR_RETURN(const size_t bytes, CheckedBytes(dtype, dims));
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_.assign(dims.begin(), dims.end());
  tensor.num_elements_ = *NumElements(dims);
  if (bytes == 0) return tensor;
  const size_t alignment = IsComplex(dtype) ? SizeOf(dtype) / 2 : SizeOf(dtype);
  if (data == nullptr) return UsageError(absl::StrCat("tensor over NULL: needs ", bytes, " bytes"));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return UsageError(absl::StrCat("tensor over memory at address ", reinterpret_cast<uintptr_t>(data), ": ", Name(dtype),
                                   " needs a multiple of ", alignment));
  }
  tensor.data_ = {static_cast<std::byte*>(const_cast<void*>(data)), Free(memory)};
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::Borrow(DType dtype, absl::Span<const int64_t> dims, const void* data) {
  return Over(dtype, dims, data, Memory::kOthers);
}

absl::StatusOr<HostTensor> HostTensor::BorrowMutable(DType dtype, absl::Span<const int64_t> dims, void* data) {
  return Over(dtype, dims, data, Memory::kOthersMutable);
}

absl::StatusOr<HostTensor> HostTensor::CreateUninitialized(DType dtype, absl::Span<const int64_t> dims) {
  AMPC_ASSIGN_OR_RETURN(const size_t bytes, CheckedBytes(dtype, dims));
  void* const data = bytes > 0 ? ::operator new (bytes, std::align_val_t{64}, std::nothrow) : nullptr;
  if (bytes > 0 && data == nullptr) {
    return InternalError(absl::StrCat("out of memory: ", Name(dtype), " tensor ", ShapeToString(dims), " needs ", bytes, " bytes"));
  }
  return Over(dtype, dims, data, Memory::kOwn);
}

absl::StatusOr<HostTensor> HostTensor::Create(DType dtype, absl::Span<const int64_t> dims) {
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, CreateUninitialized(dtype, dims));
  if (tensor.size_bytes() > 0) std::memset(tensor.data_.get(), 0, tensor.size_bytes());
  return tensor;
}

HostTensor HostTensor::FromBytes(DType dtype, absl::Span<const int64_t> dims, const void* bytes, size_t size) {
  absl::StatusOr<HostTensor> tensor = Create(dtype, dims);
  // The shape is valid, so it is memory that there is none of: as copying says it, for callers rely on what they asked for.
  if (!tensor.ok()) throw std::bad_alloc();
  size = std::min(size, tensor->size_bytes());
  if (size > 0) std::memcpy(tensor->data_.get(), bytes, size);
  return *std::move(tensor);
}

HostTensor::HostTensor(const HostTensor& other) : dtype_(other.dtype_), dims_(other.dims_), num_elements_(other.num_elements_) {
  if (other.data_ == nullptr) return;
  data_.reset(static_cast<std::byte*>(::operator new (size_bytes(), std::align_val_t{64})));
  std::memcpy(data_.get(), other.data_.get(), size_bytes());
}

HostTensor& HostTensor::operator=(const HostTensor& other) {
  if (this != &other) *this = HostTensor(other);
  return *this;
}

HostTensor::HostTensor(HostTensor&& other) noexcept { *this = std::move(other); }

HostTensor& HostTensor::operator=(HostTensor&& other) noexcept {
  dtype_ = std::exchange(other.dtype_, DType::kInvalid);
  dims_ = std::exchange(other.dims_, {});
  num_elements_ = std::exchange(other.num_elements_, 0);
  data_ = std::move(other.data_);
  return *this;
}

absl::Status HostTensor::Reshape(absl::Span<const int64_t> dims) {
  if (NumElements(dims) != num_elements_) {
    return UsageError(absl::StrCat("reshape of ", ShapeToString(dims_), " to ", ShapeToString(dims),
                                   ": needs the same number of elements, ", num_elements_));
  }
  dims_.assign(dims.begin(), dims.end());
  return absl::OkStatus();
}

bool operator==(const HostTensor& a, const HostTensor& b) {
  return a.dtype_ == b.dtype_ && a.dims_ == b.dims_ &&
         (a.size_bytes() == 0 || std::memcmp(a.data_.get(), b.data_.get(), a.size_bytes()) == 0);
}

}  // namespace ampc
