// Gradients of maps of two broadcast operands: elementwise_*, atan2 and prelu.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/gradient/row_gradient.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

// One wanted result. Operands are flat positions; x and y may be g's where the derivative does not read them.
struct Part {
  RowGradient gradient;
  int x, y, g, out;
};

// Runs the parts in order: the one that may lie in the memory of Out@GRAD comes last.
std::unique_ptr<Kernel> MakeParts(const KernelSpec& spec, std::vector<Part> parts, int g_at) {
  KernelTraits traits;
  for (const Part& part : parts) traits.workspace_bytes = std::max(traits.workspace_bytes, part.gradient.workspace_bytes());
  if (!spec.outputs.empty()) {
    if (StorageType(spec.outputs[0].dtype) == DType::kF32) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
    if (spec.outputs[0].NumElements() == spec.inputs[g_at].NumElements()) traits.in_place_input = g_at;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.out > b.out; });
  return MakeLambdaKernel(std::move(traits), [parts = std::move(parts)](const KernelArgs& args) {
    for (const Part& p : parts) {
      if (args.outputs[p.out] == nullptr) continue;
      p.gradient.Run(args.threads, {args.inputs[p.x], args.inputs[p.y], args.inputs[p.g]}, args.outputs[p.out], args.workspace);
    }
    return absl::OkStatus();
  });
}

absl::Status CheckTypes(const SpecView& view) {
  for (const TensorDesc& out : view.spec().outputs) {
    AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64}));
    for (const TensorDesc& in : view.spec().inputs) {
      if (StorageType(in.dtype) != StorageType(out.dtype)) return view.Internal("an operand has another type than the gradient");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const SpecView& view, const BinaryGradientRow& row, const BroadcastPlan& plan) {
  const int x = view.In(row.x), y = view.In(row.y), g = view.In("Out@GRAD");
  const DType storage = StorageType(view.spec().inputs[g].dtype);
  std::vector<Part> parts;
  const int dx = view.Out(absl::StrCat(row.x, "@GRAD")), dy = view.Out(absl::StrCat(row.y, "@GRAD"));
  if (dx >= 0) parts.push_back({RowGradient(plan, GradientSide::kX, row.of_x, {}, storage), x, y, g, dx});
  if (dy >= 0) parts.push_back({RowGradient(plan, GradientSide::kY, row.of_y, {}, storage), x, y, g, dy});
  return MakeParts(view.spec(), std::move(parts), g);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view));
  const BinaryGradientRow& row = *FindBinaryGradient(view.op());
  const std::optional<BroadcastPlan> plan =
      PlanBroadcast(view.InDesc(row.x).dims, view.InDesc(row.y).dims, view.op().GetInt("axis", -1), view.InDesc("Out@GRAD").dims);
  if (!plan) return view.Internal("the operands do not broadcast to the result");
  return MakeBinary(view, row, *plan);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePrelu(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view));
  const PreluShape s = PreluShapeOf(view.op(), view.InDesc("X").dims);
  if (s.slopes != view.InDesc("Alpha").NumElements()) return view.Internal("Alpha has another size than its mode needs");
  const int64_t shape[] = {s.outer, s.slopes, s.inner}, alpha[] = {s.slopes, 1};
  return MakeBinary(view, kPreluGradient, *PlanBroadcast(shape, alpha, -1, shape));
}

}  // namespace

absl::Status RegisterBinaryGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  const LayoutSupport any = LayoutSupport::kElementwise;
  for (const BinaryGradientRow& row : BinaryGradientRows()) AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, types, any}));
  return registry->Add({"prelu_grad", &MakePrelu, types});
}

}  // namespace ampc
