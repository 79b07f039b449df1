#include "graph/base/host_tensor.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"

namespace ampc {
namespace {

constexpr size_t kAlignment = 64;

int64_t Product(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

void ToF32(const HostTensor& t, float* out) {
  const size_t n = static_cast<size_t>(t.num_elements());
  switch (t.dtype()) {
    case DType::kF16: F16ToF32(t.values<Half>().data(), out, n); break;
    case DType::kBF16: BF16ToF32(t.values<BFloat16>().data(), out, n); break;
    case DType::kF64:
      for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(t.values<double>()[i]);
      break;
    default: std::memcpy(out, t.data(), n * sizeof(float));
  }
}

}  // namespace

void HostTensor::Free::operator()(std::byte* p) const { std::free(p); }

HostTensor::HostTensor(DType dtype, std::vector<int64_t> dims) : dtype_(dtype), dims_(std::move(dims)), num_elements_(Product(dims_)) {
  const size_t bytes = (static_cast<size_t>(num_bytes()) + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes == 0) return;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get(), 0, bytes);
}

absl::StatusOr<HostTensor> HostTensor::Make(DType dtype, std::vector<int64_t> dims) {
  int64_t bytes = static_cast<int64_t>(SizeOf(dtype));
  if (bytes == 0) return UsageError("a tensor needs an element type");
  for (int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(bytes, d, &bytes) || bytes > (int64_t{1} << 46)) {
      return BadInputError(absl::StrCat("a tensor of dims [", absl::StrJoin(dims, ", "), "] does not fit in memory"));
    }
  }
  return HostTensor(dtype, std::move(dims));
}

HostTensor::HostTensor(const HostTensor& other) : HostTensor(other.dtype_, other.dims_) {
  if (num_bytes() > 0) std::memcpy(data_.get(), other.data_.get(), static_cast<size_t>(num_bytes()));
}

HostTensor& HostTensor::operator=(const HostTensor& other) {
  if (this != &other) *this = HostTensor(other);
  return *this;
}

int64_t HostTensor::num_bytes() const { return num_elements_ * static_cast<int64_t>(SizeOf(dtype_)); }

bool SameTensor(const HostTensor& a, const HostTensor& b) {
  return a.dtype() == b.dtype() && a.dims() == b.dims() &&
         (a.num_bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.num_bytes())) == 0);
}

HostTensor ConvertFloat(const HostTensor& t, DType to) {
  if (t.dtype() == to || !IsFloat(t.dtype()) || !IsFloat(to)) return t;
  HostTensor wide(DType::kF32, t.dims());
  if (t.num_elements() > 0) ToF32(t, wide.mutable_values<float>().data());
  if (to == DType::kF32) return wide;
  HostTensor out(to, t.dims());
  const size_t n = static_cast<size_t>(t.num_elements());
  const float* in = wide.values<float>().data();
  switch (to) {
    case DType::kF16: F32ToF16(in, out.mutable_values<Half>().data(), n); break;
    case DType::kBF16: F32ToBF16(in, out.mutable_values<BFloat16>().data(), n); break;
    default:
      for (size_t i = 0; i < n; ++i) out.mutable_values<double>()[i] = in[i];
  }
  return out;
}

}  // namespace ampc
