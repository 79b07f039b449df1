// Products of integers of 8 bits on oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "kernels/lib/conv.h"
#include "kernels/lib/matmul_spec.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

// This CPU multiplies u8 by i8 and adds the products up in i32 without a step that saturates (VNNI).
bool HasExactInt8();

// Sums of products of a stack of matrices; immutable, several threads may Run it at the same time.
class Int8Matmul {
 public:
  virtual ~Int8Matmul() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  // `a` is u8 or i8 as `a_type` says, `b` i8, not read when it was given to MakeInt8Matmul; `out` i32, dense. `workspace`: 64-byte aligned.
  virtual absl::Status Run(const void* a, const void* b, int32_t* out, void* workspace) const = 0;
};

// Of `spec` the dims, trans_b and threads. `b`: i8, packed here when it is constant, null when it comes with every run. `key` is the tensor
// that a constant b was made of, under which the packed one is shared through `cache` (null: kept here). Every size is at least 1.
absl::StatusOr<std::unique_ptr<Int8Matmul>> MakeInt8Matmul(const MatmulSpec& spec, DType a_type, const HostTensor* b, const HostTensor* key,
                                                           WeightCache* cache);

struct Int8ConvSpec {
  ConvSpec conv;           // without a residual, not transposed; in and out lie channels-last, whatever it says
  DType in = DType::kU8;   // u8, i8
  DType out = DType::kU8;  // u8, i8, f32
  int32_t in_zero = 0, out_zero = 0;
  std::vector<float> scales;  // one for each filter: what a product stands for, over the result's scale
  std::vector<float> bias;    // in the result's scale; empty: none
};

// out = activation(sum of (in - in_zero) * filter times scale + bias), of integers rounded, plus out_zero.
class Int8Conv {
 public:
  virtual ~Int8Conv() = default;
  virtual int64_t workspace_bytes() const = 0;
  virtual std::string implementation() const = 0;
  virtual absl::Status Run(const void* in, void* out, void* workspace) const = 0;
};

// `filter`: i8, row-major as MakeConv takes it. Null where oneDNN has nothing but its reference for the shape.
absl::StatusOr<std::unique_ptr<Int8Conv>> MakeInt8Conv(const Int8ConvSpec& spec, const HostTensor& filter, const HostTensor* key,
                                                       WeightCache* cache);

}  // namespace ampc::onednn
