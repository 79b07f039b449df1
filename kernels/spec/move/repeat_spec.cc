#include "kernels/spec/move/repeat_spec.h"

#include <utility>

#include "absl/strings/match.h"
#include "graph/base/status_macros.h"
#include "kernels/spec/move/view_spec.h"

namespace ampc {
namespace {

absl::StatusOr<std::vector<RepeatSpec>> ReadGrids(const SpecView& view) {
  std::vector<RepeatSpec> repeats;
  for (int i = 0; i < view.NumOut("X@GRAD"); ++i) {
    const TensorDesc& gradient = view.InDesc("Out@GRAD", i);
    AMPC_RETURN_IF_ERROR(view.CheckType(gradient.dtype, {DType::kF32, DType::kF64}));
    if (gradient.dims.size() != static_cast<size_t>(view.NumOut("X@GRAD"))) return view.Unsupported("Out@GRAD needs a dim for each X");
    std::vector<bool> summed(gradient.dims.size(), true);
    summed[i] = false;
    repeats.push_back({view.In("Out@GRAD", i), view.Out("X@GRAD", i), std::vector<int64_t>(gradient.dims.begin(), gradient.dims.end()),
                       std::move(summed)});
  }
  return repeats;
}

}  // namespace

absl::StatusOr<std::vector<RepeatSpec>> ReadRepeats(const SpecView& view) {
  if (view.op().type() == "meshgrid_grad") return ReadGrids(view);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  const bool tile = absl::StartsWith(view.op().type(), "tile");
  AMPC_ASSIGN_OR_RETURN(ViewSpec v, tile ? ReadTile(view, x.dims, gradient.dims) : ReadExpand(view, x.dims, gradient.dims));
  std::vector<bool> summed;
  for (int64_t stride : v.from) summed.push_back(stride == 0);
  return std::vector<RepeatSpec>{{view.In("Out@GRAD"), view.Out("X@GRAD"), std::move(v.dims), std::move(summed)}};
}

std::vector<RepeatAxis> JoinRepeats(absl::Span<const int64_t> dims, const std::vector<bool>& summed) {
  std::vector<RepeatAxis> axes;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
    if (dims[d] == 1) continue;
    if (!axes.empty() && axes.back().summed == summed[d]) {
      axes.back().size *= dims[d];
    } else {
      axes.push_back({dims[d], stride, summed[d]});
    }
  }
  return axes;
}

}  // namespace ampc
