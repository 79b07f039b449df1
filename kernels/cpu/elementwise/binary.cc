// elementwise_{add,sub,mul,div,max,min,pow,fmax,fmin,mod,floordiv} and atan2.
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/common/binary_math.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/run_rows.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

using simd::BinaryOp;
using simd::Spread;

// One row. Returns false when an integer was divided by zero.
using RowFn = bool (*)(const void* x, const void* y, void* out, int64_t n);

template <typename T, Op2 op, int sx, int sy>
bool Row(const void* x, const void* y, void* out, int64_t n) {
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  T* o = static_cast<T*>(out);
  bool ok = true;
  for (int64_t i = 0; i < n; ++i) ok &= ComputeBinary(op, a[i * sx], b[i * sy], o + i);
  return ok;
}

template <typename T, Op2 op>
RowFn RowFor(const BroadcastPlan& plan) {
  if (plan.x_inner == 0) return &Row<T, op, 0, 1>;
  return plan.y_inner == 0 ? &Row<T, op, 1, 0> : &Row<T, op, 1, 1>;
}

template <typename T>
RowFn RowFor(Op2 op, const BroadcastPlan& plan) {
  switch (op) {
    case Op2::kAdd:
      return RowFor<T, Op2::kAdd>(plan);
    case Op2::kSub:
      return RowFor<T, Op2::kSub>(plan);
    case Op2::kMul:
      return RowFor<T, Op2::kMul>(plan);
    case Op2::kDiv:
      return RowFor<T, Op2::kDiv>(plan);
    case Op2::kMax:
      return RowFor<T, Op2::kMax>(plan);
    case Op2::kMin:
      return RowFor<T, Op2::kMin>(plan);
    case Op2::kPow:
      return RowFor<T, Op2::kPow>(plan);
    case Op2::kFMax:
      return RowFor<T, Op2::kFMax>(plan);
    case Op2::kFMin:
      return RowFor<T, Op2::kFMin>(plan);
    case Op2::kMod:
      return RowFor<T, Op2::kMod>(plan);
    case Op2::kFloorDiv:
      return RowFor<T, Op2::kFloorDiv>(plan);
    case Op2::kAtan2:
      if constexpr (std::is_floating_point_v<T>) return RowFor<T, Op2::kAtan2>(plan);
      break;
  }
  return nullptr;
}

// An operand that has every element of the result may lend it its memory.
int InPlace(const KernelSpec& spec) {
  for (int i = 0; i < 2; ++i) {
    if (spec.inputs[i].NumElements() == spec.outputs[0].NumElements()) return i;
  }
  return -1;
}

std::unique_ptr<Kernel> MakeFloat(BinaryOp op, BroadcastPlan plan, KernelTraits traits) {
  const Spread spread = plan.x_inner == 0 ? Spread::kX : plan.y_inner == 0 ? Spread::kY : Spread::kNone;
  const simd::BinaryFn fn = simd::Binary(op, spread);
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  return MakeLambdaKernel(std::move(traits), [plan = std::move(plan), fn](const KernelArgs& args) {
    constexpr RowSizes kSizes = {sizeof(float), sizeof(float), sizeof(float)};
    RunRows(plan, kSizes, args, [fn](const char* x, const char* y, char* out, int64_t n) {
      fn(reinterpret_cast<const float*>(x), reinterpret_cast<const float*>(y), reinterpret_cast<float*>(out), static_cast<size_t>(n));
      return true;
    });
    return absl::OkStatus();
  });
}

RowFn PlainRow(DType storage, Op2 op, const BroadcastPlan& plan) {
  return Select<Numbers>(storage, [&](auto tag) { return RowFor<typename decltype(tag)::type>(op, plan); });
}

constexpr BinaryOp kVector[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,  BinaryOp::kDiv, BinaryOp::kMax,
                                BinaryOp::kMin, BinaryOp::kPow, BinaryOp::kFMax, BinaryOp::kFMin};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op2 op = FindBinary(view.op())->functor;
  const DType storage = StorageType(spec.outputs[0].dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType<Numbers>(spec.outputs[0].dtype));
  if (StorageType(spec.inputs[0].dtype) != storage || StorageType(spec.inputs[1].dtype) != storage) {
    return view.Unsupported(absl::StrCat("operands of the types ", std::string(Name(spec.inputs[0].dtype)), " and ",
                                         std::string(Name(spec.inputs[1].dtype)), " have no common cpu kernel; cast one first"));
  }
  std::optional<BroadcastPlan> plan =
      PlanBroadcast(spec.inputs[0].dims, spec.inputs[1].dims, view.op().GetInt("axis", -1), spec.outputs[0].dims);
  if (!plan) return view.Internal("the operands do not broadcast to the result");
  KernelTraits traits;
  traits.in_place_input = InPlace(spec);
  if (storage == DType::kF32 && op < Op2::kMod) return MakeFloat(kVector[static_cast<int>(op)], *std::move(plan), std::move(traits));
  const RowFn fn = PlainRow(storage, op, *plan);
  if (fn == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(spec.outputs[0].dtype))));
  const std::string name = Describe(view.op());
  return MakeLambdaKernel(
      std::move(traits),
      [plan = *std::move(plan), fn, name, size = static_cast<int64_t>(SizeOf(storage))](const KernelArgs& args) -> absl::Status {
        if (RunRows(plan, {size, size, size}, args, fn)) return absl::OkStatus();
        return UsageError(absl::StrCat(name, ": an integer was divided by zero; the divisor needs nonzero elements"));
      });
}

}  // namespace

absl::Status RegisterElementwiseBinary(KernelRegistry* registry) {
  for (const BinaryRow& row : BinaryRows()) {
    AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, row.functor == Op2::kAtan2 ? DeclaredTypes<Reals>() : DeclaredTypes<Numbers>(), LayoutSupport::kElementwise}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
