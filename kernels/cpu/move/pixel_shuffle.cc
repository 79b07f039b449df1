// pixel_shuffle: channels become positions, one strided copy.
#include "kernels/cpu/move/pixel_shuffle.h"

#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/move/move.h"

namespace ampc {

ShuffleSpec ReadPixelShuffle(const Op& op, const Dims& x) {
  const int64_t r = op.GetInt("upscale_factor", 1);
  const bool last = ops::ChannelsLast(op.GetString("data_format"));
  const int64_t n = x[0], c = x[last ? 3 : 1] / (r * r), h = x[last ? 1 : 2], w = x[last ? 2 : 3];
  // X as [n, c, r, r, h, w] or [n, h, w, c, r, r], in the order of the result: [n, c, h, r, w, r] or [n, h, r, w, r, c].
  const int64_t hw = h * w, row = w * r;
  if (last) {
    return {
        {n, h, r, w, r, c}, {hw * c * r * r, w * c * r * r, r, c * r * r, 1, r * r}, {hw * c * r * r, r * row * c, row * c, r * c, c, 1}};
  }
  return {{n, c, h, r, w, r}, {c * r * r * hw, r * r * hw, w, r * hw, 1, hw}, {c * r * r * hw, r * r * hw, r * row, row, r, 1}};
}

namespace {

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const TensorDesc& x = spec.inputs[0];
  if (x.NumElements() == 0) return MakeMove({});
  const ShuffleSpec s = ReadPixelShuffle(*spec.op, x.dims);
  return MakeMove({{0, 0, 0, 0, StridedCopy(s.dims, s.from, s.to, ElementSize(x.dtype))}});
}

}  // namespace

absl::Status RegisterPixelShuffle(KernelRegistry* registry) { return registry->Add({"pixel_shuffle", &Make, MovableTypes()}); }

}  // namespace ampc
