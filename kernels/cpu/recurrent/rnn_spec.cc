#include "kernels/cpu/recurrent/rnn_spec.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::StatusOr<RnnSizes> ReadRnn(const SpecView& view) {
  const Op& op = view.op();
  const Dims& x = view.InDesc("Input").dims;
  RnnSizes s{.time = x[0], .batch = x[1], .features = x[2], .hidden = op.GetInt("hidden_size"), .layers = op.GetInt("num_layers")};
  s.directions = op.GetBool("is_bidirec") ? 2 : 1;
  const std::string mode = op.GetString("mode");
  s.mode = mode == "LSTM" ? RnnMode::kLstm : mode == "GRU" ? RnnMode::kGru : mode == "RNN_RELU" ? RnnMode::kRelu : RnnMode::kTanh;
  s.gates = s.mode == RnnMode::kLstm ? 4 : s.mode == RnnMode::kGru ? 3 : 1;
  if (s.features < 1 || s.hidden < 1 || s.layers < 1) return view.Unsupported("input, state and layers must not be empty");
  if (!op.GetBool("is_test") && op.GetFloat("dropout_prob") != 0 && s.layers > 1)
    return view.Unsupported("dropout between layers cannot be executed");
  return s;
}

absl::Status RnnLengths::Check(const KernelArgs& args) const {
  for (int64_t b = 0; flat >= 0 && b < batch; ++b) {
    const int64_t n = Of(args, b);
    if (n < 0 || n > time) return UsageError(absl::StrCat(name, ": SequenceLength ", b, " is ", n, ", needs 0 to ", time));
  }
  return absl::OkStatus();
}

absl::StatusOr<RnnLengths> ReadLengths(const SpecView& view, const RnnSizes& s) {
  RnnLengths lengths{Describe(view.op()), view.In("SequenceLength"), DType::kI32, s.time, s.batch};
  if (lengths.flat < 0) return lengths;
  lengths.type = view.InDesc("SequenceLength").dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(lengths.type, {DType::kI32, DType::kI64}));
  if (view.InDesc("SequenceLength").NumElements() != s.batch) return view.Internal("SequenceLength needs one number per sample");
  return lengths;
}

void JoinBiases(const RnnSizes& s, const float* input, const float* state, float* sum) {
  const int64_t both = s.mode == RnnMode::kGru ? 2 * s.hidden : s.gate_row();
  for (int64_t i = 0; i < s.gate_row(); ++i) sum[i] = i < both ? input[i] + state[i] : input[i];
}

}  // namespace ampc
