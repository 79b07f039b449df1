#include "kernels/device/cuda/cudnn.h"

#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/device/cuda/cudnn_api.h"
#include "kernels/device/cuda/cudnn_plan.h"

namespace ampc {
namespace {

// One handle, used by one thread at a time: a call only enqueues. Plans keep it.
struct Shared {
  explicit Shared(const CudnnApi& opened) : api(opened) {}
  ~Shared() {
    if (target.handle == nullptr) return;
    (void)api.set_stream(target.handle, static_cast<cudaStream_t>(stream->native()));  // that of its last run may be gone
    api.destroy(target.handle);
  }
  const CudnnApi api;
  CudnnTarget target;
  std::unique_ptr<Stream> stream;  // its native() makes the device the thread's
  std::mutex mutex;
};

class CudnnConvPlan : public ConvPlan {
 public:
  CudnnConvPlan(std::shared_ptr<Shared> shared, const ConvDesc& desc, CudnnPlan plan)
      : shared_(std::move(shared)), desc_(desc), plan_(std::move(plan)) {}
  int64_t workspace_bytes() const override { return plan_.workspace_bytes; }
  std::string implementation() const override { return absl::StrCat("cudnn:", plan_.engine); }

  absl::Status Run(Stream& stream, const ConvArgs& args) const override {
    std::vector<int64_t> uids = {kCudnnX, kCudnnW, kCudnnY};
    std::vector<void*> pointers = {args.x, args.w, args.y};
    const auto add = [&](bool has, int64_t uid, const void* pointer) {
      if (!has) return;
      uids.push_back(uid);
      pointers.push_back(const_cast<void*>(pointer));  // only read
    };
    add(desc_.bias, kCudnnBias, args.bias);
    add(desc_.residual, kCudnnResidual, args.residual);
    const CudnnApi& api = shared_->api;
    AMPC_ASSIGN_OR_RETURN(CudnnDescriptor pack, CudnnDescriptor::Create(api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
    AMPC_RETURN_IF_ERROR(pack.SetInts(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids));
    AMPC_RETURN_IF_ERROR(
        pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()), pointers.data()));
    AMPC_RETURN_IF_ERROR(pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &args.workspace));
    AMPC_RETURN_IF_ERROR(pack.Finalize());
    const auto native = static_cast<cudaStream_t>(stream.native());
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    AMPC_RETURN_IF_ERROR(api.Check(api.set_stream(shared_->target.handle, native), "cudnnSetStream"));
    return api.Check(api.execute(shared_->target.handle, plan_.plan.get(), pack.get()), "cudnnBackendExecute");
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const ConvDesc desc_;
  const CudnnPlan plan_;
};

class Cudnn : public ConvLibrary {
 public:
  explicit Cudnn(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc& desc, int64_t workspace_limit) override {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    for (const Known& known : known_) {
      if (known.desc == desc && known.workspace_limit == workspace_limit) return known.plan;
    }
    Known known{desc, workspace_limit, absl::UnknownError("")};
    shared_->stream->native();
    absl::StatusOr<CudnnPlan> plan = PlanCudnn(shared_->api, shared_->target, desc, workspace_limit);
    if (plan.ok()) {
      known.plan = std::make_shared<const CudnnConvPlan>(shared_, desc, *std::move(plan));
    } else {
      known.plan = plan.status();
    }
    known_.push_back(known);
    return known.plan;
  }

 private:
  struct Known {
    ConvDesc desc;
    int64_t workspace_limit;
    absl::StatusOr<std::shared_ptr<const ConvPlan>> plan;
  };
  const std::shared_ptr<Shared> shared_;
  std::vector<Known> known_;  // guarded by the mutex; a few dozen
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvLibrary>> NewCudnn(Device& device) {
  AMPC_ASSIGN_OR_RETURN(const CudnnApi api, CudnnApi::Open());
  auto shared = std::make_shared<Shared>(api);
  AMPC_ASSIGN_OR_RETURN(shared->stream, device.NewStream());
  shared->stream->native();
  AMPC_RETURN_IF_ERROR(api.Check(api.create(&shared->target.handle), "cudnnCreate"));
  return std::make_unique<Cudnn>(std::move(shared));
}

}  // namespace ampc
