// Initial values: a function of a stream's number and the position, the same on every device but for the last bits of log and cos.
#pragma once

#include <cstdint>

#include "graph/base/dtype.h"

namespace ampc::cuda {

enum class RandomKind { kUniform, kNormal, kTruncatedNormal };

struct RandomParams {
  DType type = DType::kF32;  // a float
  RandomKind kind = RandomKind::kUniform;
  double a = 0, b = 1;  // bounds, or mean and deviation
  uint64_t stream = 0;  // of graph/initializer.h
};
int LaunchRandom(void* stream, const RandomParams& p, int64_t n, void* out);

}  // namespace ampc::cuda
