// fused_elementwise: one sweep, in tiles that the first-level cache holds. A step is a vector loop over a tile; a value that is the same
// all over a tile is computed once.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/elementwise/fused_rows.h"
#include "kernels/cpu/elementwise/vector_op.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/halves.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/fused_spec.h"

namespace ampc {
namespace {

constexpr int64_t kTile = 512;
constexpr int64_t kGrain = 1 << 13;  // elements times steps that are worth a thread
constexpr int kLanes = 16;

struct RoundValue {
  static float To(DType dtype, float v) { return dtype == DType::kF16 ? static_cast<float>(Half(v)) : static_cast<float>(BFloat16(v)); }
};

// A value of the program while a tile is computed.
struct Register {
  bool one = false;  // one element for the whole tile
  int last_use = -1;
  int room = -1;    // the tile that is its own; operands have one each
  int result = -1;  // the first result that it is, which lends it its place
};

class FusedLoop {
 public:
  FusedLoop(const FusedSpec& spec, const KernelSpec& kernel) : program_(spec.program), rows_(JoinFused(spec)) {
    for (const TensorDesc& t : kernel.inputs) from_.push_back(t.storage());
    for (const TensorDesc& t : kernel.outputs) to_.push_back(t.storage());
    wide_ = rows_.inner >= kTile / 2;
    per_row_ = wide_ ? (rows_.inner + kTile - 1) / kTile : 1;
    rows_of_tile_ = wide_ ? 1 : kTile / rows_.inner;
    PlanRegisters();
    FindLoops();
  }

  void Run(const KernelArgs& args) const {
    const int64_t tiles = wide_ ? rows_.rows * per_row_ : (rows_.rows + rows_of_tile_ - 1) / rows_of_tile_;
    const int64_t grain = std::max<int64_t>(1, kGrain / (std::min(kTile, rows_.inner * rows_of_tile_) * std::max(1, program_.steps)));
    ParallelFor(args.threads, tiles, grain, [&](int64_t first, int64_t last) { RunTiles(args, first, last); });
  }

  // An operand whose memory the first result may take: it lies as that does, and no step reads it later.
  int in_place_input() const {
    for (int i = 0; i < program_.operands; ++i) {
      const bool fits = rows_.operands[i].dense && SizeOf(from_[i]) == SizeOf(to_[0]);
      if (fits && program_.result[0] >= program_.operands && registers_[i].last_use <= program_.result[0] - program_.operands) return i;
    }
    return -1;
  }

 private:
  struct Tile {
    int64_t row, column, count;
    int64_t first;  // element of the result
  };
  using Rooms = float (*)[kTile];

  // The vector loop of a step; none: lane by lane.
  struct Loop {
    simd::UnaryFn unary = nullptr;
    simd::BinaryFn binary = nullptr, spread = nullptr;  // on whole tiles, and on one element
  };

  bool IsOne(int operand) const {
    const FusedRows::Operand& x = rows_.operands[operand];
    return !x.along && (wide_ || x.repeats);
  }

  void PlanRegisters() {
    const int operands = program_.operands, all = operands + program_.steps;
    for (int i = 0; i < operands; ++i) registers_[i] = {.one = IsOne(i), .room = i};
    for (int k = 0; k < program_.steps; ++k) {
      const ElementStep& s = program_.step[k];
      registers_[s.x].last_use = k;
      if (ReadsTwo(s)) registers_[s.y].last_use = k;
      registers_[operands + k].one = registers_[s.x].one && (!ReadsTwo(s) || registers_[s.y].one);
    }
    for (int i = program_.results; i-- > 0;) {
      Register& r = registers_[program_.result[i]];
      if (r.result >= 0) r.last_use = kElementRegisters;  // a further result, perhaps of another storage
      r.result = program_.result[i] >= operands && !r.one ? i : -1;
    }
    std::vector<int> busy_until(all, -1);  // by room
    for (int i = 0; i < operands; ++i) busy_until[i] = kElementRegisters;
    for (int k = 0; k < program_.steps; ++k) {
      Register& r = registers_[operands + k];
      const auto is_result = std::find(program_.result, program_.result + program_.results, operands + k);
      const int until = is_result != program_.result + program_.results ? kElementRegisters : r.last_use;
      r.room = static_cast<int>(std::find_if(busy_until.begin(), busy_until.end(), [k](int u) { return u < k; }) - busy_until.begin());
      busy_until[r.room] = std::max(until, k);
    }
  }

