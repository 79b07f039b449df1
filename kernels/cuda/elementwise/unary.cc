// Maps of one operand with attributes or tensors as parameters: the ops of UnaryRows, clip, increment, pow and scale.
#include "kernels/cuda/elementwise/unary.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/elementwise/map_plan.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc::cuda {
namespace {

using functors::Params;
using functors::UnaryOp;

struct Scalars {
  DeviceScalar a, b, c;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMap(const KernelSpec& spec, UnaryOp functor, Scalars scalars) {
  const SpecView view(spec);
  const DType dtype = spec.outputs[0].dtype;
  AMPC_RETURN_IF_ERROR(CheckClass(view, spec.inputs[0].dtype, dtype));
  if (!IsFloat(dtype) && !HasIntegers(functor)) {
    return view.Unsupported(absl::StrCat("there is no device kernel for ", std::string(Name(dtype)), "; f32, f16, bf16 and f64 have one"));
  }
  UnaryParams p{functor, PlanSame<1>(spec, {0}, 0), {}, {}, {}};
  KernelTraits traits;
  traits.implementation = "cuda:unary";
  traits.in_place_input = 0;
  return MakeDeviceKernel(std::move(traits), [p, scalars](const KernelArgs& args, void* stream) {
    UnaryParams q = p;
    q.map.in[0].data = args.inputs[0];
    q.map.out.data = args.outputs[0];
    q.a = scalars.a.At(args);
    q.b = scalars.b.At(args);
    q.c = scalars.c.At(args);
    return LaunchUnary(stream, q);
  });
}

Scalars Fixed(const Params<double>& p) { return {DeviceScalar(p.a), DeviceScalar(p.b), DeviceScalar(p.c)}; }

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const UnaryRow* row = FindUnary(*spec.op);
  return MakeMap(spec, FunctorOf(*row, *spec.op), Fixed(ParamsOf(*row, *spec.op)));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const KernelSpec& spec) {
  const SpecView view(spec);
  return MakeMap(spec, UnaryOp::kClip,
                 {DeviceScalar(view, "Min", spec.op->GetFloat("min")), DeviceScalar(view, "Max", spec.op->GetFloat("max")), {}});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const KernelSpec& spec) {
  const SpecView view(spec);
  const DeviceScalar factor(view, "FactorTensor", spec.op->GetFloat("factor", 1));
  const bool known = factor.is_fixed() && IsFloat(spec.outputs[0].dtype);
  const UnaryOp functor = known ? PowerFunctor(factor.fixed()) : UnaryOp::kPowScalar;
  if (functor == UnaryOp::kScaleThenBias) return MakeMap(spec, functor, Fixed({1, -0.0, 0}));
  return MakeMap(spec, functor, {factor, {}, {}});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIncrement(const KernelSpec& spec) {
  return MakeMap(spec, UnaryOp::kScaleThenBias, Fixed({1, spec.op->GetFloat("step", 1), 0}));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScale(const KernelSpec& spec) {
  const SpecView view(spec);
  const DeviceScalar scale(view, "ScaleTensor", spec.op->GetFloat("scale", 1));
  const bool after = spec.op->GetBool("bias_after_scale", true);
  return MakeMap(spec, after ? UnaryOp::kScaleThenBias : UnaryOp::kBiasThenScale, {scale, DeviceScalar(spec.op->GetFloat("bias", 0)), {}});
}

std::vector<DType> TypesOf(UnaryOp functor) {
  std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  if (HasIntegers(functor)) types.insert(types.end(), {DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64});
  return types;
}

}  // namespace

absl::Status RegisterUnary(KernelRegistry* registry) {
  const LayoutSupport any = LayoutSupport::kElementwise;
  for (const UnaryRow& row : UnaryRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, TypesOf(row.functor), any}));
  const std::vector<DType> all = TypesOf(UnaryOp::kClip);
  AMPC_RETURN_IF_ERROR(registry->Add({"clip", &MakeClip, all, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"increment", &MakeIncrement, all, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pow", &MakePow, all, any}));
  return registry->Add({"scale", &MakeScale, all, any});
}

}  // namespace ampc::cuda
