// Paddle's convert_to_mixed_precision: an op becomes low when it has a low kernel, nothing on its lists or attributes speaks against
// it, and everything else that writes its results becomes low, too. Lists and kernels are the policy's.
#include <cmath>
#include <utility>

#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/decide/decide.h"
#include "passes/amp/decide/paddle_names.h"
#include "passes/amp/protect/low_values.h"

namespace ampc {
namespace {

bool IsKept(const Var& var) { return var.kind == VarKind::kParam || var.kind == VarKind::kState || var.kind == VarKind::kConst; }

class InferenceDecider {
 public:
  InferenceDecider(const DecideOptions& options, const PaddlePolicy& policy, const Program& program)
      : options_(options),
        policy_(policy),
        program_(program),
        roots_(program),
        names_(program, IsLoaded(program)),
        white_(options.white_list.begin(), options.white_list.end()),
        black_(Words(policy.black)),
        without_kernels_(Words(policy.without_kernels)),
        low_kernels_(Words(options.low == DType::kF16 ? policy.kernels_f16 : policy.kernels_bf16)),
        f32_kernels_(Words(policy.kernels_f16)),
        low_(program.num_op_ids(), false),
        forbidden_(names_.num_cells(), false),
        writers_(names_.num_cells()),
        out_(NewDecision(options, policy, program)) {
    black_.insert(options.black_list.begin(), options.black_list.end());
    for (const std::string& type : without_kernels_) low_kernels_.erase(type);
    for (const std::string& type : without_kernels_) f32_kernels_.erase(type);
    for (const std::string& type : Words(policy.kernels_low_only)) f32_kernels_.erase(type);
    for (const std::string& type : Words(policy.kernels_f32_only)) f32_kernels_.insert(type);
  }

  std::unique_ptr<AmpDecision> Run() {
    ForEachOp(program_, [this](const Op& op) { Classify(op); });
    ForEachOp(program_, [this](const Op& op) {
      if (low_[op.id()] && TouchesForbidden(op)) Refuse(op, "forbidden-value");
    });
    Settle();
    NarrowCasts();
    RetypeParams();
    DecideSignature();
    return std::move(out_);
  }

 private:
  int Cell(const Var& var) const { return names_.cell(var); }
  const Var& In(const Op& op, int flat) const { return roots_.Root(*op.inputs()[flat]); }
  bool InputMayBeLow(const Op& op, int flat) const {
    return SlotMayBeLow(policy_.inputs, op.type(), op.def().inputs[op.InputSlotOf(flat)].name);
  }

  void Classify(const Op& op) {
    if (IsInserted(op)) return;
    OpDecision& d = out_->ops[op.id()];
    d.untouched = !op.SubBlocks().empty();
    d.rule = WhyFp32(op);
    d.low = low_[op.id()] = d.rule.empty() && !d.untouched;
    if (d.low) d.rule = "kernel";
    const bool computes_f32 = f32_kernels_.contains(op.type()) || white_.contains(op.type());
    for (const Var* var : op.outputs()) {
      if (!computes_f32 || var->type.dtype == DType::kF64) forbidden_[Cell(*var)] = true;
      if (!d.untouched) writers_[Cell(*var)].push_back(&op);
    }
    if (op.type() != "select_input") return;
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) forbidden_[Cell(In(op, i))] = true;
  }

  // Which of the op's own properties keeps it fp32; "" for none.
  absl::string_view WhyFp32(const Op& op) const {
    if (!white_.contains(op.type())) {
      if (black_.contains(op.type())) return "black";
      if (!low_kernels_.contains(op.type())) return "no-kernel";
    }
    if (op.explicit_attr("dtype") != nullptr && op.type() != "arg_max" && op.type() != "arg_min") {
      if (PaddleDType(op, "dtype") != DType::kF32) return "dtype";
    } else if (op.explicit_attr("out_dtype") != nullptr && !IsF32OrNone(op, "out_dtype")) {
      return "out-dtype";
    }
    if (op.type() == "scale") {
      for (const char* attr : {"scale", "bias"}) {
        const double value = op.GetFloat(attr);
        if (!std::isfinite(value) || LossOf(value, options_.low).loss == Loss::kOverflows) return "scale-range";
      }
    }
    for (const absl::Span<Var* const> vars : {op.inputs(), op.outputs()}) {
      for (const Var* var : vars) {
        if (var->type.kind != TypeKind::kTensor) return "no-tensor";
      }
    }
    return "";
  }

