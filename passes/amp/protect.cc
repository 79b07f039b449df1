#include "passes/amp/protect.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/status_macros.h"
#include "passes/amp/cast_roots.h"
#include "passes/amp/decision.h"
#include "passes/amp/low_values.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

using OpNames = absl::flat_hash_set<absl::string_view>;

AmpClass ClassOf(const Op& op) { return op.def().amp_when != nullptr ? op.def().amp_when(op) : op.def().amp; }

// Would amp-decide ever make it low?
bool MayBecomeLow(const Op& op) {
  const AmpClass amp = ClassOf(op);
  return !op.def().opaque && !IsCast(op) && amp != AmpClass::kNever && amp != AmpClass::kDeny;
}

absl::string_view Stem(const std::string& type) { return absl::StripPrefix(type, "onnx."); }

bool IsIn(const OpNames& names, const Op& op) { return names.contains(Stem(op.type())); }

const OpNames& Logs() {
  static const OpNames* const kNames = new OpNames{"log", "log2", "log10", "Log"};
  return *kNames;
}
// Steep at zero: an operand that a low type rounds to zero or to few bits ruins the result.
const OpNames& SteepAtZero() {
  static const OpNames* const kNames = new OpNames{"sqrt", "rsqrt", "log", "log2", "log10", "reciprocal", "pow", "elementwise_pow", "elementwise_div",
                                                   "Sqrt", "Log", "Reciprocal", "Pow", "Div"};
  return *kNames;
}
// However large the operand, the result is in range.
const OpNames& Bounded() {
  static const OpNames* const kNames = new OpNames{"sigmoid", "tanh", "softmax", "relu6", "clip", "hard_sigmoid", "log_softmax", "layer_norm",
                                                   "elementwise_min", "elementwise_max", "Sigmoid", "Tanh", "Softmax", "Clip", "HardSigmoid",
                                                   "LayerNormalization", "Min", "Max"};
  return *kNames;
}
const OpNames& Selections() {
  static const OpNames* const kNames = new OpNames{"elementwise_min", "elementwise_max", "clip", "Min", "Max", "Clip"};
  return *kNames;
}
const OpNames& Reductions() {
  static const OpNames* const kNames = new OpNames{"reduce_mean", "reduce_sum", "mean", "sum", "ReduceMean", "ReduceSum"};
  return *kNames;
}
const OpNames& ShapeReaders() {
  static const OpNames* const kNames = new OpNames{"shape", "size", "rank", "Shape", "Size"};
  return *kNames;
}

class Protector {
 public:
  Protector(DType low, Program& program)
      : low_(low),
        program_(program),
        roots_(program),
        constant_(program.num_var_ids(), false),
        lost_(program.num_var_ids()),
        large_(program.num_var_ids(), false),
        small_(program.num_var_ids(), false),
        exact_(program.num_var_ids(), false),
        reason_(program.num_op_ids()) {}

