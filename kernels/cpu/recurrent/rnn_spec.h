// Parameters of rnn and its gradient.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/common/rnn_mode.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

struct RnnSizes {
  int64_t time = 0, batch = 0, features = 0, hidden = 0, gates = 1, layers = 1, directions = 1;
  RnnMode mode = RnnMode::kTanh;
  int64_t state() const { return batch * hidden; }
  int64_t gate_row() const { return gates * hidden; }
  int64_t cells() const { return layers * directions; }
  int64_t features_of(int64_t cell) const { return cell < directions ? features : hidden * directions; }
};

absl::StatusOr<RnnSizes> ReadRnn(const SpecView& view);

// How many steps each sample has.
struct RnnLengths {
  std::string name;
  int flat = -1;  // -1: all
  DType type = DType::kI32;
  int64_t time = 0, batch = 0;

  int64_t Of(const KernelArgs& args, int64_t sample) const { return flat < 0 ? time : ReadAsInt(args.inputs[flat], type, sample); }
  absl::Status Check(const KernelArgs& args) const;
};
absl::StatusOr<RnnLengths> ReadLengths(const SpecView& view, const RnnSizes& s);

// Both biases meet in the product with the input, but for the candidate gate of GRU, whose second is scaled with the state's part.
void JoinBiases(const RnnSizes& s, const float* input, const float* state, float* sum);

}  // namespace ampc
