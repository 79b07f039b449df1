// The tensors of an exchange between processes, which travel packed in one buffer of f32: c_allreduce_sum, c_allreduce_start and
// c_allreduce_finish.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

struct ExchangeSpec {
  int first_in = 0, first_out = 0;  // X and Out in flat order
  std::vector<int64_t> elements;
  std::vector<int64_t> offsets;  // in the buffer; each tensor begins at a multiple of 4 elements
  std::vector<DType> types;
  int64_t total = 0;  // elements of the buffer
  int64_t bucket = 0;
  bool average = false;
};

// Unimplemented for types other than f32, f16 and bf16.
absl::StatusOr<ExchangeSpec> ReadExchangeSpec(const SpecView& view);

}  // namespace ampc
