// sum, prelu and affine_channel.
#include "kernels/cuda/elementwise/sum.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Traits(const char* name, int in_place) {
  KernelTraits traits;
  traits.implementation = name;
  traits.in_place_input = in_place;
  return traits;
}

// The first operand's memory may become the result's unless another thread's lanes read it: each element is read by its own thread only.
absl::StatusOr<std::unique_ptr<Kernel>> MakeSum(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& out = spec.outputs[0];
  if (spec.inputs.size() > kMaxTerms) return view.Unsupported(absl::StrCat("more than ", kMaxTerms, " operands have no device kernel"));
  for (const TensorDesc& in : spec.inputs) {
    AMPC_RETURN_IF_ERROR(CheckClass(view, in.dtype, out.dtype));
    if (in.NumElements() != out.NumElements()) return view.Internal("an operand has another size than the result");
  }
  std::vector<DType> types;
  for (const TensorDesc& in : spec.inputs) types.push_back(in.dtype);
  return MakeDeviceKernel(Traits("cuda:sum", spec.inputs[0].dtype == out.dtype ? 0 : -1),
                          [types, dtype = out.dtype, n = out.NumElements()](const KernelArgs& args, void* stream) {
                            SumParams p{};
                            p.terms = static_cast<int>(types.size());
                            std::copy(args.inputs.begin(), args.inputs.end(), p.in);
                            std::copy(types.begin(), types.end(), p.dtype);
                            p.out = {args.outputs[0], dtype};
                            p.n = n;
                            return LaunchSum(stream, p);
                          });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePrelu(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  for (const TensorDesc& in : spec.inputs) AMPC_RETURN_IF_ERROR(CheckClass(view, in.dtype, spec.outputs[0].dtype));
  const PreluShape s = PreluShapeOf(view.op(), x.dims);
  if (s.slopes != view.InDesc("Alpha").NumElements()) return view.Internal("Alpha has another size than its mode needs");
  MapParams<2> map = PlanSame<2>(spec, {0, 1}, 0);
  const std::vector<int64_t> operands[] = {{s.outer, s.slopes, s.inner}, {1, s.slopes, 1}};
  if (!PlanMap(operands, operands[0], &map.shape, map.in)) return view.Internal("three dimensions are too many");
  return MakeDeviceKernel(Traits("cuda:prelu", x.dtype == spec.outputs[0].dtype ? 0 : -1), [map](const KernelArgs& args, void* stream) {
    MapParams<2> p = map;
    for (int i = 0; i < 2; ++i) p.in[i].data = args.inputs[i];
    p.out.data = args.outputs[0];
    return LaunchPrelu(stream, p);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeAffineChannel(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const TensorDesc& x = view.InDesc("X");
  if (spec.outputs[0].layout != x.layout) return view.Unsupported("the device kernel needs Out in the layout of X");
  const bool last = view.op().GetString("data_layout", "AnyLayout") != "NCHW";
  const int64_t channels = last ? x.dims.back() : x.dims[1], n = x.NumElements();
  const int from[] = {view.In("X"), view.In("Scale"), view.In("Bias")};
  MapParams<3> map = PlanSame<3>(spec, from, 0);
  if (n > 0) {
    const bool columns = last || x.layout == Layout::kChannelsLast;
    const int64_t outer = columns ? n / channels : x.dims[0];
    const std::vector<int64_t> whole = {outer, channels, n / outer / channels}, channel = {1, channels, 1};
    const std::vector<int64_t> operands[] = {whole, channel, channel};
    if (!PlanMap(operands, whole, &map.shape, map.in)) return view.Internal("three dimensions are too many");
  }
  return MakeDeviceKernel(Traits("cuda:affine_channel", x.dtype == spec.outputs[0].dtype ? from[0] : -1),
                          [map, x = from[0], scale = from[1], bias = from[2]](const KernelArgs& args, void* stream) {
                            MapParams<3> p = map;
                            p.in[0].data = args.inputs[x];
                            p.in[1].data = args.inputs[scale];
                            p.in[2].data = args.inputs[bias];
                            p.out.data = args.outputs[0];
                            return LaunchAffine(stream, p);
                          });
}

}  // namespace

absl::Status RegisterSum(KernelRegistry* registry) {
  const LayoutSupport any = LayoutSupport::kElementwise;
  AMPC_RETURN_IF_ERROR(
      registry->Add({"sum", &MakeSum, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"prelu", &MakePrelu, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"affine_channel", &MakeAffineChannel, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows});
}

}  // namespace ampc::cuda
