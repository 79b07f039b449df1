// Gradients of expand_v2, expand_as_v2, tile and meshgrid.
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/move/repeat_sum.h"
#include "kernels/spec/move/repeat_spec.h"

namespace ampc {
namespace {

struct Sum {
  RepeatSum sum;
  int in, out;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<RepeatSpec> repeats, ReadRepeats(SpecView(spec)));
  std::vector<Sum> sums;
  for (const RepeatSpec& r : repeats) sums.push_back({RepeatSum(r.dims, r.summed), r.input, r.output});
  const bool wide = !repeats.empty() && spec.inputs[repeats[0].input].dtype == DType::kF64;
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  return MakeLambdaKernel(std::move(traits), [sums = std::move(sums), wide](const KernelArgs& args) {
    for (const Sum& s : sums) {
      const void* const in = args.inputs[s.in];
      void* const out = args.outputs[s.out];
      wide ? s.sum.Run(static_cast<const double*>(in), static_cast<double*>(out), args.threads)
           : s.sum.Run(static_cast<const float*>(in), static_cast<float*>(out), args.threads);
    }
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterRepeatGradient(KernelRegistry* registry) {
  for (const char* op : {"expand_as_v2_grad", "expand_v2_grad", "meshgrid_grad", "tile_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
