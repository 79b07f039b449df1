#include "passes/cleanup/fold_casts.h"

#include <utility>

#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

// {bits of magnitude that are exact, largest power of two below the range}; an integer type of n value bits is {n, n}.
struct Reach {
  int precision;
  int exponent;
  bool is_signed;
};

Reach ReachOf(DType t) {
  switch (t) {
    case DType::kBool: return {1, 1, false};
    case DType::kU8: return {8, 8, false};
    case DType::kI8: return {7, 7, true};
    case DType::kI16: return {15, 15, true};
    case DType::kI32: return {31, 31, true};
    case DType::kI64: return {63, 63, true};
    case DType::kU2: return {2, 2, false};
    case DType::kI2: return {1, 1, true};
    case DType::kU4: return {4, 4, false};
    case DType::kI4: return {3, 3, true};
    case DType::kU16: return {16, 16, false};
    case DType::kU32: return {32, 32, false};
    case DType::kU64: return {64, 64, false};
    case DType::kF16: return {11, 15, true};
    case DType::kBF16: return {8, 127, true};
    case DType::kF32: return {24, 127, true};
    case DType::kF64: return {53, 1023, true};
    default: return {0, 0, false};
  }
}

// amp_cast converts floats only; what else it gets passes.
bool Converts(const Op& op) { return op.type() == "cast" || op.type() == "amp_cast"; }

class CastFolder {
 public:
  explicit CastFolder(Program& program) : program_(program), uses_(program), target_(program.num_var_ids(), nullptr) {}

  bool Run() {
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
        for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
          if (Var* other = target_[op->inputs()[i]->id()]) op->ReplaceInput(i, other);
        }
        if (Converts(*op)) Fold(*op);
      }
    }
    if (changed_) DropUnread();
    return changed_;
  }

 private:
  void Fold(Op& cast) {
    Var* in = cast.inputs()[0];
    Var* out = cast.outputs()[0];
    Op* inner = in->kind == VarKind::kTemp ? uses_.producer(*in) : nullptr;
    if (inner != nullptr && Converts(*inner)) {
      Var* source = inner->inputs()[0];
      const bool converts = cast.type() == "cast" || IsFloat(source->type.dtype);
      if (converts && Stable(*source) && &source->block() == &cast.block() && ConvertsExactly(source->type.dtype, in->type.dtype)) {
        cast.ReplaceInput(0, source);
        if (cast.explicit_attr("in_dtype") != nullptr) cast.SetAttr("in_dtype", source->type.dtype);
        in = source;
        changed_ = true;
      }
    }
    if (in->type.dtype != out->type.dtype || out->kind != VarKind::kTemp || uses_.fetched(*out) || !Stable(*in)) return;
    target_[out->id()] = in;
    changed_ = true;
  }

  // Reads the same wherever it is read.
  bool Stable(const Var& var) const { return var.kind == VarKind::kTemp || uses_.num_writers(var) == 0; }

  void DropUnread() {
    std::vector<int> reads(program_.num_var_ids(), 0);
    for (const Var* var : program_.fetches) ++reads[var->id()];
    ForEachOp(program_, [&](const Op& op) {
      for (const Var* var : op.inputs()) ++reads[var->id()];
    });
    std::vector<bool> dead(program_.num_var_ids(), false);
    for (int b = program_.num_blocks() - 1; b >= 0; --b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
        const Op& op = **it;
        if (!Converts(op) || op.outputs()[0]->kind != VarKind::kTemp || reads[op.outputs()[0]->id()] > 0) continue;
        --reads[op.inputs()[0]->id()];
        dead[op.outputs()[0]->id()] = true;
        it->reset();
      }
      std::erase(ops, nullptr);
      program_.block(b).SetOps(std::move(ops));
    }
    for (int b = 0; b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead);
  }

  Program& program_;
  UseDef uses_;
  std::vector<Var*> target_;  // by Var::id: what readers of a folded cast read instead
  bool changed_ = false;
};

}  // namespace

bool ConvertsExactly(DType from, DType to) {
  if (from == to) return true;
  const Reach a = ReachOf(from);
  const Reach b = ReachOf(to);
  if (a.precision == 0 || b.precision == 0 || (IsFloat(from) && !IsFloat(to)) || (a.is_signed && !b.is_signed)) return false;
  // -2^n of a signed integer type is a power of two, so a float needs one more exponent, not one more bit.
  const int exponent = IsFloat(to) && !IsFloat(from) ? a.exponent + (a.is_signed ? 0 : -1) : a.exponent;
  if (IsFloat(from) && IsFloat(to)) return a.precision <= b.precision && a.exponent <= b.exponent;
  return a.precision <= b.precision && exponent <= b.exponent;
}

PassInfo FoldCastsPass() {
  return SimplePass("fold-casts", "removes casts that cannot change a value",
                    [](PassContext&, Program& program) -> absl::StatusOr<bool> { return CastFolder(program).Run(); });
}

}  // namespace ampc
