// uniform_random, gaussian_random and truncated_gaussian_random.
#include "kernels/cuda/sampling/random.h"

#include <utility>

#include "kernels/common/keep_mask.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"

namespace ampc::cuda {
namespace {

// The stream that InitialValues (graph/initializer.h) has for a seed and a name.
uint64_t StreamOf(uint64_t seed, absl::string_view name) {
  const auto mix = [](uint64_t x) { return MixBits(x - 0x9e3779b97f4a7c15u); };
  uint64_t stream = mix(seed);
  for (char c : name) stream = mix(stream ^ static_cast<unsigned char>(c));
  return stream;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const Op& op = *spec.op;
  RandomParams p;
  p.type = spec.outputs[0].dtype;
  const bool uniform = op.type() == "uniform_random";
  p.kind = uniform ? RandomKind::kUniform : op.type() == "gaussian_random" ? RandomKind::kNormal : RandomKind::kTruncatedNormal;
  p.a = op.GetFloat(uniform ? "min" : "mean");
  p.b = op.GetFloat(uniform ? "max" : "std");
  p.stream = StreamOf(static_cast<uint64_t>(op.GetInt("seed")), op.outputs()[0]->name());
  KernelTraits traits;
  traits.implementation = "cuda:random";
  return MakeDeviceKernel(std::move(traits), [p, n = spec.outputs[0].NumElements()](const KernelArgs& args, void* stream) {
    return LaunchRandom(stream, p, n, args.outputs[0]);
  });
}

}  // namespace

absl::Status RegisterRandom(KernelRegistry* registry) {
  for (const char* op : {"gaussian_random", "truncated_gaussian_random", "uniform_random"}) {
    const absl::Status status = registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