  void FindLoops() {
    for (int k = 0; k < program_.steps; ++k) {
      const ElementStep& s = program_.step[k];
      if (s.kind == StepKind::kUnary) loops_[k].unary = simd::Unary(static_cast<simd::UnaryOp>(s.functor));
      if (s.kind != StepKind::kBinary) continue;
      const auto op = VectorOp(static_cast<Op2>(s.functor));
      if (!op.has_value()) continue;
      const simd::Spread spread = registers_[s.x].one ? simd::Spread::kX : registers_[s.y].one ? simd::Spread::kY : simd::Spread::kNone;
      loops_[k] = {.binary = simd::Binary(*op, simd::Spread::kNone), .spread = simd::Binary(*op, spread)};
    }
  }

  static bool ReadsTwo(const ElementStep& s) { return s.kind == StepKind::kBinary || s.kind == StepKind::kGradient; }

  void RunTiles(const KernelArgs& args, int64_t first, int64_t last) const {
    alignas(64) float rooms[kElementRegisters][kTile];
    FusedCursor cursor(rows_, wide_ ? first / per_row_ : first * rows_of_tile_);
    for (int64_t i = first; i < last; ++i) {
      Tile t;
      t.row = wide_ ? i / per_row_ : i * rows_of_tile_;
      t.column = wide_ ? i % per_row_ * kTile : 0;
      t.count = wide_ ? std::min(kTile, rows_.inner - t.column) : std::min(rows_of_tile_, rows_.rows - t.row) * rows_.inner;
      t.first = t.row * rows_.inner + t.column;
      const float* values[kElementRegisters];
      Load(args, t, cursor, i == first, rooms, values);
      Compute(args, t, rooms, values);
      if (wide_ && i % per_row_ == per_row_ - 1) cursor.Next();
    }
  }

  // The operands' elements; `begin`: nothing is in the rooms yet. Leaves the cursor behind the rows of a tile of several.
  void Load(const KernelArgs& args, const Tile& t, FusedCursor& cursor, bool begin, Rooms rooms, const float** values) const {
    bool gathers = false;
    for (int i = 0; i < program_.operands; ++i) {
      const FusedRows::Operand& x = rows_.operands[i];
      values[i] = rooms[i];
      if (registers_[i].one) {
        values[i] = FloatsAt(args.inputs[i], from_[i], cursor.offset(i), 1, rooms[i]);
      } else if (wide_) {
        values[i] = FloatsAt(args.inputs[i], from_[i], cursor.offset(i) + t.column, t.count, rooms[i]);
      } else if (x.dense) {
        values[i] = FloatsAt(args.inputs[i], from_[i], t.first, t.count, rooms[i]);
      } else if (!x.repeats || begin) {
        gathers = true;
      }
    }
    if (wide_) return;
    if (!gathers && !begin) return;
    const int64_t rows = begin ? std::min(rows_of_tile_, rows_.rows) : t.count / rows_.inner;
    for (int64_t r = 0; r < rows; ++r) {
      const bool inside = r * rows_.inner < t.count;
      for (int i = 0; i < program_.operands; ++i) {
        const FusedRows::Operand& x = rows_.operands[i];
        if (registers_[i].one || x.dense || (x.repeats ? !begin : !inside)) continue;
        CopyRow(args, i, cursor.offset(i), rooms[i] + r * rows_.inner);
      }
      if (inside) cursor.Next();
    }
  }

  void CopyRow(const KernelArgs& args, int i, int64_t offset, float* to) const {
    const int64_t n = rows_.operands[i].along ? rows_.inner : 1;
    const float* const from = FloatsAt(args.inputs[i], from_[i], offset, n, to);
    if (n < rows_.inner) {
      std::fill_n(to, rows_.inner, *from);
    } else if (from != to) {
      std::copy_n(from, n, to);
    }
  }

