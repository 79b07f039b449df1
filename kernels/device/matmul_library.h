// MatmulLibrary: D = epilogue(alpha * op(A) op(B) + beta * D) in the terms of cuBLASLt, which computes it; the emulated device does too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"

namespace ampc {

class Stream;

// In the order of the arithmetic. "Aux" keeps what the gradient needs in MatmulArgs::aux: for relu a bit mask of ld aux_ld (in
// elements of D, a multiple of 128), for gelu the input of gelu.
enum class MatmulEpilogue : uint8_t { kNone, kBias, kRelu, kReluBias, kGelu, kGeluBias, kReluAux, kReluAuxBias, kGeluAux, kGeluAuxBias, kDRelu, kDGelu, kBiasGradA, kBiasGradB };

// Column-major, as in BLAS: element (i, j) of a matrix of leading dimension ld is at i + j * ld.
struct MatmulDesc {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;           // D is m x n
  int64_t lda = 0, ldb = 0, ldd = 0;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;  // elements from one matrix of a batch to the next; 0: the same one
  DType type_ab = DType::kF32;           // f32, f16, bf16, f64
  DType type_d = DType::kF32;            // type_ab or f32
  bool tf32 = false;                     // f32 products may round their operands to TF32
  float alpha = 1;
  float beta = 0;
  MatmulEpilogue epilogue = MatmulEpilogue::kNone;
  DType type_bias = DType::kF32;         // of m elements; type_d or type_ab
  int64_t aux_ld = 0;
  bool operator==(const MatmulDesc&) const = default;
};

struct MatmulArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  void* bias = nullptr;  // read, or written by kBiasGrad*
  void* aux = nullptr;
  void* workspace = nullptr;
};

// Immutable and thread-safe.
class MatmulPlan {
 public:
  virtual ~MatmulPlan() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual absl::Status Run(Stream& stream, const MatmulArgs& args) const = 0;
  virtual std::string implementation() const = 0;  // "cublaslt:<algorithm>"
};

// Thread-safe. Accumulates f16, bf16 and f32 in f32.
class MatmulLibrary {
 public:
  virtual ~MatmulLibrary() = default;
  // The best algorithm by the library's heuristics, found once per desc. Unimplemented when there is none.
  virtual absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t workspace_limit) = 0;
};

}  // namespace ampc
