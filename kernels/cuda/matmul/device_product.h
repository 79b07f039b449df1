// DeviceProduct: a product of stacks of row-major matrices through a device's MatmulLibrary. Nothing is copied: read column by column, a
// row-major matrix is its transposition, so out = a b is computed as out^T = b^T a^T.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/device/device.h"
#include "kernels/device/matmul_library.h"
#include "kernels/lib/matmul_spec.h"

namespace ampc::cuda {

struct DeviceProductOptions {
  DType factors = DType::kF32, result = DType::kF32;  // as for MatmulDesc
  // bias: one number per column of the result, read, or the sums over the rows of b (kBiasGradA) or the columns of a (kBiasGradB).
  MatmulEpilogue epilogue = MatmulEpilogue::kNone;
  int64_t aux_row = 0;  // elements of `aux` (bits of relu's) per row of the result, with an epilogue that has it
  double beta = 0;
  int64_t alignment = 64;  // of every operand, in bytes
};

struct DeviceProductOperands {
  const void *a = nullptr, *b = nullptr;
  const void* c = nullptr;  // dense as the result; with beta
  void* out = nullptr;
  const void* bias = nullptr;  // written where the epilogue does so
  void* aux = nullptr;
};

// Immutable and thread-safe.
class DeviceProduct {
 public:
  // out[.., m, n] = epilogue(scale * a b + beta * c) for the sizes of `spec`, each of which may be 0 (without an epilogue); its bias,
  // activation, types and threads are not read.
  static absl::StatusOr<DeviceProduct> Make(Device& device, const onednn::MatmulSpec& spec, const DeviceProductOptions& options);

  // To be given to Run, 64-byte aligned.
  int64_t workspace_bytes() const;
  std::string implementation() const { return plan_ == nullptr ? "cuda:fill" : plan_->implementation(); }
  absl::Status Run(Stream& stream, const DeviceProductOperands& operands, void* workspace) const;

 private:
  struct Call {
    int64_t a, b, out;  // bytes from the operands' beginnings
  };
  std::shared_ptr<const MatmulPlan> plan_;  // null: there are no products to sum
  std::vector<Call> calls_;                 // one, unless both factors repeat, along different leading dims
  int64_t zero_bytes_ = 0;
};

// Of a workspace that serves several pieces one after the other.
inline int64_t AlignWorkspace(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace ampc::cuda
