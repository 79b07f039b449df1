// A tensor in host memory that owns its bytes: dense, row-major, 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype.h"
#include "graph/base/dtype_of.h"

namespace ampc {

// A regular value: copying copies the bytes, moving keeps their address and leaves the source without elements.
class HostTensor {
 public:
  HostTensor() = default;  // dtype kInvalid, no elements
  HostTensor(const HostTensor& other);
  HostTensor& operator=(const HostTensor& other);
  HostTensor(HostTensor&& other) noexcept;
  HostTensor& operator=(HostTensor&& other) noexcept;

  // UsageError for kInvalid, a negative dimension or an overflow; InternalError when there is not enough memory.
  static absl::StatusOr<HostTensor> Create(DType dtype, absl::Span<const int64_t> dims);  // all bits zero
  static absl::StatusOr<HostTensor> CreateUninitialized(DType dtype, absl::Span<const int64_t> dims);
  // For literals in programs and tests: as many values as the valid shape `dims` has elements (missing ones are zero).
  template <typename T>
  static HostTensor Of(absl::Span<const int64_t> dims, std::initializer_list<T> values) {
    return FromValues<T>(dims, absl::Span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static HostTensor FromValues(absl::Span<const int64_t> dims, absl::Span<const T> values) {
    return FromBytes(kDTypeOf<T>, dims, values.data(), values.size() * sizeof(T));
  }

  DType dtype() const { return dtype_; }
  absl::Span<const int64_t> dims() const { return dims_; }
  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t num_elements() const { return num_elements_; }
  size_t size_bytes() const { return static_cast<size_t>(num_elements_) * SizeOf(dtype_); }

  const void* data() const { return data_.get(); }  // null only without elements
  void* mutable_data() { return data_.get(); }
  absl::Span<const std::byte> bytes() const { return {data_.get(), size_bytes()}; }
  absl::Span<std::byte> mutable_bytes() { return {data_.get(), size_bytes()}; }

  // The elements; empty when T is not the type of dtype().
  template <typename T>
  absl::Span<const T> values() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(data_.get()), CountAs<T>());
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    return absl::Span<T>(reinterpret_cast<T*>(data_.get()), CountAs<T>());
  }

  // New dims over the same bytes. UsageError, and nothing changes, when the number of elements differs.
  absl::Status Reshape(absl::Span<const int64_t> dims);

  // Same dtype, dims and bits (so NaN equals itself and -0 differs from 0).
  friend bool operator==(const HostTensor& a, const HostTensor& b);

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  static HostTensor FromBytes(DType dtype, absl::Span<const int64_t> dims, const void* bytes, size_t size);
  template <typename T>
  size_t CountAs() const {
    return kDTypeOf<T> == dtype_ ? static_cast<size_t>(num_elements_) : 0;
  }

  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> dims_;
  int64_t num_elements_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace ampc
