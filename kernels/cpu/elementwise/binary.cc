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
#include "kernels/cpu/elementwise/vector_op.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/halves.h"
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
    case Op2::kAdd: return RowFor<T, Op2::kAdd>(plan);
    case Op2::kSub: return RowFor<T, Op2::kSub>(plan);
    case Op2::kMul: return RowFor<T, Op2::kMul>(plan);
    case Op2::kDiv: return RowFor<T, Op2::kDiv>(plan);
    case Op2::kMax: return RowFor<T, Op2::kMax>(plan);
    case Op2::kMin: return RowFor<T, Op2::kMin>(plan);
    case Op2::kPow: return RowFor<T, Op2::kPow>(plan);
    case Op2::kFMax: return RowFor<T, Op2::kFMax>(plan);
    case Op2::kFMin: return RowFor<T, Op2::kFMin>(plan);
    case Op2::kMod: return RowFor<T, Op2::kMod>(plan);
    case Op2::kFloorDiv: return RowFor<T, Op2::kFloorDiv>(plan);
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

// One row of floats in any storage.
struct FloatRow {
  simd::BinaryFn fn;
  DType x, y, out;       // storages
  int x_inner, y_inner;  // as BroadcastPlan's
  static int64_t SizeOfElement(DType storage) { return static_cast<int64_t>(SizeOf(storage)); }

  bool operator()(const char* from_x, const char* from_y, char* to, int64_t n) const {
    if (x == DType::kF32 && y == DType::kF32 && out == DType::kF32) {
      fn(reinterpret_cast<const float*>(from_x), reinterpret_cast<const float*>(from_y), reinterpret_cast<float*>(to),
         static_cast<size_t>(n));
      return true;
    }
    float xs[kHalfTile], ys[kHalfTile], results[kHalfTile];
    for (int64_t i = 0; i < n; i += kHalfTile) {
      const int64_t count = std::min(kHalfTile, n - i);
      const float* const a = FloatsAt(from_x, x, i * x_inner, x_inner == 0 ? 1 : count, xs);
      const float* const b = FloatsAt(from_y, y, i * y_inner, y_inner == 0 ? 1 : count, ys);
      fn(a, b, RoomAt(to, out, i, results), static_cast<size_t>(count));
      StoreFloats(results, out, i, count, to);
    }
    return true;
  }
};

// Rows much shorter than a tile, among them halves: several are widened, and several results rounded, at once.
class ShortRows {
 public:
  ShortRows(BroadcastPlan plan, FloatRow row)
      : plan_(std::move(plan)),
        row_(row),
        x_dense_(IsDense(plan_.x_inner, plan_.x_stride)),
        y_dense_(IsDense(plan_.y_inner, plan_.y_stride)) {}

  void Run(const KernelArgs& args) const {
    const int64_t grain = std::max<int64_t>(1, (1 << 15) / plan_.inner);
    ParallelFor(args.threads, plan_.rows, grain, [&](int64_t first, int64_t last) { RunSome(args, first, last); });
  }

 private:
  // Row after row, so that an operand lies as the result does.
  bool IsDense(int inner, const std::vector<int64_t>& strides) const {
    int64_t size = plan_.inner;
    for (size_t d = strides.size(); d-- > 0; size *= plan_.outer[d]) {
      if (strides[d] != size) return false;
    }
    return inner == 1;
  }

  // An operand's floats: of the tile that begins, or of one row; of the same row as before there is nothing to do.
  struct Operand {
    const void* data;
    DType storage;
    bool dense;
    int64_t row_elements;
    float* room;  // kHalfTile elements
    const float* floats = nullptr;
    int64_t at = -1;

    void BeginTile(int64_t offset, int64_t elements) {
      if (dense) floats = FloatsAt(data, storage, offset, elements, room);
    }
    const float* Row(int64_t offset, int64_t in_tile) {
      if (dense) return floats + in_tile;
      if (at != offset) floats = FloatsAt(data, storage, at = offset, row_elements, room);
      return floats;
    }
  };

  void RunSome(const KernelArgs& args, int64_t first, int64_t last) const {
    const int64_t inner = plan_.inner, rows_of_tile = kHalfTile / inner;
    float xs[kHalfTile], ys[kHalfTile], results[kHalfTile];
    Operand x{args.inputs[0], row_.x, x_dense_, plan_.x_inner == 0 ? 1 : inner, xs};
    Operand y{args.inputs[1], row_.y, y_dense_, plan_.y_inner == 0 ? 1 : inner, ys};
    float* to = nullptr;
    int64_t done = 0, rows = 0, begin = 0;
    ForEachRow(plan_, first, last, [&](int64_t o, int64_t xo, int64_t yo) {
      if (done == rows) {
        done = 0;
        begin = o;
        rows = std::min(rows_of_tile, last - o / inner);
        x.BeginTile(o, rows * inner);
        y.BeginTile(o, rows * inner);
        to = RoomAt(args.outputs[0], row_.out, o, results);
      }
      row_.fn(x.Row(xo, done * inner), y.Row(yo, done * inner), to + done * inner, static_cast<size_t>(inner));
      if (++done == rows) StoreFloats(to, row_.out, begin, rows * inner, args.outputs[0]);
    });
  }

  BroadcastPlan plan_;
  FloatRow row_;
  bool x_dense_, y_dense_;
};

std::unique_ptr<Kernel> MakeFloat(const KernelSpec& spec, BinaryOp op, BroadcastPlan plan, KernelTraits traits) {
  const Spread spread = plan.x_inner == 0 ? Spread::kX : plan.y_inner == 0 ? Spread::kY : Spread::kNone;
  const FloatRow row{
      simd::Binary(op, spread), spec.inputs[0].storage(), spec.inputs[1].storage(), spec.outputs[0].storage(), plan.x_inner, plan.y_inner};
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  const bool short_rows = HasHalves(spec) && plan.rows > 1 && plan.inner <= kHalfTile / 2;
  if (short_rows) {
    return MakeLambdaKernel(std::move(traits), [rows = ShortRows(std::move(plan), row)](const KernelArgs& args) {
      rows.Run(args);
      return absl::OkStatus();
    });
  }
  return MakeLambdaKernel(std::move(traits), [plan = std::move(plan), row](const KernelArgs& args) {
    RunRows(plan, {row.SizeOfElement(row.x), row.SizeOfElement(row.y), row.SizeOfElement(row.out)}, args, row);
    return absl::OkStatus();
  });
}

RowFn PlainRow(DType storage, Op2 op, const BroadcastPlan& plan) {
  return Select<Numbers>(storage, [&](auto tag) { return RowFor<typename decltype(tag)::type>(op, plan); });
}

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
  if (const std::optional<BinaryOp> vector = VectorOp(op); storage == DType::kF32 && vector.has_value())
    return MakeFloat(spec, *vector, *std::move(plan), std::move(traits));
  if (HasHalves(spec)) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
    return MakeWidened(std::move(kernel), spec);
  }
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
    AMPC_RETURN_IF_ERROR(registry->Add({row.op, &Make, row.functor == Op2::kAtan2 ? DeclaredTypes<Reals>() : DeclaredTypes<Numbers>(),
                                        LayoutSupport::kElementwise, nullptr, HalfSupport::kEach}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
