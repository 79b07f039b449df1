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

namespace ampc {
namespace {

using Op2 = simd::RowGradient;

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

struct Slots {
  const char *x, *y;
};

struct Gradients {
  Op2 of_x, of_y;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const SpecView& view, Slots slots, const BroadcastPlan& plan, Gradients gradients) {
  const int x = view.In(slots.x), y = view.In(slots.y), g = view.In("Out@GRAD");
  const DType storage = StorageType(view.spec().inputs[g].dtype);
  std::vector<Part> parts;
  const int dx = view.Out(absl::StrCat(slots.x, "@GRAD")), dy = view.Out(absl::StrCat(slots.y, "@GRAD"));
  if (dx >= 0) parts.push_back({RowGradient(plan, GradientSide::kX, gradients.of_x, {}, storage), x, y, g, dx});
  if (dy >= 0) parts.push_back({RowGradient(plan, GradientSide::kY, gradients.of_y, {}, storage), x, y, g, dy});
  return MakeParts(view.spec(), std::move(parts), g);
}

template <Op2 of_x, Op2 of_y>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view));
  const Slots slots = view.op().type() == "atan2_grad" ? Slots{"X1", "X2"} : Slots{"X", "Y"};
  const std::optional<BroadcastPlan> plan =
      PlanBroadcast(view.InDesc(slots.x).dims, view.InDesc(slots.y).dims, view.op().GetInt("axis", -1), view.InDesc("Out@GRAD").dims);
  if (!plan) return view.Internal("the operands do not broadcast to the result");
  return MakeBinary(view, slots, *plan, {of_x, of_y});
}

// X as outer x slopes x inner elements; see the forward kernel.
absl::StatusOr<std::unique_ptr<Kernel>> MakePrelu(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view));
  const Dims& x = view.InDesc("X").dims;
  const std::string mode = view.op().GetString("mode");
  const int64_t rank = static_cast<int64_t>(x.size());
  const int64_t channel = mode == "channel" ? (view.op().GetString("data_format") == "NHWC" ? rank - 1 : 1) : rank;
  int64_t outer = 1, slopes = 1, inner = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const bool own = d == channel || (mode == "element" && d > 0);
    (own ? slopes : d < channel ? outer : inner) *= x[d];
  }
  if (slopes != view.InDesc("Alpha").NumElements()) return view.Internal("Alpha has another size than its mode needs");
  const int64_t shape[] = {outer, slopes, inner}, alpha[] = {slopes, 1};
  return MakeBinary(view, {"X", "Alpha"}, *PlanBroadcast(shape, alpha, -1, shape), {Op2::kPreluGradX, Op2::kPreluGradY});
}

}  // namespace

absl::Status RegisterBinaryGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  const LayoutSupport any = LayoutSupport::kElementwise;
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_add_grad", &Make<Op2::kFirstGrad, Op2::kFirstGrad>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_sub_grad", &Make<Op2::kFirstGrad, Op2::kSubGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_mul_grad", &Make<Op2::kMulGradX, Op2::kMulGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_div_grad", &Make<Op2::kDivGradX, Op2::kDivGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_max_grad", &Make<Op2::kMaxGradX, Op2::kMaxGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_min_grad", &Make<Op2::kMinGradX, Op2::kMinGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_fmax_grad", &Make<Op2::kFMaxGradX, Op2::kFMaxGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_fmin_grad", &Make<Op2::kFMinGradX, Op2::kFMinGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_pow_grad", &Make<Op2::kPowGradX, Op2::kPowGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"elementwise_mod_grad", &Make<Op2::kFirstGrad, Op2::kModGradY>, types, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"atan2_grad", &Make<Op2::kAtan2GradX, Op2::kAtan2GradY>, types, any}));
  return registry->Add({"prelu_grad", &MakePrelu, types});
}

}  // namespace ampc
