// A tensor in host memory: dense and row-major, in memory of its own, 64-byte aligned, or in somebody else's.
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
// A borrowed tensor lies in memory that its maker keeps until it, and what it was moved to, is gone; a copy of it owns its bytes.
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
  // Over `data`, which is aligned as its elements are (UsageError else, and for NULL where there are elements) and is not written: the
  // first call for mutable memory copies. Others may read it meanwhile, nobody may write it.
  static absl::StatusOr<HostTensor> Borrow(DType dtype, absl::Span<const int64_t> dims, const void* data);
  // The same, and what is written to the tensor is written there.
  static absl::StatusOr<HostTensor> BorrowMutable(DType dtype, absl::Span<const int64_t> dims, void* data);
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
  void* mutable_data() {
    if (data_.get_deleter().memory == Memory::kOthers) *this = HostTensor(*this);
    return data_.get();
  }
  absl::Span<const std::byte> bytes() const { return {data_.get(), size_bytes()}; }
  absl::Span<std::byte> mutable_bytes() { return {static_cast<std::byte*>(mutable_data()), size_bytes()}; }

  // The elements; empty when T is not the type of dtype().
  template <typename T>
  absl::Span<const T> values() const {
    return absl::Span<const T>(reinterpret_cast<const T*>(data_.get()), CountAs<T>());
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    return absl::Span<T>(reinterpret_cast<T*>(mutable_data()), CountAs<T>());
  }

  // New dims over the same bytes. UsageError, and nothing changes, when the number of elements differs.
  absl::Status Reshape(absl::Span<const int64_t> dims);

  // Same dtype, dims and bits (so NaN equals itself and -0 differs from 0).
  friend bool operator==(const HostTensor& a, const HostTensor& b);

 private:
  enum class Memory : uint8_t { kOwn, kOthers, kOthersMutable };
  struct Free {
    Free() : memory(Memory::kOwn) {}
    explicit Free(Memory m) : memory(m) {}
    void operator()(std::byte* data) const {
      if (memory == Memory::kOwn) ::operator delete (data, std::align_val_t{64});
    }
    Memory memory;
  };
  static absl::StatusOr<HostTensor> Over(DType dtype, absl::Span<const int64_t> dims, const void* data, Memory memory);
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