  void Compute(const KernelArgs& args, const Tile& t, Rooms rooms, const float** values) const {
    for (int k = 0; k < program_.steps; ++k) {
      const ElementStep& s = program_.step[k];
      const int reg = program_.operands + k;
      const Register& r = registers_[reg];
      float* const to = r.result < 0 ? rooms[r.room] : RoomAt(args.outputs[r.result], to_[r.result], t.first, rooms[r.room]);
      const int64_t n = r.one ? 1 : t.count;
      Apply(s, loops_[k], values[s.x], ReadsTwo(s) ? values[s.y] : nullptr, to, n);
      const bool rounds_when_stored = r.result >= 0 && to_[r.result] == s.round && r.last_use < 0;
      if (!rounds_when_stored) RoundTo(s.round, to, n);
      values[reg] = to;
    }
    for (int i = 0; i < program_.results; ++i) {
      const int reg = program_.result[i];
      float* const to = RoomAt(args.outputs[i], to_[i], t.first, rooms[registers_[reg].room]);
      if (registers_[reg].one) {
        std::fill_n(to, t.count, *values[reg]);
      } else if (values[reg] != to) {
        std::copy_n(values[reg], t.count, to);
      }
      StoreFloats(to, to_[i], t.first, t.count, args.outputs[i]);
    }
  }

  void Apply(const ElementStep& s, const Loop& loop, const float* x, const float* y, float* to, int64_t n) const {
    if (loop.unary != nullptr) return loop.unary(x, to, static_cast<size_t>(n), s.params);
    if (loop.binary != nullptr) return (n == 1 ? loop.binary : loop.spread)(x, y, to, static_cast<size_t>(n));
    if (s.kind == StepKind::kCopy) {
      if (x != to) std::copy_n(x, n, to);
      return;
    }
    const bool one_x = registers_[s.x].one && n > 1, one_y = y != nullptr && registers_[s.y].one && n > 1;
    for (int64_t i = 0; i < n; i += kLanes)
      ApplyLanes(s, x + (one_x ? 0 : i), one_x, y + (one_y ? 0 : i), one_y, to + i, std::min<int64_t>(kLanes, n - i));
  }

  // A step without a vector loop, lane by lane; the caller rounds.
  static void ApplyLanes(ElementStep s, const float* x, bool one_x, const float* y, bool one_y, float* to, int64_t n) {
    float a[kLanes] = {}, b[kLanes] = {}, out[kLanes];
    for (int64_t k = 0; k < n; ++k) {
      a[k] = x[one_x ? 0 : k];
      b[k] = y[one_y ? 0 : k];
    }
    s.round = DType::kF32;
    RunElementStep<kLanes, RoundValue>(s, a, b, out);
    std::copy_n(out, n, to);
  }

  ElementProgram program_;
  FusedRows rows_;
  std::vector<DType> from_, to_;  // storages
  bool wide_ = false;             // a tile is a part of a row; else several rows
  int64_t per_row_ = 1, rows_of_tile_ = 1;
  std::array<Register, kElementRegisters> registers_;
  std::array<Loop, ElementProgram::kMaxSteps> loops_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const FusedSpec fused, ReadFused(spec));
  for (const TensorDesc& in : spec.inputs) AMPC_RETURN_IF_ERROR(view.CheckType(in.dtype, {DType::kF32}));
  for (const TensorDesc& out : spec.outputs) AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32}));
  KernelTraits traits;
  traits.rounds_results = !spec.op->GetBool("excess");
  traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel(std::move(traits), [](const KernelArgs&) { return absl::OkStatus(); });
  FusedLoop loop(fused, spec);
  traits.in_place_input = loop.in_place_input();
  return MakeLambdaKernel(std::move(traits), [loop = std::move(loop)](const KernelArgs& args) {
    loop.Run(args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterFusedElementwise(KernelRegistry* registry) {
  return registry->Add(
      {"fused_elementwise", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kElementwise, nullptr, HalfSupport::kEach});
}

}  // namespace ampc
