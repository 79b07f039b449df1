// Memory order of images and volumes, 4-D and 5-D tensors of floats or bytes: between Layout::kPlain and Layout::kChannelsLast, which is a
// transposition per image.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tensor_desc.h"

namespace ampc {

// A tensor's dims, outermost in memory first: 0, 1, ... or 0, 2, ..., 1.
std::vector<int64_t> MemoryOrder(const TensorDesc& t);
// The sizes of its dims in that order, and where `axis`, in [0, rank), is among them.
std::vector<int64_t> DimsInMemory(const TensorDesc& t);
int64_t AxisInMemory(const TensorDesc& t, int64_t axis);
// By dim: elements from one position to the next.
std::vector<int64_t> StridesOf(const TensorDesc& t);

// out[c][r] = in[r][c] for `batch` matrices of rows x cols. `in` and `out` do not overlap.
void Transpose2D(int threads, int64_t batch, int64_t rows, int64_t cols, const float* in, float* out);

// The same for floats of any storage (kF32, kF16, kBF16).
void TransposeStored(int threads, int64_t batch, int64_t rows, int64_t cols, const void* in, DType from, void* out, DType to);

// The same for bytes.
void TransposeBytes(int threads, int64_t batch, int64_t rows, int64_t cols, const void* in, void* out);

// A tensor of floats or bytes from one order and storage to another.
void ConvertTensor(int threads, const TensorDesc& from, const TensorDesc& to, const void* in, void* out);

// Copies a tensor with dims [n, c, h, w] or [n, c, d, h, w] from its order to the other one, with values rounded as RoundTo(type) does.
void ConvertLayout(int threads, const Dims& dims, Layout from, Layout to, const float* in, float* out, DType type = DType::kF32);

// The same of a tensor of bytes.
void ConvertByteLayout(int threads, const Dims& dims, Layout from, Layout to, const void* in, void* out);

}  // namespace ampc
