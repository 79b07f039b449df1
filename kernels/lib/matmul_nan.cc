#include "kernels/lib/matmul_nan.h"

#include <algorithm>
#include <utility>

#include "graph/base/host_tensor.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/lib/activation.h"
#include "kernels/nan_watch.h"

namespace ampc::onednn {
namespace {

class NanKeepingMatmul final : public Matmul {
 public:
  NanKeepingMatmul(std::unique_ptr<Matmul> fused, MatmulSpec spec) : fused_(std::move(fused)), s_(std::move(spec)) {}
  int64_t workspace_bytes() const override { return fused_->workspace_bytes(); }
  std::string implementation() const override { return fused_->implementation(); }

  absl::Status Run(const MatmulBuffers& b) const override {
    TakeMetNan();
    std::atomic<bool> met_nan{false};
    MatmulBuffers watched = b;
    watched.met_nan = &met_nan;
    AMPC_RETURN_IF_ERROR(fused_->Run(watched));
    return met_nan ? RunByItself(b) : absl::OkStatus();
  }

 private:
  // The product with its bias alone.
  absl::StatusOr<const Matmul*> Alone() const {
    const MutexLock lock(mutex_);
    if (alone_ == nullptr) {
      MatmulSpec plain = s_;
      plain.activation = {};
      AMPC_ASSIGN_OR_RETURN(alone_, MakeMatmul(plain, nullptr, nullptr));
    }
    return alone_.get();
  }

  absl::Status RunByItself(const MatmulBuffers& b) const {
    AMPC_ASSIGN_OR_RETURN(const Matmul* const alone, Alone());
    AMPC_ASSIGN_OR_RETURN(HostTensor workspace, HostTensor::CreateUninitialized(DType::kU8, {alone->workspace_bytes()}));
    AMPC_RETURN_IF_ERROR(alone->Run({b.a, b.b, b.bias, b.out, workspace.mutable_data()}));
    int64_t n = s_.m * s_.n;
    for (size_t i = 0; i < s_.a_batch.size(); ++i) n *= std::max(s_.a_batch[i], s_.b_batch[i]);
    ApplyActivation(s_.activation, s_.threads, b.out, n);
    return absl::OkStatus();
  }

  const std::unique_ptr<Matmul> fused_;
  const MatmulSpec s_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<Matmul> alone_ ABSL_GUARDED_BY(mutex_);  // made when NaN is met first
};

}  // namespace

std::unique_ptr<Matmul> KeepNan(std::unique_ptr<Matmul> fused, const MatmulSpec& spec) {
  return std::make_unique<NanKeepingMatmul>(std::move(fused), spec);
}

}  // namespace ampc::onednn
