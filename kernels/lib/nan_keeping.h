// Common parts of convolutions and products that keep NaN where oneDNN's fused activation does not.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "kernels/halves.h"
#include "kernels/nan_watch.h"
#include "kernels/parallel.h"
#include "kernels/weight_cache.h"

namespace ampc::onednn {

// Puts `from` into `out`, which lies in `storage`, where `wanted(from[i], out[i])`.
template <typename Wanted>
void TakeWhere(int threads, int64_t n, const float* from, void* out, DType storage, Wanted wanted) {
  constexpr int64_t kGrain = 1 << 15;
  ParallelFor(threads, n, kGrain, [&](int64_t first, int64_t last) {
    float room[kHalfTile];
    for (int64_t i = first; i < last; i += kHalfTile) {
      const int64_t count = std::min(kHalfTile, last - i);
      float* const to = RoomAt(out, storage, i, room);
      FloatsAt(out, storage, i, count, room);
      for (int64_t k = 0; k < count; ++k) {
        if (wanted(from[i + k], to[k])) to[k] = from[i + k];
      }
      StoreFloats(to, storage, i, count, out);
    }
  });
}

// Finite results stay as the fused step gave them, so that a CPU's note of NaN that no result shows (of a lane beyond the channels, say)
// changes no bits.
inline bool EitherNotFinite(float alone, float fused) { return !std::isfinite(alone) || !std::isfinite(fused); }

// A constant operand that the fused step has packed; none (null) where it comes with every run.
struct PackedOperand {
  const HostTensor* value = nullptr;
  const WeightCache* cache = nullptr;  // which can read it

  PackedOperand(const HostTensor* constant, const WeightCache* of) {
    if (constant != nullptr && of != nullptr && of->CanRead(constant)) {
      value = constant;
      cache = of;
    }
  }
};

// `Step` is Conv or Matmul, `Make` what makes one of a Spec without a constant operand or a cache, `kOperand` the member of Buffers that
// may be constant.
template <typename Step, typename Spec, typename Buffers, auto Make, auto kOperand>
class NanKeeping : public Step {
 public:
  int64_t workspace_bytes() const override { return fused_->workspace_bytes(); }
  std::string implementation() const override { return fused_->implementation(); }

 protected:
  // `fused` computes the spec that `alone` is without its activation (and whatever else is applied afterwards then).
  NanKeeping(std::unique_ptr<Step> fused, Spec alone, PackedOperand packed)
      : fused_(std::move(fused)), spec_alone_(std::move(alone)), packed_(packed) {}

  const Step& fused() const { return *fused_; }

  // Runs the fused step; whether any of its threads met NaN.
  absl::StatusOr<bool> RunFused(Buffers b) const {
    TakeMetNan();
    std::atomic<bool> met_nan{false};
    b.met_nan = &met_nan;
    AMPC_RETURN_IF_ERROR(fused_->Run(b));
    return met_nan.load();
  }

  // Runs the step without its activation, with a workspace of its own.
  absl::Status RunAlone(Buffers b) const {
    AMPC_ASSIGN_OR_RETURN(const Step* const alone, Alone());
    AMPC_ASSIGN_OR_RETURN(HostTensor workspace, HostTensor::CreateUninitialized(DType::kU8, {alone->workspace_bytes()}));
    b.workspace = workspace.mutable_data();
    if (packed_.value == nullptr) return alone->Run(b);
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<const HostTensor> operand, packed_.cache->Read(packed_.value));
    b.*kOperand = operand->template values<float>().data();
    return alone->Run(b);
  }

 private:
  absl::StatusOr<const Step*> Alone() const {
    const MutexLock lock(mutex_);
    if (alone_ == nullptr) {
      AMPC_ASSIGN_OR_RETURN(alone_, Make(spec_alone_, nullptr, nullptr));
    }
    return alone_.get();
  }

  const std::unique_ptr<Step> fused_;
  const Spec spec_alone_;
  const PackedOperand packed_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<Step> alone_ ABSL_GUARDED_BY(mutex_);  // made when NaN is met first
};

}  // namespace ampc::onednn