  bool Run() {
    ForEachVar(program_, [this](const Var& var) {
      if (var.weight != nullptr && var.type.NumElements() == 1) {
        const absl::StatusOr<HostTensor> number = LoadWeight(*var.weight, var.type.dims);
        if (number.ok()) lost_[var.id()] = LossOf(*number, low_);
      }
      if (var.literal == nullptr) return;
      constant_[var.id()] = true;
      lost_[var.id()] = LossOf(*var.literal, low_);
    });
    std::vector<const Op*> logs;
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op)) return;
      Forward(op);
      if (IsIn(Logs(), op) && ReadsFlagged(op, small_)) logs.push_back(&op);
    });
    ProtectStatistics();
    // Twice, because a loop's body writes what its earlier ops read in the next turn.
    ProtectIndexes();
    ProtectIndexes();
    ProtectLogs(logs);
    return Mark();
  }

 private:
  const Var& In(const Op& op, int flat) const { return roots_.Root(*op.inputs()[flat]); }

  bool ReadsFlagged(const Op& op, const std::vector<bool>& flags) const {
    for (const Var* var : op.inputs()) {
      if (flags[roots_.Root(*var).id()]) return true;
    }
    return false;
  }

  void Because(const Op& op, std::string reason) {
    if (MayBecomeLow(op) && HasFloat(op.outputs()) && reason_[op.id()].empty()) reason_[op.id()] = std::move(reason);
  }

  void Forward(const Op& op) {
    if (FromConstants(op)) {
      for (const Var* var : op.outputs()) constant_[var->id()] = var->kind == VarKind::kTemp;
      if (!op.inputs().empty()) Because(op, "protect.shape: computed from shapes and constants alone");
    }
    const LostValue created = LossOfCreated(op, low_);
    for (const Var* var : op.outputs()) lost_[var->id()] = created;
    ReadConstants(op);
    FollowRange(op);
  }

  bool FromConstants(const Op& op) const {
    if (IsIn(ShapeReaders(), op)) return true;
    if (!op.def().pure || op.def().opaque || !op.SubBlocks().empty()) return false;
    for (const Var* var : op.inputs()) {
      if (!constant_[roots_.Root(*var).id()]) return false;
    }
    return true;
  }

  void ReadConstants(const Op& op) {
    if (!MayBecomeLow(op)) return;
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const LostValue& lost = lost_[In(op, i).id()];
      if (lost.loss == Loss::kNone) continue;
      const bool overflows = lost.loss == Loss::kOverflows;
      // min(x, 1e30) keeps its meaning with an infinity.
      if (overflows && IsIn(Selections(), op)) continue;
      Because(op, absl::StrCat("protect.constant: ", lost.value, overflows ? " is infinite in " : " is 0 in ", Name(low_)));
      for (const Var* var : op.outputs()) {
        (overflows ? large_ : small_)[var->id()] = true;
      }
    }
  }

  // Large values stay large through arithmetic until something bounds them; small ones matter where a function is steep.
  void FollowRange(const Op& op) {
    const AmpClass amp = ClassOf(op);
    if (ReadsFlagged(op, large_) && amp != AmpClass::kAllow) {
      Because(op, absl::StrCat("protect.range: reads a value beyond the range of ", Name(low_)));
      const bool stays = MayBecomeLow(op) && !IsIn(Bounded(), op);
      if (stays || IsCast(op)) {
        for (const Var* var : op.outputs()) large_[var->id()] = true;
      }
    }
    if (!ReadsFlagged(op, small_)) return;
    const bool steep = IsIn(SteepAtZero(), op);
    const bool moves = amp == AmpClass::kClear || IsCast(op);
    if (!steep && !moves) return;
    Because(op, "protect.eps: reads a value that a constant keeps from zero");
    const bool passes_on = moves || Stem(op.type()) == "sqrt" || Stem(op.type()) == "Sqrt";
    for (const Var* var : op.outputs()) {
      if (passes_on) small_[var->id()] = true;
    }
  }

  // x * x that only reductions read: one x of 256 is enough to overflow f16, and small ones vanish.
  void ProtectStatistics() {
    std::vector<int> uses(program_.num_var_ids(), 0);
    std::vector<int> summed(program_.num_var_ids(), 0);
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op)) return;
      for (const Var* var : op.inputs()) {
        const int id = roots_.Root(*var).id();
        ++uses[id];
        if (IsIn(Reductions(), op)) ++summed[id];
      }
    });
    for (const Var* var : program_.fetches) ++uses[roots_.Root(*var).id()];
    std::vector<bool> square(program_.num_var_ids(), false);
    constexpr char kReason[] = "protect.statistics: squares that are only averaged or summed";
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op) || op.outputs().empty()) return;
      const Var& out = *op.outputs()[0];
      const bool product = (Stem(op.type()) == "elementwise_mul" || Stem(op.type()) == "Mul") && op.inputs().size() == 2 && &In(op, 0) == &In(op, 1);
      const bool power = Stem(op.type()) == "square" || Stem(op.type()) == "pow" || Stem(op.type()) == "Pow";
      if ((product || power) && out.type.IsFloat() && uses[out.id()] > 0 && uses[out.id()] == summed[out.id()]) {
        square[out.id()] = true;
        Because(op, kReason);
      } else if (IsIn(Reductions(), op) && ReadsFlagged(op, square)) {
        Because(op, kReason);
      }
    });
  }

  // Backwards from shapes, indexes and loop conditions to what computes them, as far as products and reductions.
  void ProtectIndexes() {
    for (int b = program_.num_blocks() - 1; b >= 0; --b) {
      const std::vector<std::unique_ptr<Op>>& ops = program_.block(b).ops();
      for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
        const Op& op = **it;
        if (IsInserted(op)) continue;
        NeedHostValues(op);
        bool needed = false;
        for (const Var* var : op.outputs()) needed = needed || exact_[var->id()];
        const AmpClass amp = ClassOf(op);
        if (!needed || amp == AmpClass::kAllow || amp == AmpClass::kDeny || op.def().opaque || IsIn(ShapeReaders(), op) || !op.SubBlocks().empty()) continue;
        Because(op, "protect.index: its result becomes an index, a shape or a loop count");
        for (const Var* var : op.inputs()) exact_[roots_.Root(*var).id()] = true;
      }
    }
  }

  static bool HasFloat(absl::Span<Var* const> vars) {
    for (const Var* var : vars) {
      if (var->type.IsFloat()) return true;
    }
    return false;
  }

  void NeedHostValues(const Op& op) {
    const bool control = !op.SubBlocks().empty();
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const SlotDef& slot = op.def().inputs[op.InputSlotOf(i)];
      const bool condition = control && (slot.name == "Condition" || slot.name == "Cond" || slot.name == "cond");
      const bool index = slot.precision == SlotPrecision::kAsIs && IsInteger(In(op, i).type.dtype) && slot.name.find("Ind") != std::string::npos;
      if (slot.host_value || condition || index) exact_[In(op, i).id()] = true;
    }
  }

  // A logarithm of small values (a power spectrum) needs all that leads to it, where that is the smaller part of the work.
  void ProtectLogs(const std::vector<const Op*>& logs) {
    if (logs.empty()) return;
    std::vector<bool> leads(program_.num_var_ids(), false);
    for (const Op* log : logs) {
      for (const Var* var : log->inputs()) leads[roots_.Root(*var).id()] = true;
    }
    std::vector<const Op*> slice;
    double inside = 0;
    double all = 0;
    for (int b = program_.num_blocks() - 1; b >= 0; --b) {
      const std::vector<std::unique_ptr<Op>>& ops = program_.block(b).ops();
      for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
        const Op& op = **it;
        const double work = ClassOf(op) != AmpClass::kAllow ? 0 : op.def().cost != nullptr ? op.def().cost(op).flops : 1;
        all += work;
        bool in_slice = false;
        for (const Var* var : op.outputs()) in_slice = in_slice || leads[var->id()];
        if (!in_slice) continue;
        inside += work;
        slice.push_back(&op);
        for (const Var* var : op.inputs()) leads[roots_.Root(*var).id()] = true;
      }
    }
    if (inside > all / 2) return;
    for (const Op* op : slice) Because(*op, "protect.log: leads to a logarithm of small values");
  }

  // A mark that the program came with stays.
  bool Mark() {
    bool changed = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
        std::string& reason = reason_[op->id()];
        if (reason.empty() || op->marks.amp != AmpMark::kNone) continue;
        op->marks.amp = AmpMark::kFp32;
        op->marks.amp_reason = std::move(reason);
        changed = true;
      }
    }
    return changed;
  }

  DType low_;
  Program& program_;
  CastRoots roots_;
  // By Var::id.
  std::vector<bool> constant_;   // made from shapes and constants alone
  std::vector<LostValue> lost_;  // a constant with a value that the low type lacks
  std::vector<bool> large_;      // such a constant made it large
  std::vector<bool> small_;      // such a constant keeps it from zero
  std::vector<bool> exact_;      // becomes an index, a shape or a loop count
  std::vector<std::string> reason_;  // by Op::id
};

}  // namespace

PassInfo ProtectPass() {
  PassInfo info;
  info.name = "protect";
  info.summary = "marks shape arithmetic, index computation, and what tiny or huge constants touch as fp32";
  info.options = {{"dtype", "f16 (default) or bf16: the type whose range counts"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const DType low, LowDTypeOption(options, "dtype", DType::kF16));
    return MakePass([low](PassContext&, Program& program) -> absl::StatusOr<bool> { return Protector(low, program).Run(); });
  };
  return info;
}

}  // namespace ampc
