// reduce_*, mean, arg_max, arg_min, norms of vectors, cumsum and cumprod on a device.
#include "kernels/cuda/reduce/reduce.h"

#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/reduce/cumulate.h"
#include "kernels/cuda/reduce/shape_of.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc::cuda {
namespace {

const std::vector<DType>& Floats() {
  static const auto* const types = new std::vector<DType>{DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  return *types;
}

std::vector<DType> FloatsAnd(std::initializer_list<DType> more) {
  std::vector<DType> types = Floats();
  types.insert(types.end(), more);
  return types;
}

KernelTraits TraitsOf(const char* name, int64_t workspace_bytes) {
  KernelTraits traits;
  traits.implementation = name;
  traits.workspace_bytes = workspace_bytes;
  return traits;
}

// `launch` is a launcher of ReduceParams.
template <typename Launch>
std::unique_ptr<Kernel> MakeReducer(const SpecView& view, const ReduceShape& shape, const char* name, int64_t part_bytes, Launch launch) {
  const AnyInput x = InputOf(view, 0);
  const AnyOutput out = OutputOf(view, 0);
  return MakeDeviceKernel(TraitsOf(name, shape.parts() * part_bytes), [=](const KernelArgs& args, void* stream) {
    return launch(stream, ReduceParams{shape, At(x, args, 0), At(out, args, 0), args.workspace});
  });
}

absl::StatusOr<ReduceShape> ReadShape(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<bool> reduce, ReadReducedDims(view));
  return ShapeOf(view, PlanReduce(view.spec().inputs[0].dims, reduce));
}

absl::Status CheckReal(const SpecView& view, const TensorDesc& t) {
  return view.CheckType(t.dtype, {DType::kF32, DType::kF64, DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
}

template <Reduction op>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReduce(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckReal(view, spec.inputs[0]));
  AMPC_RETURN_IF_ERROR(CheckReal(view, spec.outputs[0]));
  AMPC_ASSIGN_OR_RETURN(const ReduceShape shape, ReadShape(view));
  return MakeReducer(view, shape, "cuda:reduce", kReducePartBytes,
                     [](void* stream, const ReduceParams& p) { return LaunchReduce(stream, op, p); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNorm(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[0].dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64}));
  AMPC_ASSIGN_OR_RETURN(const ReduceShape shape, ReadShape(view));
  return MakeReducer(view, shape, "cuda:reduce", kNormPartBytes, [norm = ReadVectorNorm(view.op())](void* stream, const ReduceParams& p) {
    return LaunchVectorNorm(stream, norm.kind, norm.order, p);
  });
}

template <bool largest>
absl::StatusOr<std::unique_ptr<Kernel>> MakeArg(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckReal(view, spec.inputs[0]));
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kI32, DType::kI64}));
  AMPC_ASSIGN_OR_RETURN(const AxisSplit s, ReadArgAxis(view));
  AMPC_ASSIGN_OR_RETURN(const ReduceShape shape, ShapeOf(view, PlanReduce({s.outer, s.size, s.inner}, {false, true, false})));
  return MakeReducer(view, shape, "cuda:reduce", kArgPartBytes,
                     [](void* stream, const ReduceParams& p) { return LaunchArgExtreme(stream, largest, p); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeCumulate(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[0].dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  if (spec.outputs[0].dtype != spec.inputs[0].dtype) return view.Unsupported("the device's kernel needs a result of the operand's type");
  AMPC_ASSIGN_OR_RETURN(const Cumulation c, ReadCumulation(view, spec.inputs[0]));
  CumulateParams p{.rows = RowsOf(c), .product = c.product, .exclusive = c.exclusive, .reverse = c.reverse, .dtype = spec.inputs[0].dtype};
  SliceRows(&p);
  KernelTraits traits = TraitsOf("cuda:scan", p.slices > 1 ? p.rows.rows() * p.slices * 8 : 0);
  traits.in_place_input = 0;
  return MakeDeviceKernel(std::move(traits), [p](const KernelArgs& args, void* stream) {
    CumulateParams run = p;
    run.x = args.inputs[0];
    run.out = args.outputs[0];
    run.workspace = args.workspace;
    return run.rows.size == 0 ? 0 : LaunchCumulate(stream, run);
  });
}

}  // namespace

absl::Status RegisterReduce(KernelRegistry* registry) {
  const std::vector<DType> types = FloatsAnd({DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_sum", &MakeReduce<Reduction::kSum>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_mean", &MakeReduce<Reduction::kMean>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_max", &MakeReduce<Reduction::kMax>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_min", &MakeReduce<Reduction::kMin>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_prod", &MakeReduce<Reduction::kProd>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_any", &MakeReduce<Reduction::kAny>, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_all", &MakeReduce<Reduction::kAll>, types}));
  return registry->Add({"mean", &MakeReduce<Reduction::kMean>, Floats()});
}

absl::Status RegisterArgMax(KernelRegistry* registry) {
  const std::vector<DType> types = FloatsAnd({DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
  AMPC_RETURN_IF_ERROR(registry->Add({"arg_max", &MakeArg<true>, types}));
  return registry->Add({"arg_min", &MakeArg<false>, types});
}

absl::Status RegisterVectorNorm(KernelRegistry* registry) {
  for (const char* op : {"frobenius_norm", "logsumexp", "p_norm"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeNorm, Floats()}));
  return absl::OkStatus();
}

absl::Status RegisterCumulate(KernelRegistry* registry) {
  for (const char* op : {"cumsum", "cumprod"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeCumulate, FloatsAnd({DType::kI32, DType::kI64})}));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
