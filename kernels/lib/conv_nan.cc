#include "kernels/lib/conv_nan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/nan_keeping.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

constexpr int64_t kGrain = 1 << 15;  // elements of a thread

// T: unsigned, of the size of a float or of a bf16.
template <typename T>
bool AllFinite(int threads, const void* x, int64_t n, T exponent) {
  std::atomic<bool> finite{true};
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    T most = 0;
    for (int64_t i = first; i < last; ++i) {
      T bits;
      std::memcpy(&bits, static_cast<const T*>(x) + i, sizeof(bits));
      bits = static_cast<T>(bits & exponent);
      most = bits > most ? bits : most;
    }
    if (most == exponent) finite = false;
  });
  return finite;
}

bool AllFinite(int threads, const void* x, DType storage, int64_t n) {
  return storage == DType::kF32 ? AllFinite<uint32_t>(threads, x, n, 0x7f800000) : AllFinite<uint16_t>(threads, x, n, 0x7f80);
}

// The convolution with its bias alone, in floats.
ConvSpec SumOf(ConvSpec spec) {
  spec.has_residual = false;
  spec.out_storage = DType::kF32;
  spec.activation = {};
  return spec;
}

class NanKeepingConv final : public NanKeeping<Conv, ConvSpec, ConvBuffers, MakeConv, &ConvBuffers::filter> {
 public:
  NanKeepingConv(std::unique_ptr<Conv> fused, const ConvSpec& spec, PackedOperand packed)
      : NanKeeping(std::move(fused), SumOf(spec), packed), s_(spec) {}
  bool may_add_in_place() const override { return fused().may_add_in_place(); }
  int64_t workspace_bytes() const override { return BiasOffset() + BiasLanes() * static_cast<int64_t>(sizeof(float)); }

  absl::Status Run(const ConvBuffers& b) const override {
    const bool in_place = s_.has_residual && b.residual == b.out;
    // The residual is gone when NaN is met; one that is finite is not missed.
    if (in_place && !AllFinite(s_.threads, b.residual, s_.residual_storage, elements())) return StoreByItself(b);
    ConvBuffers padded = b;
    if (BiasLanes() > 0) padded.bias = PaddedBias(b);
    AMPC_ASSIGN_OR_RETURN(const bool met_nan, RunFused(padded));
    if (!met_nan) return absl::OkStatus();
    if (in_place) return PutNan(b);
    AMPC_ASSIGN_OR_RETURN(HostTensor by_itself, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    float* const alone = by_itself.mutable_values<float>().data();
    AMPC_RETURN_IF_ERROR(RunByItself(b, alone));
    TakeWhere(s_.threads, elements(), alone, b.out, s_.out_storage, EitherNotFinite);
    return absl::OkStatus();
  }

 private:
  // oneDNN reads whole vectors of the bias; what lies behind it where channels fill none may look like NaN. Then a copy lies behind the
  // workspace of the fused step, with zeros behind it. Floats of the copy; 0 where none is needed.
  int64_t BiasLanes() const {
    constexpr int64_t kLanes = 16;
    return s_.has_bias && s_.out_c % kLanes != 0 ? (s_.out_c / kLanes + 1) * kLanes : 0;
  }
  int64_t BiasOffset() const { return Aligned(fused().workspace_bytes()); }
  const float* PaddedBias(const ConvBuffers& b) const {
    float* const bias = reinterpret_cast<float*>(static_cast<char*>(b.workspace) + BiasOffset());
    std::fill(std::copy_n(b.bias, s_.out_c, bias), bias + BiasLanes(), 0.0f);
    return bias;
  }

  int64_t elements() const { return s_.batch * s_.out_c * s_.out_positions(); }

  absl::Status RunSum(ConvBuffers b, float* out) const {
    b.residual = nullptr;
    b.out = out;
    return RunAlone(b);
  }

  // The result is where the residual is.
  absl::Status StoreByItself(const ConvBuffers& b) const {
    if (s_.out_storage == DType::kF32) return RunByItself(b, static_cast<float*>(b.out));
    AMPC_ASSIGN_OR_RETURN(HostTensor floats, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    float* const out = floats.mutable_values<float>().data();
    AMPC_RETURN_IF_ERROR(RunByItself(b, out));
    ConvertStored(out, DType::kF32, b.out, s_.out_storage, elements(), s_.threads);
    return absl::OkStatus();
  }

  absl::Status RunByItself(const ConvBuffers& b, float* out) const {
    HostTensor room;
    float* sum = out;
    if (s_.has_residual) {
      AMPC_ASSIGN_OR_RETURN(room, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
      sum = room.mutable_values<float>().data();
    }
    AMPC_RETURN_IF_ERROR(RunSum(b, sum));
    if (s_.has_residual) AMPC_RETURN_IF_ERROR(Add(sum, b.residual, out));
    ApplyActivation(s_.activation, s_.threads, out, elements());
    return absl::OkStatus();
  }

  // out = sum + residual, in the order of the result.
  absl::Status Add(const float* sum, const void* residual, float* out) const {
    AMPC_ASSIGN_OR_RETURN(HostTensor ordered, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    float* const added = ordered.mutable_values<float>().data();
    const bool turned = s_.residual != s_.out && !Neutral(s_.out_c, s_.out_positions()), plain = s_.residual == Layout::kPlain;
    const int64_t rows = turned && !plain ? s_.out_positions() : s_.out_c, cols = s_.out_c * s_.out_positions() / rows;
    if (turned) {
      TransposeStored(s_.threads, s_.batch, rows, cols, residual, s_.residual_storage, added, DType::kF32);
    } else {
      ConvertStored(residual, s_.residual_storage, added, DType::kF32, elements(), s_.threads);
    }
    ParallelFor(s_.threads, elements(), kGrain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) out[i] = sum[i] + added[i];
    });
    return absl::OkStatus();
  }

  // To a result that lacks it; what was added was finite.
  absl::Status PutNan(const ConvBuffers& b) const {
    AMPC_ASSIGN_OR_RETURN(HostTensor again, HostTensor::CreateUninitialized(DType::kF32, {elements()}));
    float* const sum = again.mutable_values<float>().data();
    AMPC_RETURN_IF_ERROR(RunSum(b, sum));
    TakeWhere(s_.threads, elements(), sum, b.out, s_.out_storage, [](float of_sum, float) { return std::isnan(of_sum); });
    return absl::OkStatus();
  }

  const ConvSpec s_;
};

}  // namespace

std::unique_ptr<Conv> KeepNan(std::unique_ptr<Conv> fused, const ConvSpec& spec, const HostTensor* filter, const WeightCache* cache) {
  return std::make_unique<NanKeepingConv>(std::move(fused), spec, PackedOperand(filter, cache));
}

}  // namespace ampc::onednn
