#include "kernels/lib/matmul_nan.h"

#include <algorithm>
#include <utility>

#include "kernels/lib/activation.h"
#include "kernels/lib/nan_keeping.h"

namespace ampc::onednn {
namespace {

// The product with its bias alone.
MatmulSpec SumOf(MatmulSpec spec) {
  spec.activation = {};
  spec.out_storage = DType::kF32;
  return spec;
}

class NanKeepingMatmul final : public NanKeeping<Matmul, MatmulSpec, MatmulBuffers, MakeMatmul, &MatmulBuffers::b> {
 public:
  NanKeepingMatmul(std::unique_ptr<Matmul> fused, const MatmulSpec& spec, PackedOperand packed)
      : NanKeeping(std::move(fused), SumOf(spec), packed), s_(spec) {}

  absl::Status Run(const MatmulBuffers& b) const override {
    AMPC_ASSIGN_OR_RETURN(const bool met_nan, RunFused(b));
    if (!met_nan) return absl::OkStatus();
    int64_t n = s_.m * s_.n;
    for (size_t i = 0; i < s_.a_batch.size(); ++i) n *= std::max(s_.a_batch[i], s_.b_batch[i]);
    AMPC_ASSIGN_OR_RETURN(HostTensor by_itself, HostTensor::CreateUninitialized(DType::kF32, {n}));
    MatmulBuffers alone = b;
    float* const out = by_itself.mutable_values<float>().data();
    alone.out = out;
    AMPC_RETURN_IF_ERROR(RunAlone(alone));
    ApplyActivation(s_.activation, s_.threads, out, n);
    TakeWhere(s_.threads, n, out, b.out, s_.out_storage, EitherNotFinite);
    return absl::OkStatus();
  }

 private:
  const MatmulSpec s_;
};

}  // namespace

std::unique_ptr<Matmul> KeepNan(std::unique_ptr<Matmul> fused, const MatmulSpec& spec, const HostTensor* b, const WeightCache* cache) {
  return std::make_unique<NanKeepingMatmul>(std::move(fused), spec, PackedOperand(b, cache));
}

}  // namespace ampc::onednn
