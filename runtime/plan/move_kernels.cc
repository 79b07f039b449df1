#include "runtime/plan/move_kernels.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/device/device.h"
#include "kernels/layout.h"
#include "runtime/plan/host_fallback.h"

namespace ampc {
namespace {

class ConvertLayoutKernel : public Kernel {
 public:
  ConvertLayoutKernel(const TensorDesc& from, const TensorDesc& to) : from_(from), to_(to) {}
  absl::Status Run(const KernelArgs& args) const override {
    ConvertTensor(args.threads, from_, to_, args.inputs[0], args.outputs[0]);
    return absl::OkStatus();
  }
  bool rounds_results() const override { return true; }
  int alias_input() const override { return SameInBothLayouts(from_.dims) && from_.storage() == to_.storage() ? 0 : -1; }
  std::string implementation() const override { return "ampc:layout"; }

 private:
  const TensorDesc from_, to_;
};

class CopyKernel : public Kernel {
 public:
  CopyKernel(int input, int64_t bytes) : input_(input), bytes_(bytes) {}
  absl::Status Run(const KernelArgs& args) const override {
    if (bytes_ == 0 || args.outputs[0] == args.inputs[input_]) return absl::OkStatus();
    if (args.stream != nullptr) return args.stream->CopyOnDevice(args.outputs[0], args.inputs[input_], bytes_);
    std::memcpy(args.outputs[0], args.inputs[input_], static_cast<size_t>(bytes_));
    return absl::OkStatus();
  }
  bool rounds_results() const override { return true; }
  std::string implementation() const override { return "ampc:copy"; }

 private:
  int input_;
  int64_t bytes_;
};

}  // namespace

std::unique_ptr<Kernel> MakeCopy(int input, int64_t bytes) { return std::make_unique<CopyKernel>(input, bytes); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeLayoutConversion(const PlanTarget* target, const TensorDesc& from, const TensorDesc& to) {
  auto host = std::make_unique<ConvertLayoutKernel>(from, to);
  if (target == nullptr) return host;
  KernelSpec spec;
  spec.inputs = {from};
  spec.outputs = {to};
  spec.values = {nullptr};
  const KernelEntry* entry = target->device.kernels->Find(kConvertLayout);
  if (entry == nullptr || host->alias_input() == 0) return MakeHostFallback(std::move(host), spec);
  spec.device = target->device.device.get();
  return entry->make(spec);
}

bool SameInBothLayouts(const Dims& dims) {
  return dims[1] == 1 || std::all_of(dims.begin() + 2, dims.end(), [](int64_t d) { return d == 1; });
}

}  // namespace ampc
