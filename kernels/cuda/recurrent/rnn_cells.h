// Common parts of the device kernels of rnn and its gradient: sizes, operands as f32, the forward steps of a cell.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/recurrent/rnn_spec.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/recurrent/rnn_steps.h"
#include "kernels/kernel.h"

namespace ampc::cuda {

// Hands out pieces of a workspace; offsets in bytes.
class Room {
 public:
  int64_t Take(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += AlignWorkspace(bytes);
    return at;
  }
  int64_t TakeFloats(int64_t n) { return Take(n * static_cast<int64_t>(sizeof(float))); }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

// Dense numbers between float types.
absl::Status ConvertFloats(Stream& stream, const void* from, DType from_type, void* to, DType to_type, int64_t n);

// Operands in f32: where they lie, or a copy in the workspace that a run begins with.
class F32Operands {
 public:
  void Add(const KernelSpec& spec, int flat, Room* room);
  absl::Status Convert(const KernelArgs& args) const;
  const float* At(const KernelArgs& args, int flat) const;

 private:
  struct Copy {
    DType type;
    int64_t elements, at;
  };
  std::map<int, Copy> copies_;  // by flat operand
};

struct RnnOperands {
  int x = 0, before_h = 0, before_c = -1;  // flat; -1: absent
  int lengths = -1;
  DType length_type = DType::kI32, type = DType::kF32;
};

// Of one layer in one direction, flat: weights of input and state, then their biases. WeightList holds all weights, then all biases.
struct CellWeights {
  int input = 0, state = 0, input_bias = 0, state_bias = 0;
};

// Fails for types and weights that do not fit.
absl::StatusOr<RnnOperands> ReadRnnOperands(const SpecView& view, const RnnSizes& s);
absl::StatusOr<CellWeights> ReadCell(const SpecView& view, const RnnSizes& s, int64_t cell);

// A product of f32 with one matrix of each; out += with `adds`. `alignment`: as for DeviceProduct.
absl::StatusOr<DeviceProduct> MakeF32Product(Device& device, int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool adds = false,
                                             int64_t alignment = 64);
// Of a step's beginning in dense steps of `row` floats.
int64_t StepAlignment(int64_t row);

// The time that step `i` of a cell is at.
inline int64_t TimeOf(const RnnSizes& s, int64_t cell, int64_t i) { return cell % s.directions == 1 ? s.time - 1 - i : i; }

RnnStepAt StepAt(const RnnSizes& s, const RnnOperands& operands, const KernelArgs& args, int64_t t);

}  // namespace ampc::cuda
