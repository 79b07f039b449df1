// unfold: the windows of an image as columns.
#include <algorithm>
#include <cstring>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

struct Axis {
  int64_t in, windows, kernel, stride, dilation, before;

  // The offset of element `at` of window `window`; -1 in the padding.
  int64_t Position(int64_t window, int64_t at) const {
    const int64_t i = window * stride - before + at * dilation;
    return i < in ? std::max<int64_t>(i, -1) : -1;
  }
};

struct Unfold {
  Axis rows, columns;
  int64_t planes;  // channels of all images
  size_t size;     // bytes of an element
};

void Run(const Unfold& u, const KernelArgs& args) {
  const int64_t taps = u.rows.kernel * u.columns.kernel, plane = u.rows.in * u.columns.in;
  ParallelFor(args.threads, u.planes * taps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* x = static_cast<const char*>(args.inputs[0]) + i / taps * plane * static_cast<int64_t>(u.size);
      char* y = static_cast<char*>(args.outputs[0]) + i * u.rows.windows * u.columns.windows * static_cast<int64_t>(u.size);
      const int64_t tap = i % taps;
      for (int64_t r = 0; r < u.rows.windows; ++r) {
        const int64_t row = u.rows.Position(r, tap / u.columns.kernel);
        for (int64_t c = 0; c < u.columns.windows; ++c, y += u.size) {
          const int64_t column = u.columns.Position(c, tap % u.columns.kernel);
          if (row < 0 || column < 0) {
            std::memset(y, 0, u.size);
          } else {
            std::memcpy(y, x + (row * u.columns.in + column) * static_cast<int64_t>(u.size), u.size);
          }
        }
      }
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op& op = view.op();
  const TensorDesc &x = spec.inputs[0], &out = spec.outputs[0];
  const std::vector<int64_t> kernel = op.GetInts("kernel_sizes"), strides = op.GetInts("strides"), dilations = op.GetInts("dilations");
  const std::vector<int64_t> paddings = op.GetInts("paddings");
  const auto axis = [&](int i) {
    const int64_t room = x.dims[2 + i] + paddings[i] + paddings[i + 2] - dilations[i] * (kernel[i] - 1) - 1;
    return Axis{x.dims[2 + i], room / strides[i] + 1, kernel[i], strides[i], dilations[i], paddings[i]};
  };
  const Unfold u{axis(0), axis(1), x.dims[0] * x.dims[1], SizeOf(StorageType(x.dtype))};
  if (u.planes * kernel[0] * kernel[1] * u.rows.windows * u.columns.windows != out.NumElements())
    return view.Internal("the result has another size");
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(traits, [u](const KernelArgs& args) {
    Run(u, args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterUnfold(KernelRegistry* registry) { return registry->Add({"unfold", &Make, MovableTypes()}); }

}  // namespace ampc
