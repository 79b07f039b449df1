// clip, increment, pow and scale: maps whose parameters may come in tensors.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/unary_loop.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

using functors::Params;
using simd::UnaryOp;

constexpr std::initializer_list<DType> kStorage = {DType::kF32, DType::kF64, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64};

absl::Status Check(const SpecView& view) {
  AMPC_RETURN_IF_ERROR(view.CheckType(view.spec().inputs[0].dtype, kStorage));
  if (StorageType(view.spec().inputs[0].dtype) == StorageType(view.spec().outputs[0].dtype)) return absl::OkStatus();
  return view.Internal("the result has another type than X");
}

// `read` gives the parameters from the arguments of a run.
template <typename Read>
std::unique_ptr<Kernel> MakeLoop(const KernelSpec& spec, UnaryOp functor, Read read) {
  const UnaryLoop loop(functor, spec.outputs[0].dtype, spec.outputs[0].NumElements());
  return MakeLambdaKernel(loop.traits(), [loop, read](const KernelArgs& args) {
    loop.Run(read(args), args);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const ScalarInput low(view, "Min", view.op().GetFloat("min"));
  const ScalarInput high(view, "Max", view.op().GetFloat("max"));
  return MakeLoop(spec, UnaryOp::kClip, [low, high](const KernelArgs& args) { return Params<double>{low.Get(args), high.Get(args), 0}; });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const ScalarInput factor(view, "FactorTensor", view.op().GetFloat("factor", 1));
  const bool known = factor.is_fixed() && IsFloat(spec.outputs[0].dtype);
  const UnaryOp functor = known ? PowerFunctor(factor.Get({})) : UnaryOp::kPowScalar;
  const bool identity = functor == UnaryOp::kScaleThenBias;
  return MakeLoop(spec, functor, [factor, identity](const KernelArgs& args) {
    return Params<double>{identity ? 1 : factor.Get(args), identity ? -0.0 : 0, 0};
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIncrement(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const Params<double> params{1, view.op().GetFloat("step", 1), 0};
  return MakeLoop(spec, UnaryOp::kScaleThenBias, [params](const KernelArgs&) { return params; });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScale(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const ScalarInput scale(view, "ScaleTensor", view.op().GetFloat("scale", 1));
  const double bias = view.op().GetFloat("bias", 0);
  const bool after = view.op().GetBool("bias_after_scale", true);
  return MakeLoop(spec, after ? UnaryOp::kScaleThenBias : UnaryOp::kBiasThenScale, [scale, bias](const KernelArgs& args) {
    return Params<double>{scale.Get(args), bias, 0};
  });
}

}  // namespace

absl::Status RegisterParametric(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU8,
                                    DType::kI8,  DType::kI16, DType::kI32,  DType::kI64};
  AMPC_RETURN_IF_ERROR(registry->Add({"clip", &MakeClip, types, LayoutSupport::kElementwise}));
  AMPC_RETURN_IF_ERROR(registry->Add({"increment", &MakeIncrement, types, LayoutSupport::kElementwise}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pow", &MakePow, types, LayoutSupport::kElementwise}));
  return registry->Add({"scale", &MakeScale, types, LayoutSupport::kElementwise});
}

}  // namespace ampc
