// where, dropout and their gradients.
#include "kernels/cuda/elementwise/mask.h"

#include "graph/base/status_macros.h"
#include "kernels/common/keep_mask.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/cuda/elementwise/unary.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

KernelTraits Traits(const char* name) {
  KernelTraits traits;
  traits.implementation = name;
  return traits;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWhere(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[0].dtype, {DType::kBool}));
  const DType dtype = spec.outputs[0].dtype;
  const int64_t n = spec.outputs[0].NumElements();
  if (spec.inputs[1].dtype != dtype || spec.inputs[2].dtype != dtype)
    return view.Unsupported("operands of several types have no device kernel");
  for (const TensorDesc& in : spec.inputs) {
    if (in.NumElements() != n) return view.Internal("an operand has another size than the result");
  }
  return MakeDeviceKernel(Traits("cuda:where"), [n, bytes = static_cast<int64_t>(SizeOf(dtype))](const KernelArgs& args, void* stream) {
    return LaunchWhere(stream, bytes, args.inputs[0], args.inputs[1], args.inputs[2], args.outputs[0], n);
  });
}

// Inference: X, or X * factor; the mask says that everything was kept.
absl::StatusOr<std::unique_ptr<Kernel>> MakeTest(const SpecView& view) {
  const double factor = DropoutFactor(view.op());
  const int mask = view.Out("Mask");
  UnaryParams p{functors::UnaryOp::kScaleThenBias, PlanSame<1>(view.spec(), {view.In("X")}, view.Out("Out")), {factor}, {-0.0}, {}};
  KernelTraits traits = Traits("cuda:dropout");
  traits.in_place_input = 0;
  if (factor == 1 && mask < 0 && view.InDesc("X").dtype == p.map.out.dtype) traits.alias_input = 0;
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [p, mask, name = traits.implementation](const KernelArgs& args) -> absl::Status {
    UnaryParams q = p;
    q.map.in[0].data = args.inputs[0];
    q.map.out.data = args.outputs[0];
    AMPC_RETURN_IF_ERROR(args.stream->device().LaunchStatus(LaunchUnary(args.stream->native(), q), name));
    if (mask < 0 || args.outputs[mask] == nullptr || q.map.shape.n == 0) return absl::OkStatus();
    return args.stream->FillBytes(args.outputs[mask], 1, q.map.shape.n);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTraining(const SpecView& view) {
  const bool given = view.In("Seed") >= 0;
  if (!given && !view.op().GetBool("fix_seed")) {
    return view.Unsupported("training needs a Seed operand or fix_seed, because a kernel keeps no random state");
  }
  const int64_t attribute = view.op().GetInt("seed");
  const DeviceScalar seed(view, "Seed", static_cast<double>(attribute));
  const TensorDesc& out = view.OutDesc("Out");
  DropoutParams p{};
  p.n = out.NumElements();
  p.dtype = out.dtype;
  p.own = given && attribute != 0 ? MixBits(static_cast<uint64_t>(attribute)) : 0;
  p.threshold = KeepThreshold(view.op().GetFloat("dropout_prob", 0.5));
  p.factor = DropoutFactor(view.op());
  KernelTraits traits = Traits("cuda:dropout");
  traits.in_place_input = 0;
  return MakeDeviceKernel(std::move(traits), [p, seed, mask = view.Out("Mask")](const KernelArgs& args, void* stream) {
    DropoutParams q = p;
    q.x = args.inputs[0];
    q.out = args.outputs[0];
    q.mask = mask < 0 ? nullptr : args.outputs[mask];
    q.seed = seed.At(args);
    return LaunchDropout(stream, q);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropout(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(view.OutDesc("Out").dtype, {DType::kF32, DType::kF64}));
  if (view.InDesc("X").dtype != view.OutDesc("Out").dtype) return view.Unsupported("a result of another type than X has no device kernel");
  return view.op().GetBool("is_test") ? MakeTest(view) : MakeTraining(view);
}

struct Part {
  bool inverse = false;
  double factor = 1;
  int out = -1;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeParts(const SpecView& view, int mask, DType mask_type, std::vector<Part> parts) {
  if (mask < 0) return view.Unsupported("needs the Mask of the forward op, which has none");
  const int g = view.In("Out@GRAD");
  const TensorDesc& from = view.spec().inputs[g];
  AMPC_RETURN_IF_ERROR(view.CheckType(from.dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(view.spec().inputs[mask].dtype, {mask_type}));
  if (view.spec().inputs[mask].NumElements() != from.NumElements()) return view.Internal("the mask has another size than the gradient");
  for (const Part& part : parts) {
    if (view.spec().outputs[part.out].dtype != from.dtype)
      return view.Unsupported("a gradient of another type than its source has no device kernel");
  }
  KernelTraits traits = Traits("cuda:mask");
  if (!parts.empty()) traits.in_place_input = g;
  return MakeDeviceKernel(std::move(traits), [=, n = from.NumElements(), dtype = from.dtype](const KernelArgs& args, void* stream) {
    for (size_t i = parts.size(); i-- > 0;) {  // the first result may lie in the memory of g
      if (args.outputs[parts[i].out] == nullptr) continue;
      const MaskParams p{args.inputs[g], args.inputs[mask], args.outputs[parts[i].out], n, dtype, parts[i].inverse, parts[i].factor};
      if (const int code = LaunchMask(stream, p); code != 0) return code;
    }
    return 0;
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeWhereGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  std::vector<Part> parts;
  if (const int out = view.Out("X@GRAD"); out >= 0) parts.push_back({.inverse = false, .out = out});
  if (const int out = view.Out("Y@GRAD"); out >= 0) parts.push_back({.inverse = true, .out = out});
  return MakeParts(view, view.In("Condition"), DType::kBool, std::move(parts));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDropoutGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  std::vector<Part> parts;
  if (const int out = view.Out("X@GRAD"); out >= 0) parts.push_back({.factor = DropoutFactor(view.op()), .out = out});
  return MakeParts(view, view.In("Mask"), DType::kU8, std::move(parts));
}

}  // namespace

absl::Status RegisterMask(KernelRegistry* registry) {
  const std::vector<DType> floats = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"where", &MakeWhere, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"where_grad", &MakeWhereGradient, floats}));
  AMPC_RETURN_IF_ERROR(registry->Add({"dropout", &MakeDropout, floats, LayoutSupport::kElementwise}));
  return registry->Add({"dropout_grad", &MakeDropoutGradient, floats});
}

}  // namespace ampc::cuda
