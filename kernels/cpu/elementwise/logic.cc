// Comparisons, truth values and bits: {equal,not_equal,less_than,less_equal,greater_than,greater_equal}, logical_*, bitwise_*.
#include <cmath>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/cpu/elementwise/run_rows.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;

// Paddle takes floats closer than 1e-8 as equal.
struct Equal {
  template <typename T>
  static bool Apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) return x == y || std::abs(x - y) < T(1e-8);
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return !Equal::Apply(x, y);
  }
};
struct Less {
  template <typename T>
  static bool Apply(T x, T y) {
    return x < y;
  }
};
struct LessEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return x <= y;
  }
};
struct Greater {
  template <typename T>
  static bool Apply(T x, T y) {
    return x > y;
  }
};
struct GreaterEqual {
  template <typename T>
  static bool Apply(T x, T y) {
    return x >= y;
  }
};
struct And {
  template <typename T>
  static bool Apply(T x, T y) {
    return (x != 0) & (y != 0);
  }
};
struct Or {
  template <typename T>
  static bool Apply(T x, T y) {
    return (x != 0) | (y != 0);
  }
};
struct Xor {
  template <typename T>
  static bool Apply(T x, T y) {
    return (x != 0) != (y != 0);
  }
};
struct Not {
  template <typename T>
  static bool Apply(T x) {
    return x == 0;
  }
};
struct BitAnd {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct BitOr {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct BitXor {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};
struct BitNot {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};
struct IsFinite {
  template <typename T>
  static bool Apply(T x) {
    return std::is_integral_v<T> || std::isfinite(x);
  }
};
struct IsInf {
  template <typename T>
  static bool Apply(T x) {
    return std::is_floating_point_v<T> && std::isinf(x);
  }
};
struct IsNaN {
  template <typename T>
  static bool Apply(T x) {
    return x != x;
  }
};

using BinaryRow = void (*)(const void* x, const void* y, void* out, int64_t n);
using UnaryRow = void (*)(const void* x, void* out, int64_t n);

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

// Calls f(T()) with the C++ type of a storage type; floats only where `kFloats`. The fallback of f's result for other types.
template <bool kFloats, typename R, typename F>
R WithType(DType storage, F f) {
  switch (storage) {
    case DType::kBool:
      return f(bool());
    case DType::kU8:
      return f(uint8_t());
    case DType::kI8:
      return f(int8_t());
    case DType::kI16:
      return f(int16_t());
    case DType::kI32:
      return f(int32_t());
    case DType::kI64:
      return f(int64_t());
    default:
      break;
  }
  if constexpr (kFloats) {
    if (storage == DType::kF32) return f(float());
    if (storage == DType::kF64) return f(double());
  }
  return R{};
}

std::vector<DType> Types(bool floats) {
  std::vector<DType> types = {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64};
  if (floats) types.insert(types.begin(), {DType::kF32, DType::kF16, DType::kBF16, DType::kF64});
  return types;
}

template <class F, bool kFloats>
absl::StatusOr<std::unique_ptr<Kernel>> MakeBinary(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  if (StorageType(spec.inputs[1].dtype) != storage) {
    return view.Unsupported(absl::StrCat("operands of the types ", std::string(Name(spec.inputs[0].dtype)), " and ",
                                         std::string(Name(spec.inputs[1].dtype)), " have no common cpu kernel; cast one first"));
  }
  std::optional<BroadcastPlan> plan =
      PlanBroadcast(spec.inputs[0].dims, spec.inputs[1].dims, view.op().GetInt("axis", -1), spec.outputs[0].dims);
  if (!plan) return view.Internal("the operands do not broadcast to the result");
  const BinaryRow row = WithType<kFloats, BinaryRow>(storage, [&](auto t) -> BinaryRow {
    using T = decltype(t);
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
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType storage = StorageType(spec.inputs[0].dtype);
  const UnaryRow row = WithType<kFloats, UnaryRow>(storage, [](auto t) -> UnaryRow { return &Unary<F, decltype(t)>; });
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

}  // namespace

absl::Status RegisterLogic(KernelRegistry* registry) {
  const std::vector<DType> any = Types(true), bits = Types(false);
  AMPC_RETURN_IF_ERROR(registry->Add({"equal", &MakeBinary<Equal, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"not_equal", &MakeBinary<NotEqual, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"less_than", &MakeBinary<Less, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"less_equal", &MakeBinary<LessEqual, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"greater_than", &MakeBinary<Greater, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"greater_equal", &MakeBinary<GreaterEqual, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logical_and", &MakeBinary<And, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logical_or", &MakeBinary<Or, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logical_xor", &MakeBinary<Xor, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"logical_not", &MakeUnary<Not, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"bitwise_and", &MakeBinary<BitAnd, false>, bits}));
  AMPC_RETURN_IF_ERROR(registry->Add({"bitwise_or", &MakeBinary<BitOr, false>, bits}));
  AMPC_RETURN_IF_ERROR(registry->Add({"bitwise_xor", &MakeBinary<BitXor, false>, bits}));
  AMPC_RETURN_IF_ERROR(registry->Add({"bitwise_not", &MakeUnary<BitNot, false>, bits}));
  AMPC_RETURN_IF_ERROR(registry->Add({"isfinite_v2", &MakeUnary<IsFinite, true>, any}));
  AMPC_RETURN_IF_ERROR(registry->Add({"isinf_v2", &MakeUnary<IsInf, true>, any}));
  return registry->Add({"isnan_v2", &MakeUnary<IsNaN, true>, any});
}

}  // namespace ampc
