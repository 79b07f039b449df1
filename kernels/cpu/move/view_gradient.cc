// Gradients of reshapes, slice, strided_slice, expand_v2, expand_as_v2, tile, meshgrid and pixel_shuffle: a view's gradient goes back to
// where the view took it from, summed where it repeats.
#include <cstring>

#include "absl/strings/match.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/move/move.h"
#include "kernels/cpu/move/pixel_shuffle.h"
#include "kernels/cpu/move/repeat_sum.h"
#include "kernels/cpu/move/view_spec.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using Sizes = std::vector<int64_t>;

void FillZeros(void* to, int64_t bytes, int threads) {
  ParallelFor(threads, bytes, 1 << 17,
              [to](int64_t first, int64_t last) { std::memset(static_cast<char*>(to) + first, 0, static_cast<size_t>(last - first)); });
}

// The reshaped operand's gradient is the result's.
absl::StatusOr<std::unique_ptr<Kernel>> MakeReshape(const KernelSpec& spec) {
  const SpecView view(spec);
  const int in = view.In("Out@GRAD"), out = view.Out("X@GRAD");
  const int64_t bytes = spec.inputs[in].StorageBytes();
  if (spec.outputs[out].StorageBytes() != bytes) return view.Internal("the operand and the result differ in size");
  return MakeMove({{in, 0, out, 0, StridedCopy({bytes}, {1}, {1}, 1)}}, in);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlice(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("Input@GRAD");
  AMPC_ASSIGN_OR_RETURN(ViewSpec v, ReadSlice(view, x.dims, absl::StartsWith(view.op().type(), "strided_")));
  Sizes source = DenseStrides(v.dims);
  int64_t first = 0, n = 1;
  for (size_t d = 0; d < v.dims.size(); ++d) {
    n *= v.dims[d];
    if (v.from[d] >= 0 || v.dims[d] == 0) continue;  // from the end: the destination's strides are positive
    v.first += (v.dims[d] - 1) * v.from[d];
    first += (v.dims[d] - 1) * source[d];
    v.from[d] = -v.from[d];
    source[d] = -source[d];
  }
  if (n != gradient.NumElements()) return view.Internal("the slice and the result differ in size");
  const int64_t size = ElementSize(x.dtype), bytes = x.StorageBytes();
  const StridedCopy copy(v.dims, source, v.from, size);
  const int in = view.In("Out@GRAD"), out = view.Out("Input@GRAD");
  const bool whole = n == x.NumElements();
  if (whole) return MakeMove({{in, first * size, out, v.first * size, copy}}, copy.IsDense() ? in : -1);
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [=, from = first * size, to = v.first * size](const KernelArgs& args) {
    FillZeros(args.outputs[out], bytes, args.threads);
    copy.Run(static_cast<const char*>(args.inputs[in]) + from, static_cast<char*>(args.outputs[out]) + to, args.threads);
    return absl::OkStatus();
  });
}

struct Sum {
  RepeatSum sum;
  int in, out;
};

std::unique_ptr<Kernel> MakeSums(std::vector<Sum> sums, DType dtype) {
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  return MakeLambdaKernel(std::move(traits), [sums = std::move(sums), wide = dtype == DType::kF64](const KernelArgs& args) {
    for (const Sum& s : sums) {
      const void* const in = args.inputs[s.in];
      void* const out = args.outputs[s.out];
      wide ? s.sum.Run(static_cast<const double*>(in), static_cast<double*>(out), args.threads)
           : s.sum.Run(static_cast<const float*>(in), static_cast<float*>(out), args.threads);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeRepeat(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  const bool tile = absl::StartsWith(view.op().type(), "tile");
  AMPC_ASSIGN_OR_RETURN(const ViewSpec v, tile ? ReadTile(view, x.dims, gradient.dims) : ReadExpand(view, x.dims, gradient.dims));
  std::vector<bool> summed;
  for (int64_t stride : v.from) summed.push_back(stride == 0);
  return MakeSums({{RepeatSum(v.dims, summed), view.In("Out@GRAD"), view.Out("X@GRAD")}}, x.dtype);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMeshgrid(const KernelSpec& spec) {
  const SpecView view(spec);
  std::vector<Sum> sums;
  for (int i = 0; i < view.NumOut("X@GRAD"); ++i) {
    const TensorDesc& gradient = view.InDesc("Out@GRAD", i);
    AMPC_RETURN_IF_ERROR(view.CheckType(gradient.dtype, {DType::kF32, DType::kF64}));
    std::vector<bool> summed(gradient.dims.size(), true);
    summed[i] = false;
    sums.push_back({RepeatSum(gradient.dims, summed), view.In("Out@GRAD", i), view.Out("X@GRAD", i)});
  }
  const DType dtype = spec.inputs[0].dtype;
  return MakeSums(std::move(sums), dtype);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePixelShuffle(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.OutDesc("X@GRAD");
  if (x.NumElements() == 0) return MakeMove({});
  const ShuffleSpec s = ReadPixelShuffle(view.op(), x.dims);
  return MakeMove({{view.In("Out@GRAD"), 0, view.Out("X@GRAD"), 0, StridedCopy(s.dims, s.to, s.from, ElementSize(x.dtype))}});
}

}  // namespace

absl::Status RegisterViewGradient(KernelRegistry* registry) {
  for (const char* op : {"flatten2_grad", "flatten_contiguous_range_grad", "flatten_grad", "reshape2_grad", "reshape_grad", "squeeze2_grad",
                         "squeeze_grad", "unsqueeze2_grad", "unsqueeze_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeReshape, MovableTypes()}));
  }
  for (const char* op : {"slice_grad", "strided_slice_grad"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeSlice, MovableTypes()}));
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"expand_as_v2_grad", "expand_v2_grad", "tile_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeRepeat, floats}));
  }
  AMPC_RETURN_IF_ERROR(registry->Add({"meshgrid_grad", &MakeMeshgrid, floats}));
  return registry->Add({"pixel_shuffle_grad", &MakePixelShuffle, MovableTypes()});
}

}  // namespace ampc
