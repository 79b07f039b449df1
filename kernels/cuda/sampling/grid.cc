// grid_sampler, affine_grid and their gradients.
#include "kernels/cuda/sampling/grid.h"

#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/move/copy.h"
#include "kernels/cuda/sort/ordering.h"
#include "kernels/spec/sampling/grid_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Named(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

struct GridGradient {
  DType type, grid_type;
  GridSampler s;
  Ordering ordering;
  int x, grid, gradient, x_gradient, grid_gradient;  // flat; -1: not wanted

  int Launch(const KernelArgs& args, void* stream) const {
    const GridPositions at{grid_type, args.inputs[grid]};
    int code = 0;
    if (x_gradient >= 0) {
      void* const weights = static_cast<char*>(args.workspace) + ordering.workspace_bytes();
      const int64_t bytes = s.images * s.channels * s.plane * static_cast<int64_t>(SizeOf(type));
      code = LaunchFill(stream, args.outputs[x_gradient], bytes, 1, FillElement());
      if (code == 0) code = LaunchGridKeys(stream, type, s, at, ordering.keys(args.workspace), weights);
      if (code == 0) code = ordering.Launch(stream, args.workspace);
      if (code == 0) {
        code = LaunchGridSpread(stream, type, s, ordering.sorted_keys(args.workspace), ordering.order(args.workspace), weights,
                                args.inputs[gradient], args.outputs[x_gradient]);
      }
    }
    if (code != 0 || grid_gradient < 0) return code;
    return LaunchGridSlopes(stream, type, s, args.inputs[x], at, args.inputs[gradient], args.outputs[grid_gradient]);
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeSampler(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType type = view.InDesc("X").dtype, grid_type = view.InDesc("Grid").dtype;
  if (StorageType(grid_type) != StorageType(type)) return view.Unsupported("the device's kernel needs X and Grid both in f64 or neither");
  if (spec.outputs[0].NumElements() == 0) return MakeDeviceKernel(Named("cuda:grid_sampler"), [](const KernelArgs&, void*) { return 0; });
  AMPC_ASSIGN_OR_RETURN(const GridSampler s, ReadGridSampler(view));
  const int x = view.In("X"), grid = view.In("Grid"), gradient = view.In("Output@GRAD");
  KernelTraits traits = Named("cuda:grid_sampler");
  if (gradient < 0) {
    return MakeDeviceKernel(std::move(traits), [=](const KernelArgs& args, void* stream) {
      return LaunchGridSample(stream, type, s, args.inputs[x], {grid_type, args.inputs[grid]}, args.outputs[0]);
    });
  }
  GridGradient g{type, grid_type, s, {}, x, grid, gradient, view.Out("X@GRAD"), view.Out("Grid@GRAD")};
  if (g.x_gradient >= 0) {
    const int64_t corners = s.images * s.points * GridCornersOf(s);
    AMPC_ASSIGN_OR_RETURN(g.ordering, Ordering::Plan(view, corners, s.images * s.plane + 1));
    traits.workspace_bytes = g.ordering.workspace_bytes() + corners * (type == DType::kF64 ? 8 : 4);
  }
  return MakeDeviceKernel(std::move(traits), [g](const KernelArgs& args, void* stream) { return g.Launch(args, stream); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAffine(const KernelSpec& spec) {
  const SpecView view(spec);
  const int from = view.In("Output@GRAD");
  const TensorDesc& grid = from < 0 ? spec.outputs[0] : spec.inputs[from];
  AffineGrid a{.type = grid.dtype, .rank = static_cast<int>(grid.dims.back()), .images = grid.dims[0]};
  if (spec.inputs[0].dtype != a.type || spec.outputs[0].dtype != a.type)
    return view.Unsupported("the device's kernel needs one type on both sides");
  for (int k = 0; k < a.rank; ++k) {
    a.size[k] = grid.dims[a.rank - k];
    a.points *= a.size[k];
  }
  a.align_corners = view.op().GetBool("align_corners", true);
  return MakeDeviceKernel(Named("cuda:affine_grid"), [a, from](const KernelArgs& args, void* stream) {
    return from < 0 ? LaunchAffineGrid(stream, a, args.inputs[0], args.outputs[0])
                    : LaunchAffineGridGradient(stream, a, args.inputs[from], args.outputs[0]);
  });
}

}  // namespace

absl::Status RegisterGrid(KernelRegistry* registry) {
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"affine_grid", "affine_grid_grad"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeAffine, floats}));
  for (const char* op : {"grid_sampler", "grid_sampler_grad"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeSampler, floats}));
  return absl::OkStatus();
}

}  // namespace ampc::cuda
