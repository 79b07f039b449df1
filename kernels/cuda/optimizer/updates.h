// Launchers of the optimizers' updates: of one parameter, or of many in a row.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/update_rules.h"
#include "kernels/cuda/multi_tensor/scalar.h"

namespace ampc::cuda {

// Pointers that an op has not are null. A result may lie where its operand does, or nowhere near an operand.
struct UpdateTensor {
  const void* grad = nullptr;
  const void* weight = nullptr;  // what is computed with: MasterParam, else Param
  void* weight_out = nullptr;
  const void* low = nullptr;  // Param beside a master weight
  void* low_out = nullptr;
  const void* moments[2] = {};
  void* moments_out[2] = {};
  const void* powers[2] = {};  // beta1^t, beta2^t: one f32, or f64 beside an f64 weight
  void* powers_out[2] = {};
  int64_t elements = 0;
};

struct UpdateParams {
  UpdateKind rule = UpdateKind::kSgd;
  DType weight = DType::kF32, low = DType::kF32, grad = DType::kF32, moment = DType::kF32;  // low: the weight's without a master
  bool has_master = false;
  const bool* skip = nullptr;  // where true, results are their operands
  Scalar grad_scale;           // gradients are times its reciprocal
  Scalar lr;
  double mu = 0, rescale = 1, decay = 0;  // momentum; decay: lamb's, too
  bool nesterov = false;
  Scalar beta1, beta2, epsilon;    // adam, lamb
  bool own_powers = true;          // adam: moves the powers
  double lr_ratio = 1, coeff = 0;  // adamw
  bool adapts = false;             // lamb: the rate is scaled by the norms
  double* workspace = nullptr;     // of LambWorkspace numbers, for lamb
};

// How many doubles lamb needs for tensors that have `chunks` chunks (ChunksOf in chunks.h) together.
inline int64_t LambWorkspace(int64_t tensors, int64_t chunks) { return 2 * chunks + tensors; }

// Whether LaunchUpdate takes these types; others are the host's.
bool TakesTypes(const UpdateParams& p);

// The update by kernels/common/update_rules.h, in f32, or f64 for an f64 weight. One launch for up to about 240 tensors, and one of a
// thread per tensor that moves the powers; lamb has two more before, which add up the norms in an order that depends on the sizes only.
int LaunchUpdate(void* stream, const UpdateTensor* tensors, int64_t n, const UpdateParams& p);

}  // namespace ampc::cuda
