// HostTensor: an owning dense tensor in host memory, row-major, 64-byte aligned. Copies are deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/dtype_of.h"

namespace ampc {

class HostTensor {
 public:
  HostTensor() = default;  // kInvalid, no elements
  // Zero-filled. `dims` must be known (>= 0) and their product times SizeOf(dtype) must fit in memory; use Make for untrusted dims.
  HostTensor(DType dtype, std::vector<int64_t> dims);
  // The same with checks; ResourceExhausted-like errors name the size.
  static absl::StatusOr<HostTensor> Make(DType dtype, std::vector<int64_t> dims);
  // A tensor with these elements; T is an element type (bool, int32_t, float, Half, ...).
  template <typename T>
  static HostTensor Of(std::vector<int64_t> dims, const std::vector<T>& values) {
    HostTensor t(kDTypeOf<T>, std::move(dims));
    for (size_t i = 0; i < values.size(); ++i) t.mutable_values<T>()[i] = values[i];
    return t;
  }
  HostTensor(const HostTensor& other);
  HostTensor& operator=(const HostTensor& other);
  HostTensor(HostTensor&&) noexcept = default;
  HostTensor& operator=(HostTensor&&) noexcept = default;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  int64_t num_bytes() const;
  const void* data() const { return data_.get(); }
  void* mutable_data() { return data_.get(); }
  // The elements; T must be the element type of dtype().
  template <typename T>
  absl::Span<const T> values() const {
    return absl::MakeConstSpan(reinterpret_cast<const T*>(data_.get()), num_elements_);
  }
  template <typename T>
  absl::Span<T> mutable_values() {
    return absl::MakeSpan(reinterpret_cast<T*>(data_.get()), num_elements_);
  }
  // The same bytes seen with other dims of the same number of elements.
  void Reshape(std::vector<int64_t> dims) { dims_ = std::move(dims); }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::kInvalid;
  std::vector<int64_t> dims_;
  int64_t num_elements_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

// Equal dtype, dims and bytes.
bool SameTensor(const HostTensor& a, const HostTensor& b);
// Float tensors converted to another float type (rounded to nearest even), others unchanged.
HostTensor ConvertFloat(const HostTensor& t, DType to);

}  // namespace ampc
