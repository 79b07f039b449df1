// Gradients of element-wise maps of one operand and of two broadcast operands, and of prelu and affine_channel.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/broadcast_gradient.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/cuda/elementwise/unary.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

using functors::RowGradient;
using functors::UnaryGradient;

std::unique_ptr<Kernel> NothingWanted() {
  return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
}

struct Scalars {
  DeviceScalar a, b, c;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnaryMap(const KernelSpec& spec, UnaryGradient functor, Scalars scalars) {
  const SpecView view(spec);
  if (spec.outputs.empty()) return NothingWanted();
  const TensorDesc& out = spec.outputs[0];
  const int g = view.In("Out@GRAD"), x = view.In("X"), v = x >= 0 ? x : view.In("Out");
  for (const int i : {g, v}) {
    AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[i].dtype, out.dtype));
    if (spec.inputs[i].NumElements() != out.NumElements()) return view.Internal("an operand has another size than the gradient");
  }
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
  UnaryGradientParams p{functor, PlanSame<2>(spec, {v, g}, 0), {}, {}, {}};
  KernelTraits traits;
  traits.implementation = "cuda:unary_gradient";
  if (spec.inputs[g].dtype == out.dtype) traits.in_place_input = g;
  return MakeDeviceKernel(std::move(traits), [p, scalars, v, g](const KernelArgs& args, void* stream) {
    if (args.outputs[0] == nullptr) return 0;
    UnaryGradientParams q = p;
    q.map.in[0].data = args.inputs[v];
    q.map.in[1].data = args.inputs[g];
    q.map.out.data = args.outputs[0];
    q.a = scalars.a.At(args);
    q.b = scalars.b.At(args);
    q.c = scalars.c.At(args);
    return LaunchUnaryGradient(stream, q);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const KernelSpec& spec) {
  const UnaryGradientRow* row = FindUnaryGradient(*spec.op);
  const functors::Params<double> p = ParamsOf(*row, *spec.op);
  return MakeUnaryMap(spec, FunctorOf(*row, *spec.op), {DeviceScalar(p.a), DeviceScalar(p.b), DeviceScalar(p.c)});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const KernelSpec& spec) {
  const SpecView view(spec);
  return MakeUnaryMap(spec, UnaryGradient::kClipGrad,
                      {DeviceScalar(view, "Min", spec.op->GetFloat("min")), DeviceScalar(view, "Max", spec.op->GetFloat("max")), {}});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const KernelSpec& spec) {
  const DeviceScalar factor(SpecView(spec), "FactorTensor", spec.op->GetFloat("factor", 1));
  return MakeUnaryMap(spec, PowerGradient(factor.is_fixed() ? factor.fixed() : 0.25), {factor, {}, {}});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlat(const KernelSpec& spec) {
  if (spec.outputs.empty()) return NothingWanted();
  const int64_t bytes = spec.outputs[0].NumElements() * static_cast<int64_t>(SizeOf(spec.outputs[0].dtype));
  KernelTraits traits;
  traits.implementation = "cuda:fill";
  traits.rounds_results = true;
  traits.in_place_input = 0;
  return MakeLambdaKernel(std::move(traits), [bytes](const KernelArgs& args) {
    return bytes == 0 || args.outputs[0] == nullptr ? absl::OkStatus() : args.stream->FillBytes(args.outputs[0], 0, bytes);
  });
}

// One wanted result. x, y and g are flat positions of operands.
struct Part {
  BroadcastGradientParams params;
  int x, y, g, out;
  int64_t workspace_bytes() const { return params.sums ? params.kept.count * params.chunks * static_cast<int64_t>(sizeof(double)) : 0; }
};

// How many terms a chunk has: enough chunks to fill a device, few enough that adding them is cheap.
void Cut(BroadcastGradientParams* p) {
  constexpr int64_t kUnits = 1 << 17, kLeast = 16, kMost = 512, kTeam = 2048;
  const int64_t terms = p->summed.count;
  p->chunk = p->columns ? std::clamp(terms * p->kept.count / kUnits, kLeast, kMost) : kTeam;
  p->chunks = (terms + p->chunk - 1) / p->chunk;
}

// dims: of x, y and g (1 where one repeats), and of the result that all broadcast to. `second`: the gradient of y.
bool PlanPart(const std::vector<int64_t> (&dims)[3], absl::Span<const int64_t> out, bool second, BroadcastGradientParams* p) {
  if (!PlanMap(dims, out, &p->map.shape, p->map.in)) return false;
  const MapShape& shape = p->map.shape;
  const MapOperand& own = p->map.in[second ? 1 : 0];
  p->sums = own.along != Along::kSame;
  if (!p->sums || shape.n == 0) return true;
  for (int d = 0; d < shape.rank; ++d) {
    const bool kept = own.stride[d] != 0;
    if (d == 0) p->columns = kept;
    GradientAxes& axes = kept ? p->kept : p->summed;
    axes.size[axes.rank] = shape.size[d];
    for (int i = 0; i < 3; ++i) axes.stride[i][axes.rank] = p->map.in[i].stride[d];
    axes.count *= shape.size[d].divisor();
    ++axes.rank;
  }
  Cut(p);
  return true;
}

// Without elements to sum the gradient is 0.
absl::Status RunPart(const Part& part, const KernelArgs& args, int64_t result_bytes) {
  if (args.outputs[part.out] == nullptr) return absl::OkStatus();
  if (part.params.map.shape.n == 0) {
    return result_bytes == 0 ? absl::OkStatus() : args.stream->FillBytes(args.outputs[part.out], 0, result_bytes);
  }
  BroadcastGradientParams p = part.params;
  const int from[] = {part.x, part.y, part.g};
  for (int i = 0; i < 3; ++i) p.map.in[i].data = args.inputs[from[i]];
  p.map.out.data = args.outputs[part.out];
  p.parts = static_cast<double*>(args.workspace);
  return args.stream->device().LaunchStatus(LaunchBroadcastGradient(args.stream->native(), p), "cuda:broadcast_gradient");
}

// Runs the parts in order: the one that may lie in the memory of Out@GRAD comes last.
std::unique_ptr<Kernel> MakeParts(const KernelSpec& spec, std::vector<Part> parts, int g_at) {
  KernelTraits traits;
  traits.implementation = "cuda:broadcast_gradient";
  traits.rounds_results = true;
  std::vector<int64_t> bytes;
  for (const TensorDesc& out : spec.outputs) bytes.push_back(out.NumElements() * static_cast<int64_t>(SizeOf(out.dtype)));
  for (const Part& part : parts) traits.workspace_bytes = std::max(traits.workspace_bytes, part.workspace_bytes());
  if (!spec.outputs.empty() && spec.outputs[0].NumElements() == spec.inputs[g_at].NumElements() &&
      spec.outputs[0].dtype == spec.inputs[g_at].dtype) {
    traits.in_place_input = g_at;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.out > b.out; });
  return MakeLambdaKernel(std::move(traits), [parts = std::move(parts), bytes = std::move(bytes)](const KernelArgs& args) -> absl::Status {
    for (const Part& part : parts) AMPC_RETURN_IF_ERROR(RunPart(part, args, bytes[part.out]));
    return absl::OkStatus();
  });
}

// Adds the gradient of x or y, if it is wanted.
absl::Status AddPart(const SpecView& view, const BinaryGradientRow& row, bool second, const AlignedDims& dims,
                     absl::Span<const int64_t> whole, std::vector<Part>* parts) {
  const KernelSpec& spec = view.spec();
  const int out = view.Out(absl::StrCat(second ? row.y : row.x, "@GRAD"));
  if (out < 0) return absl::OkStatus();
  Part part{{}, view.In(row.x), view.In(row.y), view.In("Out@GRAD"), out};
  if (part.y < 0) part.y = part.x;  // an operand that its gradient does not read
  part.params.functor = second ? row.of_y : row.of_x;
  const std::vector<int64_t> operands[] = {dims.x, dims.y, {whole.begin(), whole.end()}};
  if (!PlanPart(operands, whole, second, &part.params)) {
    return view.Unsupported(absl::StrCat("operands that repeat along more than ", kMaxMapRank, " dimensions have no device kernel"));
  }
  const int from[] = {part.x, part.y, part.g};
  for (int i = 0; i < 3; ++i) {
    AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[from[i]].dtype, spec.outputs[out].dtype));
    part.params.map.in[i].dtype = spec.inputs[from[i]].dtype;
  }
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[out].dtype, {DType::kF32, DType::kF64}));
  part.params.map.out.dtype = spec.outputs[out].dtype;
  parts->push_back(std::move(part));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePair(const SpecView& view, const BinaryGradientRow& row, const AlignedDims& dims,
                                                 absl::Span<const int64_t> whole) {
  std::vector<Part> parts;
  for (const bool second : {false, true}) AMPC_RETURN_IF_ERROR(AddPart(view, row, second, dims, whole, &parts));
  return MakeParts(view.spec(), std::move(parts), view.In("Out@GRAD"));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const KernelSpec& spec) {
  const SpecView view(spec);
  const BinaryGradientRow& row = *FindBinaryGradient(view.op());
  const Dims& whole = view.InDesc("Out@GRAD").dims;
  const std::optional<AlignedDims> dims = AlignDims(view.InDesc(row.x).dims, view.InDesc(row.y).dims, view.op().GetInt("axis", -1), whole);
  if (!dims) return view.Internal("the operands do not broadcast to the result");
  return MakePair(view, row, *dims, whole);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePrelu(const KernelSpec& spec) {
  const SpecView view(spec);
  const PreluShape s = PreluShapeOf(view.op(), view.InDesc("X").dims);
  if (s.slopes != view.InDesc("Alpha").NumElements()) return view.Internal("Alpha has another size than its mode needs");
  const std::vector<int64_t> whole = {s.outer, s.slopes, s.inner};
  return MakePair(view, kPreluGradient, {whole, {1, s.slopes, 1}}, whole);
}

// Out = X * Scale + Bias is a product and a sum.
absl::StatusOr<std::unique_ptr<Kernel>> MakeAffineChannel(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  const int64_t n = x.NumElements();
  if (n == 0) return view.Unsupported("an operand without elements has no device kernel");
  const bool last = view.op().GetString("data_layout", "AnyLayout") != "NCHW";
  const int64_t channels = last ? x.dims.back() : x.dims[1], outer = last ? n / channels : x.dims[0];
  const std::vector<int64_t> whole = {outer, channels, n / outer / channels};
  const AlignedDims dims{whole, {1, channels, 1}};
  std::vector<Part> parts;
  const BinaryGradientRow product{"", RowGradient::kMulGradX, RowGradient::kMulGradY, "X", "Scale"};
  const BinaryGradientRow sum{"", RowGradient::kFirstGrad, RowGradient::kFirstGrad, "X", "Bias"};
  AMPC_RETURN_IF_ERROR(AddPart(view, product, false, dims, whole, &parts));
  AMPC_RETURN_IF_ERROR(AddPart(view, product, true, dims, whole, &parts));
  AMPC_RETURN_IF_ERROR(AddPart(view, sum, true, dims, whole, &parts));
  return MakeParts(spec, std::move(parts), view.In("Out@GRAD"));
}

}  // namespace

absl::Status RegisterElementwiseGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  const LayoutSupport any = LayoutSupport::kElementwise;
  for (const UnaryGradientRow& row : UnaryGradientRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &MakeUnary, types, any}));
  for (const char* op : FlatGradients()) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeFlat, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"clip_grad", &MakeClip, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pow_grad", &MakePow, types, any}));
  for (const BinaryGradientRow& row : BinaryGradientRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &MakeBinary, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"prelu_grad", &MakePrelu, types}));
  return registry->Add({"affine_channel_grad", &MakeAffineChannel, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc::cuda
