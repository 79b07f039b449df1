// uniform_random, gaussian_random and truncated_gaussian_random: initial values, a function of the seed and the result's name.
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "graph/base/status_macros.h"
#include "graph/initializer.h"
#include "kernels/common/normal_quantile.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {
namespace {

struct Draw {
  Initializer init;
  bool truncated = false;
  DType storage = DType::kF32;
  Dims dims;
  uint64_t seed = 0;
  std::string name;
};

template <typename T>
void Truncate(const Draw& draw, const HostTensor& shares, void* out) {
  int64_t i = 0;
  for (const double p : shares.values<double>()) static_cast<T*>(out)[i++] = static_cast<T>(draw.init.a + draw.init.b * NormalQuantile(p));
}

absl::Status Run(const Draw& draw, const KernelArgs& args) {
  if (!draw.truncated) {
    AMPC_ASSIGN_OR_RETURN(const HostTensor values, InitialValues(draw.init, draw.storage, draw.dims, draw.seed, draw.name));
    if (values.num_elements() > 0) std::memcpy(args.outputs[0], values.data(), values.size_bytes());
    return absl::OkStatus();
  }
  // The part of the normal distribution within two deviations.
  const double least = 0.5 * std::erfc(std::numbers::sqrt2);
  AMPC_ASSIGN_OR_RETURN(const HostTensor shares,
                        InitialValues(Initializer::Uniform(least, 1 - least), DType::kF64, draw.dims, draw.seed, draw.name));
  draw.storage == DType::kF64 ? Truncate<double>(draw, shares, args.outputs[0]) : Truncate<float>(draw, shares, args.outputs[0]);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeRandom(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
  const Op& op = *spec.op;
  const bool uniform = op.type() == "uniform_random";
  Draw draw{
      uniform ? Initializer::Uniform(op.GetFloat("min"), op.GetFloat("max")) : Initializer::Normal(op.GetFloat("mean"), op.GetFloat("std")),
      op.type() == "truncated_gaussian_random",
      StorageType(out.dtype),
      out.dims,
      static_cast<uint64_t>(op.GetInt("seed")),
      op.outputs()[0]->name()};
  return MakeLambdaKernel({}, [draw = std::move(draw)](const KernelArgs& args) { return Run(draw, args); });
}

}  // namespace

absl::Status RegisterRandom(KernelRegistry* registry) {
  for (const char* op : {"gaussian_random", "truncated_gaussian_random", "uniform_random"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeRandom, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
