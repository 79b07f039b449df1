#include "kernels/cuda/recurrent/rnn_steps.h"

#include "kernels/common/functors.h"
#include "kernels/cuda/base/load_single.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/launch/value.h"

namespace ampc::cuda {
namespace {

AMPC_HOST_DEVICE inline bool Rests(const RnnStepAt& at, int64_t sample) {
  if (at.lengths == nullptr) return false;
  const int64_t length = at.length_type == DType::kI64 ? static_cast<const int64_t*>(at.lengths)[sample]
                                                       : static_cast<int64_t>(static_cast<const int32_t*>(at.lengths)[sample]);
  return at.t >= length;
}

AMPC_HOST_DEVICE inline float Sigmoid(float x) { return functors::Sigmoid::Apply(functors::ScalarMath<float>(), x, {}); }
AMPC_HOST_DEVICE inline float Tanh(float x) { return functors::Tanh::Apply(functors::ScalarMath<float>(), x, {}); }
AMPC_HOST_DEVICE inline float Relu(float x) { return functors::Relu::Apply(functors::ScalarMath<float>(), x, {}); }

AMPC_HOST_DEVICE inline int Gates(RnnMode mode) { return mode == RnnMode::kLstm ? 4 : mode == RnnMode::kGru ? 3 : 1; }

struct Forward {
  RnnForwardParams p;

  // The part of input and biases in gate `k` of number `j`. GRU's candidate scales the state's bias with the state's part.
  AMPC_HOST_DEVICE float FromInput(int64_t row, int64_t k, int64_t j) const {
    const int64_t i = k * p.at.hidden + j;
    const float bias = LoadSingle(p.input_bias, p.bias_type, i);
    const bool both = p.at.mode != RnnMode::kGru || k < 2;
    return p.x[row + i] + (both ? bias + LoadSingle(p.state_bias, p.bias_type, i) : bias);
  }
  AMPC_HOST_DEVICE float Gate(int64_t row, int64_t k, int64_t j) const {
    return FromInput(row, k, j) + p.from_state[row + k * p.at.hidden + j];
  }

  AMPC_HOST_DEVICE void Keep(int64_t sample, int64_t k, int64_t j, int64_t count, float value) const {
    if (p.kept != nullptr) p.kept[(sample * count + k) * p.at.hidden + j] = value;
  }

  AMPC_HOST_DEVICE float Lstm(int64_t sample, int64_t row, int64_t j, int64_t state) const {
    const float i = Sigmoid(Gate(row, 0, j)), f = Sigmoid(Gate(row, 1, j)), g = Tanh(Gate(row, 2, j)), o = Sigmoid(Gate(row, 3, j));
    const float c = i * g + f * p.c[state];
    const float seen = Tanh(c);
    p.c[state] = c;
    Keep(sample, 0, j, 5, i);
    Keep(sample, 1, j, 5, f);
    Keep(sample, 2, j, 5, g);
    Keep(sample, 3, j, 5, o);
    Keep(sample, 4, j, 5, seen);
    return o * seen;
  }
  AMPC_HOST_DEVICE float Gru(int64_t sample, int64_t row, int64_t j, int64_t state) const {
    const int64_t last = 2 * p.at.hidden + j;
    const float r = Sigmoid(Gate(row, 0, j)), z = Sigmoid(Gate(row, 1, j));
    const float from_state = p.from_state[row + last] + LoadSingle(p.state_bias, p.bias_type, last);
    const float c = Tanh(r * from_state + FromInput(row, 2, j));
    Keep(sample, 0, j, 4, r);
    Keep(sample, 1, j, 4, z);
    Keep(sample, 2, j, 4, c);
    Keep(sample, 3, j, 4, from_state);
    return (p.h[state] - c) * z + c;
  }

