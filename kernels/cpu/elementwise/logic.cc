// Comparisons, truth values and bits: {equal,not_equal,less_than,less_equal,greater_than,greater_equal}, logical_*, bitwise_*.
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/common/logic_functors.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/run_rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/elementwise_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;

using BinaryFn = void (*)(const void* x, const void* y, void* out, int64_t n);
using UnaryFn = void (*)(const void* x, void* out, int64_t n);

template <class F, typename T, int sx, int sy>
void Binary(const void* x, const void* y, void* out, int64_t n) {
  using R = decltype(F::Apply(T(), T()));
  const T* a = static_cast<const T*>(x);
  const T* b = static_cast<const T*>(y);
  R* o = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = F::Apply(a[i * sx], b[i * sy]);
}

template <class F, typename T>
void Unary(const void* x, void* out, int64_t n) {
  using R = decltype(F::Apply(T()));
  const T* a = static_cast<const T*>(x);
  R* o = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = F::Apply(a[i]);
}

template <bool kFloats>
using Operands = std::conditional_t<kFloats, NumbersAndBool, IntegersAndBool>;

template <class F, bool kFloats>
absl::StatusOr<std::unique_ptr<Kernel>> MakeTwo(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  if (StorageType(spec.inputs[1].dtype) != storage) {
    return view.Unsupported(absl::StrCat("operands of the types ", std::string(Name(spec.inputs[0].dtype)), " and ",
                                         std::string(Name(spec.inputs[1].dtype)), " have no common cpu kernel; cast one first"));
  }
  std::optional<BroadcastPlan> plan =
      PlanBroadcast(spec.inputs[0].dims, spec.inputs[1].dims, view.op().GetInt("axis", -1), spec.outputs[0].dims);
  if (!plan) return view.Internal("the operands do not broadcast to the result");
  const BinaryFn row = Select<Operands<kFloats>>(storage, [&](auto tag) -> BinaryFn {
    using T = typename decltype(tag)::type;
    if (plan->x_inner == 0) return &Binary<F, T, 0, 1>;
    return plan->y_inner == 0 ? &Binary<F, T, 1, 0> : &Binary<F, T, 1, 1>;
  });
  if (row == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(spec.inputs[0].dtype))));
  const int64_t size = static_cast<int64_t>(SizeOf(storage));
  const RowSizes sizes = {size, size, static_cast<int64_t>(SizeOf(StorageType(spec.outputs[0].dtype)))};
  return MakeLambdaKernel({}, [plan = *std::move(plan), row, sizes](const KernelArgs& args) {
    RunRows(plan, sizes, args, [row](const char* x, const char* y, char* out, int64_t n) {
      row(x, y, out, n);
      return true;
    });
    return absl::OkStatus();
  });
}

template <class F, bool kFloats>
absl::StatusOr<std::unique_ptr<Kernel>> MakeOne(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  const UnaryFn row = Select<Operands<kFloats>>(storage, [](auto tag) -> UnaryFn { return &Unary<F, typename decltype(tag)::type>; });
  if (row == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(spec.inputs[0].dtype))));
  const int64_t n = spec.outputs[0].NumElements(), from = static_cast<int64_t>(SizeOf(storage));
  const int64_t to = static_cast<int64_t>(SizeOf(StorageType(spec.outputs[0].dtype)));
  return MakeLambdaKernel({}, [=](const KernelArgs& args) {
    ParallelFor(args.threads, n, kGrain, [&](int64_t first, int64_t last) {
      row(static_cast<const char*>(args.inputs[0]) + first * from, static_cast<char*>(args.outputs[0]) + first * to, last - first);
    });
    return absl::OkStatus();
  });
}

// By LogicOp.
constexpr MakeKernelFn kMake[] = {
#define AMPC_ENTRY(name) &MakeTwo<logic::name, true>,
    AMPC_COMPARISONS(AMPC_ENTRY)
#undef AMPC_ENTRY
#define AMPC_ENTRY(name) &MakeTwo<logic::name, false>,
            AMPC_BIT_FUNCTORS(AMPC_ENTRY)
#undef AMPC_ENTRY
#define AMPC_ENTRY(name) &MakeOne<logic::name, true>,
                AMPC_TRUTH_FUNCTORS(AMPC_ENTRY)
#undef AMPC_ENTRY
        & MakeOne<logic::BitNot, false>,
};

bool ReadsFloats(LogicOp op) { return op != LogicOp::kBitAnd && op != LogicOp::kBitOr && op != LogicOp::kBitXor && op != LogicOp::kBitNot; }

}  // namespace

absl::Status RegisterLogic(KernelRegistry* registry) {
  for (const LogicRow& row : LogicRows()) {
    AMPC_RETURN_IF_ERROR(registry->Add({row.op, kMake[static_cast<int>(row.functor)],
                                        ReadsFloats(row.functor) ? DeclaredTypes<NumbersAndBool>() : DeclaredTypes<IntegersAndBool>()}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
