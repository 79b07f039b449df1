#include "tests/cuda/session/lazy_kernels.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/device/device.h"
#include "kernels/layout.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

std::atomic<int64_t> lazy_runs = 0;

HostTensor Fresh(DType dtype, const Dims& dims) { return HostTensor::CreateUninitialized(dtype, dims).value(); }

// The memory of the emulated device is the host's.
struct LazyKernel : Kernel {
  std::shared_ptr<const Kernel> kernel;
  std::vector<TensorDesc> inputs, outputs;
  std::vector<const HostTensor*> constants;

  static void Compute(const LazyKernel& k, const std::vector<const void*>& in, const std::vector<void*>& out) {
    std::vector<HostTensor> wide, results;
    std::vector<const void*> operands;
    std::vector<void*> to;
    for (size_t i = 0; i < in.size(); ++i) {
      HostTensor t = Fresh(k.inputs[i].dtype, k.inputs[i].dims);
      if (k.constants[i] == nullptr && t.size_bytes() > 0) std::memcpy(t.mutable_data(), in[i], t.size_bytes());
      wide.push_back(k.constants[i] != nullptr ? *k.constants[i] : ToStorage(std::move(t)).value());
      operands.push_back(wide.back().data());
    }
    for (const TensorDesc& desc : k.outputs) {
      results.push_back(Fresh(StorageType(desc.dtype), desc.dims));
      to.push_back(results.back().mutable_data());
    }
    HostTensor workspace = Fresh(DType::kU8, {k.kernel->workspace_bytes()});
    k.kernel->Run({operands, to, workspace.mutable_data(), 1}).IgnoreError();  // nobody could be told
    for (size_t i = 0; i < out.size(); ++i) {
      const HostTensor narrow = FromStorage(results[i], k.outputs[i].dtype).value();
      if (narrow.size_bytes() > 0) std::memcpy(out[i], narrow.data(), narrow.size_bytes());
    }
  }

  absl::Status Run(const KernelArgs& args) const override {
    std::vector<const void*> in(args.inputs.begin(), args.inputs.end());
    std::vector<void*> out(args.outputs.begin(), args.outputs.end());
    ++lazy_runs;
    const auto copy = std::make_shared<LazyKernel>(*this);
    return args.stream->device().LaunchStatus(cuda::EnqueueEmulated(args.stream->native(), [=] { Compute(*copy, in, out); }), "lazy");
  }
  bool rounds_results() const override { return true; }
  bool consumes(int i) const override { return constants[i] != nullptr; }
  int alias_input() const override {
    const int i = kernel->alias_input();
    return i >= 0 && SizeOf(inputs[i].dtype) == SizeOf(outputs[0].dtype) ? i : -1;
  }
  std::string implementation() const override { return "lazy"; }
};

std::unique_ptr<LazyKernel> Wrap(std::unique_ptr<Kernel> kernel, const KernelSpec& spec) {
  auto lazy = std::make_unique<LazyKernel>();
  lazy->kernel = std::move(kernel);
  lazy->inputs = spec.inputs;
  lazy->outputs = spec.outputs;
  lazy->constants = spec.values;
  return lazy;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLazy(const KernelSpec& spec) {
  KernelSpec host = spec;
  host.device = nullptr;
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, CpuKernels().Find(spec.op->type())->make(host));
  return Wrap(std::move(kernel), spec);
}

struct Convert : Kernel {
  TensorDesc from, to;
  absl::Status Run(const KernelArgs& args) const override {
    ConvertLayout(1, from.dims, from.layout, to.layout, static_cast<const float*>(args.inputs[0]), static_cast<float*>(args.outputs[0]));
    return absl::OkStatus();
  }
  std::string implementation() const override { return "lazy"; }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConvert(const KernelSpec& spec) {
  auto convert = std::make_unique<Convert>();
  convert->from = spec.inputs[0];
  convert->to = spec.outputs[0];
  return Wrap(std::move(convert), spec);
}

}  // namespace

int64_t LazyRuns() { return lazy_runs; }

const KernelRegistry& NoKernels() {
  static const auto* const none = new KernelRegistry;
  return *none;
}

const KernelRegistry& LazyKernels() {
  static const KernelRegistry* const all = [] {
    auto* registry = new KernelRegistry;
    for (const KernelEntry* entry : CpuKernels().All()) {
      if (entry->op.starts_with("fused_gemm_epilogue")) continue;  // a step that has them rounds less often than on the CPU
      if (entry->make != nullptr)
        registry->Add({.op = entry->op, .make = &MakeLazy, .dtypes = entry->dtypes, .layouts = entry->layouts}).IgnoreError();
    }
    registry->Add({.op = "convert_layout", .make = &MakeConvert, .dtypes = {DType::kF16, DType::kBF16}}).IgnoreError();
    return registry;
  }();
  return *all;
}

}  // namespace ampc
