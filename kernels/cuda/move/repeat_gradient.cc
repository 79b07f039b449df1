// Gradients of expand_v2, expand_as_v2, tile and meshgrid.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/repeat_sum.h"
#include "kernels/spec/move/repeat_spec.h"

namespace ampc::cuda {
namespace {

struct Sum {
  RepeatSumParams params;
  int in, out;
};

// Enough parts to fill a device, each of some length.
int64_t PartsOf(int64_t results, int64_t terms, int64_t wanted, int64_t least_terms) {
  return std::max<int64_t>(1, std::min((wanted + results - 1) / std::max<int64_t>(1, results), terms / least_terms));
}

absl::StatusOr<Sum> Prepare(const SpecView& view, const RepeatSpec& r) {
  Sum sum{{}, r.input, r.output};
  RepeatSumParams& p = sum.params;
  p.type = view.spec().inputs[r.input].dtype;
  for (size_t d = 0; d < r.dims.size(); ++d) (r.summed[d] ? p.terms : p.results) *= r.dims[d];
  if (p.results == 0 || p.terms == 0) return sum;
  const std::vector<RepeatAxis> axes = JoinRepeats(r.dims, r.summed);  // innermost first
  if (axes.size() > kMaxAxes) return view.Unsupported("the device sums repeats of at most 8 dimensions that do not join");
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) (a->summed ? p.summed : p.kept).Add(a->size, a->stride);
  p.teams = !axes.empty() && axes[0].summed;
  p.parts = p.teams ? PartsOf(p.results, p.terms, 512, 4096) : PartsOf(p.results, p.terms, 65536, 64);
  return sum;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const std::vector<RepeatSpec> repeats, ReadRepeats(view));
  KernelTraits traits;
  traits.implementation = "cuda:repeat_sum";
  std::vector<Sum> sums;
  for (const RepeatSpec& r : repeats) {
    AMPC_ASSIGN_OR_RETURN(sums.emplace_back(), Prepare(view, r));
    const RepeatSumParams& p = sums.back().params;
    if (p.parts > 1) traits.workspace_bytes = std::max(traits.workspace_bytes, p.parts * p.results * static_cast<int64_t>(sizeof(double)));
  }
  return MakeDeviceKernel(std::move(traits), [sums = std::move(sums)](const KernelArgs& args, void* stream) {
    for (const Sum& s : sums) {
      const int code = LaunchRepeatSum(stream, s.params, args.inputs[s.in], args.outputs[s.out], args.workspace);
      if (code != 0) return code;
    }
    return 0;
  });
}

}  // namespace

absl::Status RegisterRepeatGradient(KernelRegistry* registry) {
  for (const char* op : {"expand_as_v2_grad", "expand_v2_grad", "meshgrid_grad", "tile_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
