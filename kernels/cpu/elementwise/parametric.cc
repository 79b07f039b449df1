// clip, increment, pow and scale: maps whose parameters may come in tensors.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/number_input.h"
#include "kernels/cpu/elementwise/unary_loop.h"
#include "kernels/halves.h"
#include "kernels/spec/elementwise_spec.h"

#include "kernels/cpu/base/types.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using simd::UnaryOp;

absl::Status Check(const SpecView& view) {
  AMPC_RETURN_IF_ERROR(view.CheckType<Numbers>(view.spec().inputs[0].dtype));
  if (StorageType(view.spec().inputs[0].dtype) == StorageType(view.spec().outputs[0].dtype)) return absl::OkStatus();
  return view.Internal("the result has another type than X");
}

// The parameters are numbers that a run may give.
std::unique_ptr<Kernel> MakeLoop(const KernelSpec& spec, UnaryOp functor, const NumberInput& a, const NumberInput& b) {
  const UnaryLoop loop =
      UnaryLoop(functor, spec.outputs[0].dtype, spec.outputs[0].NumElements()).Stored(spec.inputs[0].storage(), spec.outputs[0].storage());
  return MakeLambdaKernel(loop.traits(), [loop, a, b](const KernelArgs& args) {
    loop.Run({a.Real(args), b.Real(args), 0}, {a.Integer(args), b.Integer(args), 0}, args);
    return absl::OkStatus();
  });
}

NumberInput Fixed(const SpecView& view, double value) { return NumberInput(view, "", value); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeClip(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const NumberInput low(view, "Min", view.op().GetFloat("min"));
  const NumberInput high(view, "Max", view.op().GetFloat("max"));
  return MakeLoop(spec, UnaryOp::kClip, low, high);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePow(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const NumberInput factor(view, "FactorTensor", view.op().GetFloat("factor", 1));
  const bool known = factor.is_fixed() && IsFloat(spec.outputs[0].dtype);
  const UnaryOp functor = known ? PowerFunctor(factor.Real({})) : UnaryOp::kPowScalar;
  const bool identity = functor == UnaryOp::kScaleThenBias;
  return MakeLoop(spec, functor, identity ? Fixed(view, 1) : factor, Fixed(view, identity ? -0.0 : 0));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIncrement(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  return MakeLoop(spec, UnaryOp::kScaleThenBias, Fixed(view, 1), Fixed(view, view.op().GetFloat("step", 1)));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScale(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(Check(view));
  const NumberInput scale(view, "ScaleTensor", view.op().GetFloat("scale", 1));
  const bool after = view.op().GetBool("bias_after_scale", true);
  return MakeLoop(spec, after ? UnaryOp::kScaleThenBias : UnaryOp::kBiasThenScale, scale, Fixed(view, view.op().GetFloat("bias", 0)));
}

// Numbers that a run gives are read as floats.
template <auto make>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const auto half = [](const TensorDesc& t) { return t.half; };
  if (std::none_of(spec.inputs.begin() + 1, spec.inputs.end(), half)) return make(spec);
  AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, make(InFloats(spec)));
  return MakeWidened(std::move(kernel), spec);
}

}  // namespace

absl::Status RegisterParametric(KernelRegistry* registry) {
  const std::vector<DType> types = DeclaredTypes<Numbers>();
  AMPC_RETURN_IF_ERROR(registry->Add({"clip", &Make<&MakeClip>, types, LayoutSupport::kElementwise, nullptr, HalfSupport::kEach}));
  AMPC_RETURN_IF_ERROR(
      registry->Add({"increment", &Make<&MakeIncrement>, types, LayoutSupport::kElementwise, nullptr, HalfSupport::kEach}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pow", &Make<&MakePow>, types, LayoutSupport::kElementwise, nullptr, HalfSupport::kEach}));
  return registry->Add({"scale", &Make<&MakeScale>, types, LayoutSupport::kElementwise, nullptr, HalfSupport::kEach});
}

}  // namespace ampc
