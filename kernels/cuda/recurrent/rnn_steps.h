// Device code: one step of a recurrent layer in one direction, and its gradient, for all samples. States and gates are f32.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"
#include "kernels/common/rnn_mode.h"

namespace ampc::cuda {

// Samples whose length is not above `t` rest in a step.
struct RnnStepAt {
  RnnMode mode = RnnMode::kTanh;
  int64_t t = 0, batch = 0, hidden = 0;
  const void* lengths = nullptr;    // [batch]; null: none rests
  DType length_type = DType::kI32;  // or i64
};

// Gates in the order of kernels/cpu/simd/gates.h, as is what is kept.
struct RnnForwardParams {
  RnnStepAt at;
  const float* x = nullptr;                                 // what the input gives the gates, [batch, gates * hidden], without biases
  const float* from_state = nullptr;                        // the same of the state
  const void *input_bias = nullptr, *state_bias = nullptr;  // [gates * hidden]
  DType bias_type = DType::kF32;
  float *h = nullptr, *c = nullptr;  // [batch, hidden], replaced; c: LSTM only
  void* out = nullptr;               // null: not wanted; 0 for samples that rest
  DType out_type = DType::kF32;
  int64_t out_row = 0;                                              // elements from sample to sample
  float *kept = nullptr, *before_h = nullptr, *before_c = nullptr;  // [batch, ..], for the gradient; null: not wanted
};
int LaunchRnnForward(void* stream, const RnnForwardParams& params);

struct RnnBackwardParams {
  RnnStepAt at;
  const float *kept = nullptr, *before_h = nullptr, *before_c = nullptr;
  const void* gradient = nullptr;  // of out
  DType gradient_type = DType::kF32;
  int64_t gradient_row = 0;
  // Gradients [batch, hidden] of the states behind the step; replaced by what reaches the states before it, but through the gates.
  float *h = nullptr, *c = nullptr;
  float *gates = nullptr, *state_gates = nullptr;  // gradients of what input and state give; the same memory but for GRU
};
int LaunchRnnBackward(void* stream, const RnnBackwardParams& params);

// Numbers that a step keeps per number of the state.
inline int64_t RnnKept(RnnMode mode) { return mode == RnnMode::kLstm ? 5 : mode == RnnMode::kGru ? 4 : 1; }

}  // namespace ampc::cuda
