#include "graph/initializer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

uint64_t Mix(uint64_t x) {  // the finalizer of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Number `i` of a stream, in (0, 1).
double UnitAt(uint64_t stream, uint64_t i) {
  return (static_cast<double>(Mix(stream + (i + 1) * 0x9e3779b97f4a7c15u) >> 11) + 0.5) * 0x1p-53;
}

double ValueAt(const Initializer& init, uint64_t stream, uint64_t i) {
  constexpr double kTwoPi = 6.283185307179586;
  switch (init.kind) {
    case Initializer::Kind::kConstant: return init.a;
    case Initializer::Kind::kUniform: return init.a + (init.b - init.a) * UnitAt(stream, i);
    case Initializer::Kind::kNormal:
      return init.a + init.b * std::sqrt(-2 * std::log(UnitAt(stream, 2 * i))) * std::cos(kTwoPi * UnitAt(stream, 2 * i + 1));
  }
  return 0;
}

template <typename T, typename Wide>
void Fill(const Initializer& init, uint64_t stream, HostTensor& tensor) {
  uint64_t i = 0;
  for (T& out : tensor.mutable_values<T>()) out = static_cast<T>(static_cast<Wide>(ValueAt(init, stream, i++)));
}

}  // namespace

absl::StatusOr<HostTensor> InitialValues(const Initializer& init, DType dtype, absl::Span<const int64_t> dims, uint64_t seed,
                                         absl::string_view name) {
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Create(dtype, dims));
  uint64_t stream = Mix(seed);
  for (char c : name) stream = Mix(stream ^ static_cast<unsigned char>(c));
  switch (dtype) {
    case DType::kF32: Fill<float, float>(init, stream, tensor); break;
    case DType::kF64: Fill<double, double>(init, stream, tensor); break;
    case DType::kF16: Fill<Half, float>(init, stream, tensor); break;
    case DType::kBF16: Fill<BFloat16, float>(init, stream, tensor); break;
    case DType::kI32: Fill<int32_t, double>(init, stream, tensor); break;
    case DType::kI64: Fill<int64_t, double>(init, stream, tensor); break;
    case DType::kBool: Fill<bool, double>(init, stream, tensor); break;
    default:
      return UsageError(absl::StrCat("'", name, "': found type ", Name(dtype), " to initialise, needed a float type, i32, i64 or bool"));
  }
  return tensor;
}

}  // namespace ampc
