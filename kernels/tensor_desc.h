// TensorDesc: what a plan knows of an operand or result.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "graph/type.h"

namespace ampc {

// The element type in memory of a value declared `t` that is not stored as a half: kF32 for f16 and bf16, else `t`.
DType StorageType(DType t);

// Memory order of a tensor. Channels last is the one order beside row-major: measured on PP-OCR and ResNet shapes, convolution on it
// is as fast as on oneDNN's blocked orders (AVX2 and AVX-512, 1 and 2 threads), and needs no padding of channels. Plans give it to
// floats of up to 32 bits and to bytes, on a device to 4-D halves alone.
enum class Layout : uint8_t {
  kPlain,         // row-major over dims
  kChannelsLast,  // of 4-D and 5-D values: dims are [n, c, (d,) h, w], memory is row-major over [n, (d,) h, w, c]
};

// A concrete operand or result at plan time: static dims.
struct TensorDesc {
  DType dtype = DType::kInvalid;  // declared type
  Dims dims;
  Layout layout = Layout::kPlain;
  bool half = false;  // on the CPU: bf16 that lies in memory as such; otherwise storage is StorageType(dtype)
  int64_t NumElements() const;
  DType storage() const { return half ? dtype : StorageType(dtype); }
  int64_t StorageBytes() const;
};

}  // namespace ampc
