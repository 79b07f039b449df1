#include "runtime/exec/values.h"

#include <cstring>
#include <utility>

#include "graph/base/convert.h"
#include "graph/base/status_macros.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/tensor_desc.h"

namespace ampc {
namespace {

// `n` elements from storage to declared type.
void NarrowTo(const void* from, DType to, size_t n, void* out) {
  switch (to) {
    case DType::kF16: F32ToF16(static_cast<const float*>(from), static_cast<Half*>(out), n); break;
    case DType::kBF16: F32ToBF16(static_cast<const float*>(from), static_cast<BFloat16*>(out), n); break;
    default: std::memcpy(out, from, n * SizeOf(to));
  }
}

}  // namespace

void Narrow(const void* from, int threads, HostTensor& out) {
  const DType to = out.dtype();
  const size_t read = SizeOf(StorageType(to)), written = SizeOf(to);
  ParallelFor(threads, out.num_elements(), 1 << 15, [&](int64_t first, int64_t last) {
    const size_t n = static_cast<size_t>(last - first);
    NarrowTo(static_cast<const char*>(from) + first * read, to, n, static_cast<char*>(out.mutable_data()) + first * written);
  });
}

void ToDeclared(const HostTensor& value, DType declared, void* to) {
  if (value.size_bytes() == 0) return;
  if (value.dtype() == declared) {
    std::memcpy(to, value.data(), value.size_bytes());
  } else {
    NarrowTo(value.data(), declared, static_cast<size_t>(value.num_elements()), to);
  }
}

void FromDeclared(const void* from, DType declared, HostTensor& out) {
  const size_t n = static_cast<size_t>(out.num_elements());
  if (n == 0) return;
  if (out.dtype() == declared) {
    std::memcpy(out.mutable_data(), from, out.size_bytes());
  } else if (declared == DType::kF16) {
    F16ToF32(static_cast<const Half*>(from), out.mutable_values<float>().data(), n);
  } else {
    BF16ToF32(static_cast<const BFloat16*>(from), out.mutable_values<float>().data(), n);
  }
}

absl::Status MakePlain(ObservedValue& value, std::deque<HostTensor>& owned) {
  if (value.desc.layout == Layout::kPlain && !value.desc.half) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(HostTensor t, HostTensor::CreateUninitialized(DType::kF32, value.desc.dims));
  TensorDesc plain = value.desc;
  plain.layout = Layout::kPlain;
  plain.half = false;
  if (value.desc.layout == Layout::kPlain) {
    ConvertStored(value.data, value.desc.storage(), t.mutable_data(), DType::kF32, t.num_elements(), 1);
  } else {
    ConvertTensor(1, value.desc, plain, value.data, t.mutable_data());
  }
  owned.push_back(std::move(t));
  value.desc = plain;
  value.data = owned.back().data();
  return absl::OkStatus();
}

}  // namespace ampc
