// Launchers of cross_entropy, softmax_with_cross_entropy and their gradients; the formulas are those of kernels/cpu/loss/cross_entropy.cc
// and kernels/cpu/gradient/loss.cc. 0 or a code for Device::LaunchStatus.
//
// A hard label that is neither a class nor ignore_index makes the loss of its row, and the gradients of all its classes, NaN: the CPU's
// kernel reports it as an error, which would make the host wait for the device here.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch/any.h"
#include "kernels/cuda/launch/rows.h"

namespace ampc::cuda {

struct CrossEntropyParams {
  AxisRows rows = {};         // of classes
  DType dtype = DType::kF32;  // of x, softmax and dx; a float
  bool normalise = true;      // x is logits
  bool stable = true;         // the loss comes from logits, not from probabilities
  bool soft = false;          // a label for each class
  int64_t ignore = -100;
  AnyInput label = {};
  const void* x = nullptr;  // of the gradient of softmax_with_cross_entropy: its softmax
  void* softmax = nullptr;  // null: not wanted
  AnyOutput loss = {};
  AnyInput g = {};     // of the loss
  void* dx = nullptr;  // may be x
};
int LaunchCrossEntropy(void* stream, const CrossEntropyParams& p);
int LaunchCrossEntropyGradient(void* stream, const CrossEntropyParams& p);

}  // namespace ampc::cuda
