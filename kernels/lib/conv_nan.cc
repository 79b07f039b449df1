#include "kernels/lib/conv_nan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/layout.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/nan_keeping.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements of a thread

bool AllFinite(int threads, const float* x, int64_t n) {
  std::atomic<bool> finite{true};
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    constexpr uint32_t kExponent = 0x7f800000;
    uint32_t most = 0;
    for (int64_t i = first; i < last; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, sizeof(bits));
      bits &= kExponent;
      most = bits > most ? bits : most;
    }
    if (most == kExponent) finite = false;
  });
  return finite;
}

// The convolution with its bias alone.
ConvSpec SumOf(ConvSpec spec) {
  spec.has_residual = false;
  spec.activation = {};
  return spec;
}

class NanKeepingConv final : public NanKeeping<Conv, ConvSpec, ConvBuffers, MakeConv> {
 public:
  NanKeepingConv(std::unique_ptr<Conv> fused, const ConvSpec& spec) : NanKeeping(std::move(fused), SumOf(spec)), s_(spec) {}
  bool may_add_in_place() const override { return fused().may_add_in_place(); }

  absl::Status Run(const ConvBuffers& b) const override {
    const bool in_place = s_.has_residual && b.residual == b.out;
    // The residual is gone when NaN is met; one that is finite is not missed.
    if (in_place && !AllFinite(s_.threads, b.residual, elements())) return RunByItself(b);
    ConvBuffers padded = b;
    const std::vector<float> bias = PaddedBias(b.bias);
    if (!bias.empty()) padded.bias = bias.data();
    AMPC_ASSIGN_OR_RETURN(const bool met_nan, RunFused(padded));
    if (!met_nan) return absl::OkStatus();
    if (in_place) return PutNan(b);
    AMPC_ASSIGN_OR_RETURN(HostTensor by_itself, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    ConvBuffers alone = b;
    alone.out = by_itself.mutable_values<float>().data();
    AMPC_RETURN_IF_ERROR(RunByItself(alone));
    TakeWhere(s_.threads, elements(), alone.out, b.out, EitherNotFinite);
    return absl::OkStatus();
  }

 private:
  // oneDNN reads a whole vector where there are fewer channels; what lies behind the bias then may look like NaN. Empty where that can't be.
  std::vector<float> PaddedBias(const float* bias) const {
    constexpr int64_t kLanes = 16;
    if (bias == nullptr || s_.out_c % kLanes == 0) return {};
    std::vector<float> padded((s_.out_c / kLanes + 1) * kLanes);
    std::copy_n(bias, s_.out_c, padded.begin());
    return padded;
  }

  int64_t elements() const { return s_.batch * s_.out_c * s_.out_positions(); }

  absl::Status RunSum(ConvBuffers b, float* out) const {
    b.residual = nullptr;
    b.out = out;
    return RunAlone(b);
  }

  absl::Status RunByItself(const ConvBuffers& b) const {
    HostTensor sum;
    float* out = b.out;
    if (s_.has_residual) {
      AMPC_ASSIGN_OR_RETURN(sum, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
      out = sum.mutable_values<float>().data();
    }
    AMPC_RETURN_IF_ERROR(RunSum(b, out));
    if (s_.has_residual) AMPC_RETURN_IF_ERROR(Add(out, b));
    ApplyActivation(s_.activation, s_.threads, b.out, elements());
    return absl::OkStatus();
  }

  // b.out = sum + residual, in the order of the result.
  absl::Status Add(const float* sum, const ConvBuffers& b) const {
    const float* residual = b.residual;
    HostTensor ordered;
    if (s_.residual != s_.out && !Neutral(s_.out_c, s_.out_positions())) {
      AMPC_ASSIGN_OR_RETURN(ordered, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
      float* const to = ordered.mutable_values<float>().data();
      const bool plain = s_.residual == Layout::kPlain;
      Transpose2D(s_.threads, s_.batch, plain ? s_.out_c : s_.out_positions(), plain ? s_.out_positions() : s_.out_c, residual, to);
      residual = to;
    }
    ParallelFor(s_.threads, elements(), kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) b.out[i] = sum[i] + residual[i];
    });
    return absl::OkStatus();
  }

  // To a result that lacks it; what was added was finite.
  absl::Status PutNan(const ConvBuffers& b) const {
    AMPC_ASSIGN_OR_RETURN(HostTensor again, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    float* const sum = again.mutable_values<float>().data();
    AMPC_RETURN_IF_ERROR(RunSum(b, sum));
    TakeWhere(s_.threads, elements(), sum, b.out, [](float of_sum, float) { return std::isnan(of_sum); });
    return absl::OkStatus();
  }

  const ConvSpec s_;
};

}  // namespace

std::unique_ptr<Conv> KeepNan(std::unique_ptr<Conv> fused, const ConvSpec& spec) {
  return std::make_unique<NanKeepingConv>(std::move(fused), spec);
}

}  // namespace ampc::onednn
