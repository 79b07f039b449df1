// MatmulLibrary: D = epilogue(alpha * op(A) op(B) + beta * C) in the terms of cuBLASLt, which computes it; the emulated device does too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"

namespace ampc {

class Stream;

// In the order of the arithmetic: bias, then the function. "Aux" keeps what the gradient needs in MatmulArgs::aux: for relu a mask with one
// bit per element, for gelu (the one with tanh) its input in the type of D; element (i, j) of both is number i + j * aux_ld. kDRelu and
// kDGelu read it and multiply the product by the function's derivative. kBiasGradA writes the sums of op(A) over k, m of them, to
// MatmulArgs::bias; kBiasGradB those of op(B), n of them.
enum class MatmulEpilogue : uint8_t {
  kNone,
  kBias,
  kRelu,
  kReluBias,
  kGelu,
  kGeluBias,
  kReluAux,
  kReluAuxBias,
  kGeluAux,
  kGeluAuxBias,
  kDRelu,
  kDGelu,
  kBiasGradA,
  kBiasGradB
};

// Which operands an epilogue has, and which function.
struct EpilogueTraits {
  bool reads_bias = false, writes_bias = false, aux = false, gradient = false;
  enum Function : uint8_t { kIdentity, kRelu, kGelu } function = kIdentity;
};
EpilogueTraits TraitsOf(MatmulEpilogue epilogue);

// Column-major, as in BLAS: element (i, j) of a matrix of leading dimension ld is at i + j * ld.
struct MatmulDesc {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;        // D is m x n; each is at least 1
  int64_t lda = 0, ldb = 0, ldd = 0;  // of the matrices as they are stored
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;  // elements from one matrix of a batch to the next; 0: the same one
  DType type_ab = DType::kF32;                       // f32, f16, bf16, f64
  DType type_d = DType::kF32;                        // of C, D, bias; type_ab, or f32 for f16 and bf16
  bool tf32 = false;                                 // f32 products may round their operands to TF32
  double alpha = 1;
  double beta = 0;
  MatmulEpilogue epilogue = MatmulEpilogue::kNone;  // not with f64; those that write or have aux not with a batch
  int64_t aux_ld = 0;                               // at least m; a multiple of 128 (relu) or 8 (gelu)
  int64_t alignment = 64;                           // of every address in MatmulArgs, in bytes: a power of two
  bool operator==(const MatmulDesc&) const = default;
};

// Internal, with the reason, for a desc that breaks what is said above.
absl::Status CheckMatmul(const MatmulDesc& desc);

struct MatmulArgs {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;  // read unless beta is 0, lies as D does; null: D
  void* d = nullptr;
  void* bias = nullptr;  // m elements, read; or written by kBiasGrad*
  void* aux = nullptr;
  void* workspace = nullptr;  // 256-byte aligned
};

// Immutable and thread-safe.
class MatmulPlan {
 public:
  virtual ~MatmulPlan() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual absl::Status Run(Stream& stream, const MatmulArgs& args) const = 0;
  virtual std::string implementation() const = 0;  // "cublaslt:<algorithm>"
};

// Thread-safe. Accumulates f16, bf16 and f32 in f32 and rounds once, behind the epilogue.
class MatmulLibrary {
 public:
  virtual ~MatmulLibrary() = default;
  // The best algorithm by the library's heuristics, found once per desc. Unimplemented when there is none.
  virtual absl::StatusOr<std::shared_ptr<const MatmulPlan>> Plan(const MatmulDesc& desc, int64_t workspace_limit) = 0;
};

}  // namespace ampc
