// Unary maps whose parameters are attributes.
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/unary_loop.h"
#include "kernels/spec/elementwise_spec.h"

#include "kernels/cpu/base/types.h"
#include "kernels/kernel_registry.h"

namespace ampc {
namespace {

using simd::UnaryOp;

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const UnaryRow* row = FindUnary(view.op());
  const UnaryOp functor = FunctorOf(*row, view.op());
  const DType dtype = spec.outputs[0].dtype;
  if (!UnaryLoop::Supports(functor, dtype) || StorageType(spec.inputs[0].dtype) != StorageType(dtype)) {
    return view.Unsupported(
        absl::StrCat("there is no cpu kernel for ", std::string(Name(spec.inputs[0].dtype)), "; f32, f16, bf16 and f64 have one"));
  }
  const UnaryLoop loop =
      UnaryLoop(functor, dtype, spec.outputs[0].NumElements()).Stored(spec.inputs[0].storage(), spec.outputs[0].storage());
  return MakeLambdaKernel(loop.traits(), [loop, params = ParamsOf(*row, view.op())](const KernelArgs& args) {
    loop.Run(params, args);
    return absl::OkStatus();
  });
}

std::vector<DType> TypesOf(UnaryOp functor) {
  std::vector<DType> types;
  for (DType t : DeclaredTypes<Numbers>()) {
    if (UnaryLoop::Supports(functor, t)) types.push_back(t);
  }
  return types;
}

}  // namespace

absl::Status RegisterUnary(KernelRegistry* registry) {
  for (const UnaryRow& row : UnaryRows())
    AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, TypesOf(row.functor), LayoutSupport::kElementwise, nullptr, HalfSupport::kEach}));
  return absl::OkStatus();
}

}  // namespace ampc