  AMPC_HOST_DEVICE void operator()(int64_t state) const {
    const int64_t sample = state / p.at.hidden, j = state % p.at.hidden, row = sample * Gates(p.at.mode) * p.at.hidden;
    if (p.before_h != nullptr) p.before_h[state] = p.h[state];
    if (p.before_c != nullptr) p.before_c[state] = p.c[state];
    float h = 0;
    if (!Rests(p.at, sample)) {
      switch (p.at.mode) {
        case RnnMode::kLstm: h = Lstm(sample, row, j, state); break;
        case RnnMode::kGru: h = Gru(sample, row, j, state); break;
        case RnnMode::kTanh: h = Tanh(Gate(row, 0, j)); break;
        case RnnMode::kRelu: h = Relu(Gate(row, 0, j)); break;
      }
      if (p.at.mode == RnnMode::kTanh || p.at.mode == RnnMode::kRelu) Keep(sample, 0, j, 1, h);
      p.h[state] = h;
    }
    if (p.out != nullptr) StoreSingle(p.out, p.out_type, sample * p.out_row + j, h);
  }
};

struct Backward {
  RnnBackwardParams p;

  AMPC_HOST_DEVICE void Give(float* gates, int64_t row, int64_t k, int64_t j, float value) const {
    gates[row + k * p.at.hidden + j] = value;
  }

  AMPC_HOST_DEVICE void Lstm(const float* kept, int64_t row, int64_t j, int64_t state, float dh) const {
    const int64_t n = p.at.hidden;
    const float i = kept[0], f = kept[n], g = kept[2 * n], o = kept[3 * n], seen = kept[4 * n];
    const float dc = p.c[state] + dh * o * (1 - seen * seen);
    Give(p.gates, row, 0, j, dc * g * i * (1 - i));
    Give(p.gates, row, 1, j, dc * p.before_c[state] * f * (1 - f));
    Give(p.gates, row, 2, j, dc * i * (1 - g * g));
    Give(p.gates, row, 3, j, dh * seen * o * (1 - o));
    p.c[state] = dc * f;
    p.h[state] = 0;
  }
  AMPC_HOST_DEVICE void Gru(const float* kept, int64_t row, int64_t j, int64_t state, float dh) const {
    const int64_t n = p.at.hidden;
    const float r = kept[0], z = kept[n], c = kept[2 * n], from_state = kept[3 * n];
    const float candidate = dh * (1 - z) * (1 - c * c);
    const float dr = candidate * from_state * r * (1 - r), dz = dh * (p.before_h[state] - c) * z * (1 - z);
    Give(p.gates, row, 0, j, dr);
    Give(p.gates, row, 1, j, dz);
    Give(p.gates, row, 2, j, candidate);
    Give(p.state_gates, row, 0, j, dr);
    Give(p.state_gates, row, 1, j, dz);
    Give(p.state_gates, row, 2, j, candidate * r);
    p.h[state] = dh * z;
  }

  AMPC_HOST_DEVICE void operator()(int64_t state) const {
    const int64_t sample = state / p.at.hidden, j = state % p.at.hidden, row = sample * Gates(p.at.mode) * p.at.hidden;
    if (Rests(p.at, sample)) {
      for (int k = 0; k < Gates(p.at.mode); ++k) {
        Give(p.gates, row, k, j, 0);
        Give(p.state_gates, row, k, j, 0);
      }
      return;
    }
    const float dh = p.h[state] + LoadSingle(p.gradient, p.gradient_type, sample * p.gradient_row + j);
    const int64_t count = p.at.mode == RnnMode::kLstm ? 5 : p.at.mode == RnnMode::kGru ? 4 : 1;
    const float* const kept = p.kept + sample * count * p.at.hidden + j;
    switch (p.at.mode) {
      case RnnMode::kLstm: return Lstm(kept, row, j, state, dh);
      case RnnMode::kGru: return Gru(kept, row, j, state, dh);
      case RnnMode::kTanh: Give(p.gates, row, 0, j, dh * (1 - kept[0] * kept[0])); break;
      case RnnMode::kRelu: Give(p.gates, row, 0, j, kept[0] > 0 ? dh : 0.0f); break;
    }
    p.h[state] = 0;
  }
};

}  // namespace

int LaunchRnnForward(void* stream, const RnnForwardParams& p) { return ForEach(stream, p.at.batch * p.at.hidden, Forward{p}); }

int LaunchRnnBackward(void* stream, const RnnBackwardParams& p) { return ForEach(stream, p.at.batch * p.at.hidden, Backward{p}); }

}  // namespace ampc::cuda
