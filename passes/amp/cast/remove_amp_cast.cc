#include "passes/amp/cast/remove_amp_cast.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/decide/fp16_guard.h"
#include "passes/amp/protect/rules.h"
#include "passes/amp/rescale/rescaled.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class Stripper {
 public:
  Stripper(PassContext& ctx, bool widen, Program& program) : ctx_(ctx), widen_(widen), program_(program) {}

  absl::StatusOr<bool> Run() {
    const Rescaled rescaled = RescaledOf(program_);
    if (!HasMarks() && !(widen_ && MarkNativeLow())) return changed_;
    target_.resize(program_.num_var_ids());
    dead_.assign(program_.num_var_ids(), false);
    for (int i = 0; i < program_.num_var_ids(); ++i) target_[i] = nullptr;
    FindLowCopies();
    for (int b = 0; b < program_.num_blocks(); ++b) TakeCasts(program_.block(b));
    AMPC_RETURN_IF_ERROR(ShortenTargets());
    AMPC_RETURN_IF_ERROR(CheckSignature());
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) Restore(*op);
      for (const std::unique_ptr<Var>& var : program_.block(b).vars()) Restore(*var);
    }
    for (int b = 0; b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead_);
    AMPC_RETURN_IF_ERROR(status_);
    AMPC_RETURN_IF_ERROR(TakeBack(rescaled, program_));
    if (widened_ > 0) {
      ctx_.notes.push_back(absl::StrCat(widened_, widened_ == 1 ? " weight was" : " weights were",
                                        " stored in low precision and widened; the original values are gone"));
    }
    return changed_;
  }

 private:
  // Also clears marks that are not part of a conversion's casts.
  bool HasMarks() {
    bool marks = false;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
        marks = marks || IsInserted(*op) || !op->marks.was.empty();
        if (op->marks.amp == AmpMark::kFp32 && IsProtectMark(op->marks.amp_reason)) {
          marks = true;
          op->marks.amp = AmpMark::kNone;
          op->marks.amp_reason.clear();
          changed_ = true;
        }
        if (op->marks.amp == AmpMark::kNone && !op->marks.amp_reason.empty()) {  // the options of the conversion
          marks = true;
          op->marks.amp_reason.clear();
          changed_ = true;
        }
        if (op->marks.guard != 0 && !GuardScope(*op).empty()) {
          op->marks.guard = 0;
          changed_ = true;
        }
      }
    }
    ForEachVar(program_, [&marks](const Var& var) { marks = marks || IsRetyped(var); });
    return marks;
  }

  // A low program that does not say what it was: every low value counts as a retyped f32, every cast between f32 and a low
  // type as inserted. Returns whether there was any.
  bool MarkNativeLow() {
    int casts = 0;
    int values = 0;
    for (int b = 0; b < program_.num_blocks(); ++b) {
      for (const std::unique_ptr<Op>& op : program_.block(b).ops()) {
        for (const AttrDef& def : op->def().attrs) {
          if (IsLowPrecision(op->GetDType(def.name))) op->marks.was.emplace_back(def.name, DType::kF32);
        }
        if (!IsCast(*op) || op->inputs().empty() || !IsHalfCast(*op)) continue;
        op->marks.amp = AmpMark::kInserted;
        ++casts;
      }
      for (const std::unique_ptr<Var>& var : program_.block(b).vars()) {
        if (!IsLowPrecision(var->type.dtype)) continue;
        var->was = DType::kF32;
        ++values;
      }
    }
    if (casts + values == 0) return false;
    ctx_.notes.push_back(absl::StrCat("the program carries no AMP marks: ", casts, " casts between float types were removed and ", values,
                                      " low values widened to f32"));
    return true;
  }

  static bool IsHalfCast(const Op& op) {
    const DType from = op.inputs()[0]->type.dtype;
    const DType to = op.outputs()[0]->type.dtype;
    return (IsLowPrecision(from) && to == DType::kF32) || (from == DType::kF32 && IsLowPrecision(to)) ||
           (IsLowPrecision(from) && IsLowPrecision(to));
  }

  // Params and consts `w.f16` beside an fp32 `w`.
  void FindLowCopies() {
    for (int b = 0; b < program_.num_blocks(); ++b) {
      Block& block = program_.block(b);
      for (const std::unique_ptr<Var>& var : block.vars()) {
        if (!IsStored(*var) || !IsRetyped(*var)) continue;
        const size_t at = var->name().rfind(absl::StrCat(".", Name(var->type.dtype)));
        Var* base = at == std::string::npos ? nullptr : block.FindVar(var->name().substr(0, at));
        if (base == nullptr || base->kind != var->kind || base->type.dtype != var->was || IsRetyped(*base) ||
            base->type.dims != var->type.dims)
          continue;
        target_[var->id()] = base;
        dead_[var->id()] = true;
      }
    }
  }

  void TakeCasts(Block& block) {
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    std::vector<std::unique_ptr<Op>> kept;
    kept.reserve(ops.size());
    for (std::unique_ptr<Op>& op : ops) {
      if (IsInserted(*op)) {
        Take(*op);
        changed_ = true;
      } else {
        kept.push_back(std::move(op));
      }
    }
    block.SetOps(std::move(kept));
  }

  // `x.f16 = cast(x)`: readers read x again. `y = cast(y.f16)` or `state <- cast(t)`: the op in front defines y again.
  void Take(const Op& cast) {
    Var* source = cast.inputs()[0];
    Var* result = cast.outputs()[0];
    const bool gives_name = result->IsWritable() || absl::StartsWith(source->name(), absl::StrCat(result->name(), ".")) || Fetched(*result);
    Var* gone = gives_name && source->kind == VarKind::kTemp && !Fetched(*source) && &source->block() == &result->block() ? source : result;
    if (result->IsWritable()) gone = source;
    target_[gone->id()] = gone == source ? result : source;
    dead_[gone->id()] = true;
  }

  bool Fetched(const Var& var) {
    if (fetched_.empty()) {
      fetched_.assign(program_.num_var_ids(), false);
      for (const Var* fetch : program_.fetches) fetched_[fetch->id()] = true;
    }
    return fetched_[var.id()];
  }

  // Points each value at the last one of its chain: casts of casts go together. Marks that a conversion made lead to an end.
  absl::Status ShortenTargets() {
    enum : char { kNew, kOnPath, kDone };
    std::vector<char> state(target_.size(), kNew);
    std::vector<int> path;
    for (int id = 0; id < static_cast<int>(target_.size()); ++id) {
      path.clear();
      int at = id;
      for (; target_[at] != nullptr && state[at] == kNew; at = target_[at]->id()) {
        state[at] = kOnPath;
        path.push_back(at);
      }
      if (state[at] == kOnPath) {
        return BadInputError(absl::StrCat("the casts that are marked as inserted lead from '", target_[at]->name(), "' back to it"));
      }
      if (path.empty()) continue;
      Var* const end = target_[at] != nullptr ? target_[at] : target_[path.back()];
      for (int passed : path) {
        target_[passed] = end;
        state[passed] = kDone;
      }
    }
    return absl::OkStatus();
  }

  // No conversion marks casts so that a feed or fetch would go with them.
  absl::Status CheckSignature() const {
    for (const std::vector<Var*>* vars : {&program_.feeds, &program_.fetches}) {
      for (const Var* var : *vars) {
        if (!dead_[var->id()]) continue;
        return BadInputError(absl::StrCat("'", var->name(), "' is a feed or fetch, but marked as part of what AMP inserted"));
      }
    }
    return absl::OkStatus();
  }

  Var* Final(Var* var) const { return target_[var->id()] == nullptr ? var : target_[var->id()]; }

  void Restore(Op& op) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) op.ReplaceInput(i, Final(op.inputs()[i]));
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) op.ReplaceOutput(i, Final(op.outputs()[i]));
    for (const auto& [name, was] : op.marks.was) op.SetAttr(name, was);
    changed_ = changed_ || !op.marks.was.empty();
    op.marks.was.clear();
  }

  void Restore(Var& var) {
    if (!IsRetyped(var) || dead_[var.id()]) return;
    const DType low = var.type.dtype;
    var.type.dtype = var.was;
    if (var.literal != nullptr) {
      RestoreLiteral(var);
    } else if (var.weight != nullptr) {
      RestoreWeight(*var.weight, low, var.was);
    }
    var.was = DType::kInvalid;
    changed_ = true;
  }

  void RestoreWeight(WeightRef& weight, DType low, DType was) {
    if (!weight.transforms.empty() && weight.transforms.back().to == low) {
      weight.transforms.pop_back();
    } else {
      weight.transforms.push_back({was, OnOverflow::kKeep, OnTiny::kSubnormal});
      ++widened_;
    }
  }

  // The original is the weight that the conversion left beside the literal; without it, the low value is widened.
  void RestoreLiteral(Var& var) {
    WeightRef original;
    if (var.weight != nullptr && !var.weight->transforms.empty()) {
      original = *var.weight;
    } else {
      original.source = WeightBuffer(std::string(static_cast<const char*>(var.literal->data()), var.literal->size_bytes()));
      original.bytes = var.literal->size_bytes();
      original.dtype = var.literal->dtype();
    }
    RestoreWeight(original, var.literal->dtype(), var.was);
    absl::StatusOr<HostTensor> value = LoadWeight(original, var.literal->dims());
    status_.Update(value.status());
    if (!value.ok()) return;
    var.literal = std::make_shared<const HostTensor>(*std::move(value));
    var.weight = nullptr;
  }

  PassContext& ctx_;
  const bool widen_;
  Program& program_;
  std::vector<Var*> target_;  // by Var::id: what stands for it, null for itself
  std::vector<bool> dead_;
  std::vector<bool> fetched_;
  int widened_ = 0;
  absl::Status status_;
  bool changed_ = false;
};

}  // namespace

PassInfo RemoveAmpCastPass() {
  PassInfo info;
  info.name = "remove-amp-cast";
  info.summary = "takes out what AMP put in and restores the fp32 program";
  info.options = {{"unmarked", "widen (default) or keep: what becomes of low values in a program without AMP marks"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const std::string unmarked, ChoiceOption(options, "unmarked", {"widen", "keep"}, "widen"));
    const bool widen = unmarked == "widen";
    return MakePass([widen](PassContext& ctx, Program& program) -> absl::StatusOr<bool> { return Stripper(ctx, widen, program).Run(); });
  };
  return info;
}

}  // namespace ampc
