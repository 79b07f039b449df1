// Float arrays in memory that are stored as float32 or as halves (kF16, kBF16): kernels compute on floats, a tile at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "graph/base/dtype.h"
#include "kernels/kernel.h"

namespace ampc {

// Elements that kernels widen at once: operands and result of a tile are in the first-level cache.
constexpr int64_t kHalfTile = 1024;

// Elements [first, first + n) of `data` as floats: where they lie, or widened into `room`.
const float* FloatsAt(const void* data, DType storage, int64_t first, int64_t n, float* room);
// The memory in which to compute the results [first, ...) of `data`: their own, or `room`.
inline float* RoomAt(void* data, DType storage, int64_t first, float* room) {
  return storage == DType::kF32 ? static_cast<float*>(data) + first : room;
}
// Stores what was computed at RoomAt: rounds it to halves, to nearest even, or does nothing.
void StoreFloats(const float* room, DType storage, int64_t first, int64_t n, void* data);
// All elements from one storage to the other.
void ConvertStored(const void* from, DType from_storage, void* to, DType to_storage, int64_t n, int threads);

// Whether a value of the spec is stored as a half.
bool HasHalves(const KernelSpec& spec);
// The spec with every value stored as float32.
KernelSpec InFloats(KernelSpec spec);
// `kernel`, made for `made`, on the values as `spec` says that they are stored: whole operands and results are converted.
std::unique_ptr<Kernel> MakeConverted(std::unique_ptr<Kernel> kernel, const KernelSpec& made, const KernelSpec& spec);
// The same for one made for InFloats(spec): halves are widened, results rounded.
std::unique_ptr<Kernel> MakeWidened(std::unique_ptr<Kernel> kernel, const KernelSpec& spec);

}  // namespace ampc
