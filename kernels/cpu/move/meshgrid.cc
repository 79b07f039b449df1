// meshgrid: each vector repeated over a grid.
#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"

namespace ampc {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MakeMeshgrid(const KernelSpec& spec) {
  const SpecView view(spec);
  const int n = view.NumIn("X");
  std::vector<Part> parts;
  for (int i = 0; i < n && i < view.NumOut("Out"); ++i) {
    const TensorDesc &x = view.InDesc("X", i), &out = view.OutDesc("Out", i);
    if (StorageType(x.dtype) != StorageType(out.dtype)) return view.Internal("an operand has another type than its result");
    if (static_cast<int>(out.dims.size()) != n || x.NumElements() != out.dims[i])
      return view.Internal("a result is no grid of the operands");
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < n; ++d) {
      if (d != i) (d < i ? outer : inner) *= out.dims[d];
    }
    const int64_t size = out.dims[i];
    parts.push_back({view.In("X", i), 0, view.Out("Out", i), 0,
                     StridedCopy({outer, size, inner}, {0, 1, 0}, {size * inner, inner, 1}, ElementSize(out.dtype))});
  }
  return MakeMove(std::move(parts));
}

}  // namespace

absl::Status RegisterMeshgrid(KernelRegistry* registry) { return registry->Add({"meshgrid", &MakeMeshgrid, MovableTypes()}); }

}  // namespace ampc