  // -1, which stands for the operand's type, is kInvalid here.
  static bool IsF32OrNone(const Op& op, absl::string_view attr) {
    const AttrValue& value = *op.attr(attr);
    if (const int32_t* number = std::get_if<int32_t>(&value)) return *number == -1 || PaddleDType(op, attr) == DType::kF32;
    return op.GetDType(attr) == DType::kF32 || op.GetDType(attr) == DType::kInvalid;
  }

  bool TouchesForbidden(const Op& op) const {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const Var& var = In(op, i);
      if (!IsKept(var) && forbidden_[Cell(var)]) return true;
    }
    for (const Var* var : op.outputs()) {
      if (!IsKept(*var) && forbidden_[Cell(*var)]) return true;
    }
    return false;
  }

  void Refuse(const Op& op, const char* rule) {
    low_[op.id()] = false;
    OpDecision& d = out_->ops[op.id()];
    d.low = false;
    d.rule = rule;
  }

  // All writers of a value agree: one that stays fp32 keeps the others.
  void Settle() {
    std::vector<bool> told(names_.num_cells(), false);
    std::vector<const Op*> work;
    ForEachOp(program_, [&](const Op& op) {
      if (!IsInserted(op) && !low_[op.id()]) work.push_back(&op);
    });
    while (!work.empty()) {
      const Op& op = *work.back();
      work.pop_back();
      for (const Var* var : op.outputs()) {
        const int cell = Cell(*var);
        if (told[cell] || out_->ops[op.id()].untouched) continue;
        told[cell] = true;
        for (const Op* other : writers_[cell]) {
          if (!low_[other->id()]) continue;
          Refuse(*other, "other-writer");
          work.push_back(other);
        }
      }
    }
  }

  // A cast to fp32 that low ops alone read casts to the low type instead.
  void NarrowCasts() {
    std::vector<bool> wide(names_.num_cells(), false), read(names_.num_cells(), false);
    for (const Var* var : program_.fetches) wide[Cell(*var)] = true;
    ForEachOp(program_, [&](const Op& op) {
      if (IsInserted(op)) return;
      for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
        read[Cell(In(op, i))] = true;
        if (!low_[op.id()] || !InputMayBeLow(op, i)) wide[Cell(In(op, i))] = true;
      }
    });
    ForEachOp(program_, [&](const Op& op) {
      if (!IsCast(op) || IsInserted(op) || op.GetDType("out_dtype") != DType::kF32) return;
      const Var& result = *op.outputs()[0];
      if (result.kind != VarKind::kTemp || wide[Cell(result)] || !read[Cell(result)]) return;
      out_->ops[op.id()] = {true, false, "cast", "only low ops read it"};
    });
  }

  void RetypeParams() {
    out_->low_param.assign(program_.num_var_ids(), false);
    ForEachOp(program_, [&](const Op& op) {
      for (int i = 0; low_[op.id()] && i < static_cast<int>(op.inputs().size()); ++i) {
        const Var& var = In(op, i);
        if (var.kind == VarKind::kParam && var.type.dtype == DType::kF32 && InputMayBeLow(op, i)) out_->low_param[var.id()] = true;
      }
    });
  }

  void DecideSignature() {
    out_->keep_var = KeepFetches(program_, !options_.low_io);
    out_->low_var.assign(program_.num_var_ids(), false);
    if (!options_.low_io) return;
    for (const Var* var : program_.feeds) out_->low_var[var->id()] = var->type.dtype == DType::kF32 && !forbidden_[Cell(*var)];
    for (const Var* var : program_.fetches) out_->low_var[var->id()] = var->type.dtype == DType::kF32;
  }

  const DecideOptions& options_;
  const PaddlePolicy& policy_;
  const Program& program_;
  const CastRoots roots_;
  const PaddleNames names_;
  const NameSet white_;
  NameSet black_;
  const NameSet without_kernels_;
  NameSet low_kernels_, f32_kernels_;
  std::vector<bool> low_;                        // by Op::id
  std::vector<bool> forbidden_;                  // by cell: stays fp32 whoever writes it
  std::vector<std::vector<const Op*>> writers_;  // by cell
  std::unique_ptr<AmpDecision> out_;
};

}  // namespace

DecisionOr DecideInference(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  return InferenceDecider(options, policy, program).Run();
}

}  // namespace ampc
