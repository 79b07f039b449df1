#include "runtime/plan/host_fallback.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/device/device.h"
#include "kernels/device/missing_library.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

int64_t DeclaredBytes(const TensorDesc& desc) { return desc.NumElements() * static_cast<int64_t>(SizeOf(desc.dtype)); }

class HostFallbackKernel : public Kernel {
 public:
  HostFallbackKernel(std::unique_ptr<Kernel> kernel, const KernelSpec& spec)
      : kernel_(std::move(kernel)), inputs_(spec.inputs), outputs_(spec.outputs), constants_(spec.values) {
    for (size_t i = 0; i < inputs_.size(); ++i) bytes_ += constants_[i] == nullptr ? DeclaredBytes(inputs_[i]) : 0;
    for (const TensorDesc& desc : outputs_) bytes_ += DeclaredBytes(desc);
  }

  absl::Status Run(const KernelArgs& args) const override {
    std::vector<HostTensor> in(inputs_.size()), out(outputs_.size());
    std::vector<const void*> in_data(inputs_.size());
    std::vector<void*> out_data(outputs_.size());
    AMPC_RETURN_IF_ERROR(CopyOut(args, in));
    for (size_t i = 0; i < in.size(); ++i) in_data[i] = constants_[i] != nullptr ? constants_[i]->data() : in[i].data();
    for (size_t i = 0; i < out.size(); ++i) {
      AMPC_ASSIGN_OR_RETURN(out[i], HostTensor::CreateUninitialized(StorageType(outputs_[i].dtype), outputs_[i].dims));
      out_data[i] = out[i].mutable_data();
    }
    AMPC_ASSIGN_OR_RETURN(HostTensor workspace, HostTensor::CreateUninitialized(DType::kU8, {kernel_->workspace_bytes()}));
    AMPC_RETURN_IF_ERROR(kernel_->Run({in_data, out_data, workspace.mutable_data(), args.threads}));
    return CopyIn(args, out);
  }

  bool rounds_results() const override { return true; }
  bool consumes(int flat_input) const override { return constants_[flat_input] != nullptr; }
  // All operands are read before a result is written.
  int in_place_input() const override { return SameOnDevice(kernel_->in_place_input()); }
  int alias_input() const override { return SameOnDevice(kernel_->alias_input()); }
  bool synchronizes() const override { return true; }
  std::string implementation() const override { return absl::StrCat("host:", kernel_->implementation()); }
  int64_t bytes() const { return bytes_; }

 private:
  // Operands that share memory as f32 need not share it in their declared types.
  int SameOnDevice(int input) const { return input >= 0 && SizeOf(inputs_[input].dtype) == SizeOf(outputs_[0].dtype) ? input : -1; }

  absl::Status CopyOut(const KernelArgs& args, std::vector<HostTensor>& in) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (constants_[i] != nullptr) continue;
      AMPC_ASSIGN_OR_RETURN(in[i], HostTensor::CreateUninitialized(inputs_[i].dtype, inputs_[i].dims));
      AMPC_RETURN_IF_ERROR(args.stream->CopyToHost(in[i].mutable_data(), args.inputs[i], DeclaredBytes(inputs_[i])));
    }
    AMPC_RETURN_IF_ERROR(args.stream->Synchronize());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (constants_[i] != nullptr) continue;
      AMPC_ASSIGN_OR_RETURN(in[i], ToStorage(std::move(in[i])));
    }
    return absl::OkStatus();
  }

  absl::Status CopyIn(const KernelArgs& args, std::vector<HostTensor>& out) const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (IsLowPrecision(outputs_[i].dtype)) {
        AMPC_ASSIGN_OR_RETURN(out[i], FromStorage(out[i], outputs_[i].dtype));
      }
      AMPC_RETURN_IF_ERROR(args.stream->CopyToDevice(args.outputs[i], out[i].data(), DeclaredBytes(outputs_[i])));
    }
    return args.stream->Synchronize();  // the host's copies end here
  }

  const std::unique_ptr<Kernel> kernel_;
  const std::vector<TensorDesc> inputs_;
  const std::vector<TensorDesc> outputs_;
  const std::vector<const HostTensor*> constants_;  // by input; null for what a run computes
  int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeHostFallback(std::unique_ptr<Kernel> kernel, const KernelSpec& spec) {
  return std::make_unique<HostFallbackKernel>(std::move(kernel), spec);
}

int64_t BytesThroughHost(const Kernel& kernel) {
  const auto* fallback = dynamic_cast<const HostFallbackKernel*>(&kernel);
  return fallback == nullptr ? 0 : fallback->bytes();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeKernelFor(const PlanTarget& target, const KernelRegistry& host, const KernelSpec& spec) {
  const KernelEntry* entry = target.device.kernels->Find(spec.op->type());
  if (entry != nullptr && entry->make != nullptr && AcceptsLayouts(*entry, spec)) {
    KernelSpec on_device = spec;
    on_device.device = target.device.device.get();
    AMPC_RETURN_IF_ERROR(on_device.device->MakeCurrent());
    absl::StatusOr<std::unique_ptr<Kernel>> kernel = MakeKernel(*entry, on_device);
    if (kernel.ok() || !MayFallBack(kernel.status())) return kernel;
  }
  entry = host.Find(spec.op->type());
  if (entry == nullptr) return UnsupportedError(absl::StrCat(Describe(*spec.op), ": there is no kernel for this op"));
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeKernel(*entry, spec));
  return MakeHostFallback(std::move(kernel), spec);
}

}  // namespace ampc
