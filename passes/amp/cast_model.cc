#include "passes/amp/cast_model.h"

#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/implicit_cast.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "passes/amp/decision.h"
#include "passes/analysis/versions.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class Materializer {
 public:
  Materializer(const AmpDecision& decision, Program& program)
      : decision_(decision), program_(program), cast_def_(Ops().Find("cast")), versions_(program), fetched_(program.num_var_ids(), false) {
    for (const Var* var : program.fetches) fetched_[var->id()] = true;
  }

  absl::StatusOr<bool> Run() {
    if (cast_def_ == nullptr) return InternalError("there is no record of 'cast'");
    ForEachVar(program_, [this](const Var& var) {
      if (AmpDecision::Has(decision_.low_var, var.id()) && var.type.dtype == DType::kF32 && var.kind != VarKind::kTemp) Retype(const_cast<Var&>(var), decision_.low);
    });
    for (int b = 0; b < program_.num_blocks(); ++b) AMPC_RETURN_IF_ERROR(RewriteBlock(program_.block(b)));
    for (const auto& [var, type] : retyped_) changed_ = changed_ || var->type.dtype != type;
    DropUnreadCasts();
    return changed_;
  }

 private:
  // A value in another type, good as long as the source has not been overwritten since.
  struct Copy {
    Var* var;
    int source_version;
  };
  using Key = std::pair<int, DType>;

  absl::Status RewriteBlock(Block& block) {
    block_ = &block;
    copies_.clear();
    sources_.clear();
    earlier_.clear();
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    FindOutdatedFetches(ops);
    out_.clear();
    out_.reserve(ops.size() + ops.size() / 4);
    absl::Status status;
    for (std::unique_ptr<Op>& op : ops) {
      if (status.ok()) {
        status = RewriteOp(std::move(op));
      } else {
        out_.push_back(std::move(op));
      }
    }
    block.SetOps(std::move(out_));
    out_.clear();
    DropReturned();
    return status;
  }

  absl::Status RewriteOp(std::unique_ptr<Op> owned) {
    Op& op = *owned;
    trailing_.clear();
    if (TakesBack(op) || DefinesFetchAgain(op)) return absl::OkStatus();
    const bool converted = ReadEarlierCasts(op);
    if (Repeats(op)) return absl::OkStatus();
    const OpDecision& d = decision_.For(op);
    absl::Status status;
    if (IsInserted(op) || (IsCast(op) && d.untouched)) {
      if (IsCast(op)) FixInDType(op);
    } else {
      if (!d.untouched) ConvertOperands(op, d.low);
      const bool control = !op.SubBlocks().empty();  // its results are what its bodies write
      if (d.low) {
        RetargetAttrs(op);
        if (!control) LowerResults(op);
      } else {
        if (!d.untouched) RestoreAttrs(op);
        if (!d.untouched && !control) WidenResults(op);
        if (d.converts || converted) LeaveToRuntime(op);
        if (ListsCasts(decision_, op)) ListCasts(op);
        status = FollowLoweredOperands(op);
      }
      if (IsCast(op)) FixInDType(op);
      LowerFetches(op);
    }
    versions_.After(op);
    if (IsInserted(op) && IsCast(op)) Remember(op.inputs()[0], op.outputs()[0]);
    out_.push_back(std::move(owned));
    for (const auto& [from, to] : trailing_) {
      AppendCast(from, to);
      versions_.Wrote(*to);
      Remember(from, to);
    }
    return status;
  }

  // Casts of an earlier decision that gave a fetch `p` another type than its op computes, where this decision wants that type.
  void FindOutdatedFetches(const std::vector<std::unique_ptr<Op>>& ops) {
    outdated_.clear();
    for (const std::unique_ptr<Op>& op : ops) {
      if (!IsInserted(*op) || !IsCast(*op)) continue;
      const Var& source = *op->inputs()[0];
      Var* fetch = op->outputs()[0];
      if (fetch->kind != VarKind::kTemp || source.kind != VarKind::kTemp || !fetched_[fetch->id()] || fetched_[source.id()]) continue;
      const bool keep = AmpDecision::Has(decision_.keep_var, fetch->id());
      if (keep ? Lowered(*fetch) : decision_.own_slots && !Lowered(*fetch) && Lowered(source)) outdated_[source.id()] = fetch;
    }
  }
  // The op in front of such a cast defines the fetch itself again; true for the cast, which goes.
  bool DefinesFetchAgain(Op& op) {
    if (outdated_.empty()) return false;
    if (IsInserted(op) && outdated_.contains(op.inputs()[0]->id()) && op.outputs()[0] == outdated_[op.inputs()[0]->id()]) return true;
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      auto it = outdated_.find(op.outputs()[i]->id());
      if (it == outdated_.end()) continue;
      Var* aside = op.outputs()[i];
      op.ReplaceOutput(i, it->second);
      Retype(*it->second, aside->type.dtype);
      earlier_[aside->id()] = it->second;
      gone_.push_back(aside->id());
    }
    return false;
  }

  // A fetch that is to be low although its op computes fp32 is cast behind it; other readers get the fp32 value.
  void LowerFetches(Op& op) {
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      Var* var = op.outputs()[i];
      if (var->kind != VarKind::kTemp || var->type.dtype != DType::kF32 || !AmpDecision::Has(decision_.low_var, var->id())) continue;
      Var* aside = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(DType::kF32))), VarKind::kTemp, var->type);
      aside->stop_gradient = var->stop_gradient;
      op.ReplaceOutput(i, aside);
      Retype(*var, decision_.low);
      earlier_[var->id()] = aside;
      trailing_.emplace_back(aside, var);
    }
  }

  // A cast of an earlier decision that comes behind one of this decision goes, and its readers read that one.
  bool Repeats(const Op& op) {
    if (!IsInserted(op) || !IsCast(op) || op.outputs()[0]->kind != VarKind::kTemp || fetched_[op.outputs()[0]->id()]) return false;
    const Var& source = *op.inputs()[0];
    auto copy = copies_.find(Key(source.id(), op.outputs()[0]->type.dtype));
    if (copy == copies_.end() || versions_.Of(source) != copy->second.source_version) return false;
    earlier_[op.outputs()[0]->id()] = copy->second.var;
    gone_.push_back(op.outputs()[0]->id());
    changed_ = true;
    return true;
  }
  // Whether it read one that the runtime was to do.
  bool ReadEarlierCasts(Op& op) {
    bool converted = false;
    for (int i = 0; !earlier_.empty() && i < static_cast<int>(op.inputs().size()); ++i) {
      for (auto it = earlier_.find(op.inputs()[i]->id()); it != earlier_.end(); it = earlier_.find(it->second->id())) {
        converted = converted || implicit_.contains(it->first);
        op.ReplaceInput(i, it->second);
      }
    }
    return converted;
  }
  // What an earlier decision left to the runtime, or to a control op's list, is decided anew.
  bool TakesBack(const Op& op) {
    if (!IsImplicitCast(op) && !IsListedCast(op)) return false;
    Var* result = op.outputs()[0];
    implicit_.insert(result->id());
    earlier_[result->id()] = op.inputs()[0];
    returned_[Key(op.inputs()[0]->id(), result->type.dtype)].push_back(result);
    return true;
  }
  // A value for such a cast: one that was taken back, or a new one.
  Var* ResultFor(const Var& source, DType type) {
    auto it = returned_.find(Key(source.id(), type));
    if (it != returned_.end() && !it->second.empty()) {
      Var* again = it->second.front();
      it->second.pop_front();
      return again;
    }
    changed_ = true;
    Var* fresh = block_->AddVar(block_->UniqueName(absl::StrCat(source.name(), ".", Name(type))), VarKind::kTemp, source.type.WithDType(type));
    fresh->stop_gradient = source.stop_gradient;
    return fresh;
  }
  void DropReturned() {
    for (const auto& [key, vars] : returned_) {
      for (const Var* var : vars) gone_.push_back(var->id());
      changed_ = changed_ || !vars.empty();
    }
    returned_.clear();
  }

  // Operands that do not fit the declared results are converted at run time.
  void LeaveToRuntime(Op& op) {
    const CastResult result = [this](const Var& source, DType type) { return ResultFor(source, type); };
    for (std::unique_ptr<Op>& cast : MakeImplicitCasts(op, result)) out_.push_back(std::move(cast));
  }

  // Casts of lowered operands for the list of a control op whose body reads the operands themselves; weights last, which a later
  // pass lowers.
  void ListCasts(const Op& op) {
    absl::flat_hash_set<int> seen;
    for (const bool params : {false, true}) {
      for (Var* var : op.inputs()) {
        if ((var->kind == VarKind::kParam) != params || !var->type.IsFloat() || !WasWider(*var) || !seen.insert(var->id()).second) continue;
        AppendCast(var, ResultFor(*var, DType::kF32));
        out_.back()->marks.amp_reason = std::string(kListedCast);
      }
    }
  }

  void ConvertOperands(Op& op, bool low) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      Var* var = op.inputs()[i];
      if (!var->type.IsFloat()) continue;
      const SlotPrecision precision = InputPrecision(decision_, op, op.InputSlotOf(i));
      if (precision == SlotPrecision::kAsIs) continue;
      Var* want = var;
      if (low && precision == SlotPrecision::kFollow) {
        if (var->type.dtype == DType::kF32) want = As(var, decision_.low);
      } else if (WasWider(*var)) {
        want = As(var, DType::kF32);
      }
      if (want == var) continue;
      op.ReplaceInput(i, want);
      changed_ = true;
    }
  }

  // A low value that an fp32 op may not read: AMP made it low, or the decision widens native ones as well.
  bool WasWider(const Var& var) const {
    if (!IsLowPrecision(var.type.dtype)) return false;
    if (var.was == DType::kF32 || decision_.widen_native) return true;
    auto it = sources_.find(var.id());
    return it != sources_.end() && it->second.var->type.dtype == DType::kF32;
  }

  void RetargetAttrs(Op& op) {
    for (const AttrDef& def : op.def().attrs) {
      // A foreign decision that makes a creation or a cast low means its result.
      if ((!def.retarget && decision_.own_slots) || op.GetDType(def.name) != DType::kF32) continue;
      op.SetAttr(def.name, decision_.low);
      op.marks.was.emplace_back(def.name, DType::kF32);
      changed_ = true;
    }
  }

  // An op that an earlier decision made low.
  void RestoreAttrs(Op& op) {
    if (op.marks.was.empty()) return;
    for (const auto& [name, was] : op.marks.was) op.SetAttr(name, was);
    op.marks.was.clear();
    changed_ = true;
  }

  void LowerResults(Op& op) {
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      Var* var = op.outputs()[i];
      const bool keep = var->kind == VarKind::kTemp && AmpDecision::Has(decision_.keep_var, var->id());
      if (keep && var->type.dtype == decision_.low && var->was == DType::kF32) Retype(*var, DType::kF32);  // an earlier decision did not keep it
      if (!var->type.IsFloat() || var->type.dtype != DType::kF32) continue;
      if (OutputPrecision(decision_, op, op.OutputSlotOf(i)) != SlotPrecision::kFollow) continue;
      if (var->kind != VarKind::kTemp || keep) {
        DefineAside(op, i, decision_.low);
      } else {
        Retype(*var, decision_.low);
      }
    }
  }

  void WidenResults(Op& op) {
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      Var* var = op.outputs()[i];
      if (!var->type.IsFloat() || !IsLowPrecision(var->type.dtype)) continue;
      if (var->kind == VarKind::kTemp && var->was == DType::kF32) {
        Retype(*var, DType::kF32);  // an earlier decision made it low
        continue;
      }
      if (OutputPrecision(decision_, op, op.OutputSlotOf(i)) == SlotPrecision::kAsIs) continue;
      if (var->kind == VarKind::kCarry && Lowered(*var)) {
        DefineAside(op, i, DType::kF32);
      } else if (var->kind == VarKind::kTemp && decision_.widen_native) {
        Retype(*var, DType::kF32);
      }
    }
  }

  // An op that takes its operands as they are may have got lower ones: its results follow, or where that does not work
  // it gets its operands back in fp32.
  absl::Status FollowLoweredOperands(Op& op) {
    if (op.def().opaque || op.outputs().empty()) return absl::OkStatus();
    bool lowered = false;
    for (const Var* var : op.inputs()) lowered = lowered || (var->type.IsFloat() && WasWider(*var));
    if (!lowered) return absl::OkStatus();
    static const TypeEnv kDeclared;
    const absl::StatusOr<std::vector<std::optional<TensorType>>> inferred = InferOp(op, kDeclared);
    bool follows = inferred.ok();
    for (size_t i = 0; follows && i < inferred->size(); ++i) {
      const Var* var = op.outputs()[i];
      if (!Differs((*inferred)[i], *var)) continue;
      follows = var->kind == VarKind::kTemp && !AmpDecision::Has(decision_.keep_var, var->id());
    }
    if (follows) {
      for (size_t i = 0; i < inferred->size(); ++i) {
        if (Differs((*inferred)[i], *op.outputs()[i])) Retype(*op.outputs()[i], (*inferred)[i]->dtype);
      }
      return absl::OkStatus();
    }
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      Var* var = op.inputs()[i];
      if (!var->type.IsFloat() || !WasWider(*var)) continue;
      op.ReplaceInput(i, As(var, DType::kF32));
      changed_ = true;
    }
    return absl::OkStatus();
  }

  static bool Differs(const std::optional<TensorType>& inferred, const Var& var) {
    return inferred.has_value() && IsFloat(inferred->dtype) && inferred->dtype != var.type.dtype;
  }

  void FixInDType(Op& op) {
    const DType have = op.inputs()[0]->type.dtype;
    const DType said = op.GetDType("in_dtype");
    if (said == DType::kInvalid || said == have || !IsFloat(said) || op.explicit_attr("in_dtype") == nullptr) return;
    bool marked = IsInserted(op);
    for (const auto& [name, was] : op.marks.was) marked = marked || name == "in_dtype";
    if (!marked) op.marks.was.emplace_back("in_dtype", said);
    op.SetAttr("in_dtype", have);
    changed_ = true;
  }

  void Retype(Var& var, DType to) {
    retyped_.try_emplace(&var, var.type.dtype);
    if (!Lowered(var)) var.was = var.type.dtype;
    var.type.dtype = to;
    if (var.was == to) var.was = DType::kInvalid;
  }

  // The op defines `<name>.<type>` instead of result `flat`, which a cast behind it defines or overwrites.
  void DefineAside(Op& op, int flat, DType type) {
    Var* var = op.outputs()[flat];
    Var* aside = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(type))), VarKind::kTemp, var->type.WithDType(type));
    aside->stop_gradient = var->stop_gradient;
    aside->was = var->type.dtype;
    op.ReplaceOutput(flat, aside);
    trailing_.emplace_back(aside, var);
    changed_ = true;
  }

  // `var` in type `to`: itself, what it was cast from, an earlier cast of it, or a new one in front of the current op.
  Var* As(Var* var, DType to) {
    if (var->type.dtype == to) return var;
    auto source = sources_.find(var->id());
    if (source != sources_.end() && versions_.Of(*source->second.var) == source->second.source_version &&
        source->second.var->type.dtype == to && &source->second.var->block() == block_) {
      return source->second.var;
    }
    auto copy = copies_.find(Key(var->id(), to));
    if (copy != copies_.end() && versions_.Of(*var) == copy->second.source_version && copy->second.var->type.dtype == to) {
      return copy->second.var;
    }
    Var* result = block_->AddVar(block_->UniqueName(absl::StrCat(var->name(), ".", Name(to))), VarKind::kTemp, var->type.WithDType(to));
    result->stop_gradient = var->stop_gradient;
    AppendCast(var, result);
    Remember(var, result);
    changed_ = true;
    return result;
  }

  // Casts that an earlier decision needed.
  void DropUnreadCasts() {
    std::vector<int> reads(program_.num_var_ids(), 0);
    for (const Var* var : program_.fetches) ++reads[var->id()];
    ForEachOp(program_, [&](const Op& op) {
      for (const Var* var : op.inputs()) ++reads[var->id()];
    });
    std::vector<bool> dead(program_.num_var_ids(), false);
    for (int id : gone_) dead[id] = true;
    bool any = !gone_.empty();
    for (int b = 0; b < program_.num_blocks(); ++b) {
      std::vector<std::unique_ptr<Op>> ops = program_.block(b).TakeOps();
      std::erase_if(ops, [&](const std::unique_ptr<Op>& op) {
        if (!IsInserted(*op) || IsListedCast(*op) || op->outputs()[0]->kind != VarKind::kTemp || reads[op->outputs()[0]->id()] > 0) return false;
        dead[op->outputs()[0]->id()] = any = true;
        return true;
      });
      program_.block(b).SetOps(std::move(ops));
    }
    for (int b = 0; any && b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead);
    changed_ = changed_ || any;
  }

  void AppendCast(Var* from, Var* to) {
    std::unique_ptr<Op> op = block_->NewOp(cast_def_);
    op->SetInputs(0, {&from, 1});
    op->SetOutputs(0, {&to, 1});
    op->SetAttr("in_dtype", from->type.dtype);
    op->SetAttr("out_dtype", to->type.dtype);
    op->marks.amp = AmpMark::kInserted;
    out_.push_back(std::move(op));
  }

  void Remember(Var* from, Var* to) {
    if (to->kind != VarKind::kTemp) return;
    const int version = versions_.Of(*from);
    copies_[Key(from->id(), to->type.dtype)] = {to, version};
    sources_[to->id()] = {from, version};
  }

  const AmpDecision& decision_;
  Program& program_;
  const OpDef* cast_def_;
  Block* block_ = nullptr;
  std::vector<std::unique_ptr<Op>> out_;            // the block being built
  std::vector<std::pair<Var*, Var*>> trailing_;     // casts behind the current op
  absl::flat_hash_map<Key, Copy> copies_;           // casts of this block by (source, type)
  absl::flat_hash_map<int, Copy> sources_;          // by result of an inserted cast of this block
  absl::flat_hash_map<int, Var*> outdated_;         // by result of an op: the fetch that it defines again
  absl::flat_hash_map<Key, std::deque<Var*>> returned_;  // results of casts that were taken back
  absl::flat_hash_set<int> implicit_;               // of those, what the runtime was to do
  absl::flat_hash_map<int, Var*> earlier_;          // what its readers read instead
  std::vector<int> gone_;                           // their results
  Versions versions_;
  std::vector<bool> fetched_;                       // by Var::id
  absl::flat_hash_map<const Var*, DType> retyped_;  // with the type before: widened results may follow their operands down again
  bool changed_ = false;
};

}  // namespace

PassInfo CastModelPass() {
  return SimplePass("cast-model-to-fp16", "inserts the casts and changes the types that the decision asks for",
                    [](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
                      if (ctx.decision == nullptr) return UsageError("there is no decision to obey: run amp-decide before");
                      return Materializer(*ctx.decision, program).Run();
                    });
}

}  // namespace ampc
