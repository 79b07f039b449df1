#include "passes/amp/cast/cast_parameters.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/implicit_cast.h"
#include "graph/op_registry.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

class ParameterCaster {
 public:
  ParameterCaster(const AmpDecision& decision, WeightTransform transform, Program& program)
      : decision_(decision),
        transform_(transform),
        program_(program),
        replacement_(program.num_var_ids(), nullptr),
        dead_(program.num_var_ids(), false) {}

  absl::StatusOr<bool> Run() {
    bool any = false;
    std::vector<Var*> params;
    ForEachVar(program_, [&](const Var& var) {
      if (IsStored(var) && var.type.dtype == DType::kF32) params.push_back(const_cast<Var*>(&var));
    });
    for (Var* var : params) {
      if (AmpDecision::Has(decision_.low_param, var->id())) {
        AMPC_RETURN_IF_ERROR(StoreLow(*var));
        any = true;
      } else if (AmpDecision::Has(decision_.copy_param, var->id())) {
        copied_.resize(program_.num_var_ids());
        copied_[var->id()] = true;
      }
    }
    for (int b = 0; b < program_.num_blocks(); ++b) any = DropCasts(program_.block(b)) || any;
    AMPC_RETURN_IF_ERROR(status_);
    if (!any) return false;
    for (int b = 0; b < program_.num_blocks(); ++b) Redirect(program_.block(b));
    for (int b = 0; b < program_.num_blocks(); ++b) program_.block(b).RemoveVars(dead_);
    return true;
  }

 private:
  absl::Status StoreLow(Var& var) {
    var.was = var.type.dtype;
    var.type.dtype = decision_.low;
    return Narrow(var, var);
  }

  // Gives `to` the value of `from` in the low type. A literal keeps the original as a weight, for who takes the conversion back.
  absl::Status Narrow(const Var& from, Var& to) {
    if (&from != &to && from.weight != nullptr) to.weight = std::make_unique<WeightRef>(*from.weight);
    if (to.weight == nullptr && from.literal != nullptr) {
      to.weight = std::make_unique<WeightRef>();
      to.weight->source = WeightBuffer(std::string(static_cast<const char*>(from.literal->data()), from.literal->size_bytes()));
      to.weight->bytes = from.literal->size_bytes();
      to.weight->dtype = from.literal->dtype();
    }
    if (to.weight == nullptr) return absl::OkStatus();
    if (const auto mask = decision_.masks.find(from.id()); mask != decision_.masks.end()) StoreMask(mask->second, from, *to.weight);
    to.weight->transforms.push_back(transform_);
    if (from.literal == nullptr) return absl::OkStatus();
    absl::StatusOr<HostTensor> value = LoadWeight(*to.weight, from.literal->dims());
    if (!value.ok()) return Annotate(value.status(), absl::StrCat("const '", from.name(), "'"));
    to.literal = std::make_shared<const HostTensor>(*std::move(value));
    return absl::OkStatus();
  }

  static void StoreMask(const MaskConstant& mask, const Var& from, WeightRef& weight) {
    std::vector<float> values = OriginalFloats(from);
    for (float& value : values) {
      if (value != 0) value = static_cast<float>(mask.stored);
    }
    weight.source = WeightBuffer(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    weight.name.clear();
    weight.offset = 0;
    weight.bytes = values.size() * sizeof(float);
    weight.dtype = DType::kF32;
  }

  // Takes out the inserted casts whose source is stored low now, or gets a low copy; their readers read that.
  bool DropCasts(Block& block) {
    std::vector<std::unique_ptr<Op>> kept;
    bool any = false;
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    kept.reserve(ops.size());
    for (std::unique_ptr<Op>& op : ops) {
      Var* stored = IsInserted(*op) && IsCast(*op) ? StoredFor(*op) : nullptr;
      if (stored == nullptr) {
        kept.push_back(std::move(op));
        continue;
      }
      any = true;
      if (stored != op->outputs()[0]) {
        replacement_[op->outputs()[0]->id()] = stored;
        dead_[op->outputs()[0]->id()] = true;
      }
    }
    block.SetOps(std::move(kept));
    return any;
  }

  // The param or const that holds the result of this cast from now on; null when the cast stays.
  Var* StoredFor(const Op& cast) {
    Var* source = cast.inputs()[0];
    Var* result = cast.outputs()[0];
    if (!IsStored(*source) || result->kind != VarKind::kTemp || result->type.dtype != decision_.low) return nullptr;
    if (source->type.dtype == decision_.low) return source;
    if (!AmpDecision::Has(copied_, source->id())) return nullptr;
    Var*& copy = copies_[source->id()];
    if (copy != nullptr) return copy;
    if (&result->block() == &source->block()) {
      copy = result;
      copy->kind = source->kind;
    } else {
      Block& home = source->block();
      copy = home.AddVar(home.UniqueName(absl::StrCat(source->name(), ".", Name(decision_.low))), source->kind,
                         result->type.WithDType(decision_.low));
    }
    copy->stop_gradient = source->stop_gradient;
    copy->was = source->type.dtype;
    status_.Update(Narrow(*source, *copy));
    return copy;
  }

  // Points readers at what took the place of a cast; an fp32 reader of a weight stored low gets a widening cast.
  void Redirect(Block& block) {
    std::vector<std::unique_ptr<Op>> ops = block.TakeOps();
    std::vector<std::unique_ptr<Op>> out;
    out.reserve(ops.size());
    std::map<int, Var*> widened = Around(block);
    for (std::unique_ptr<Op>& op : ops) {
      if (ListsCasts(decision_, *op)) ListCasts(block, *op, out);
      for (int i = 0; i < static_cast<int>(op->inputs().size()); ++i) {
        Var* var = op->inputs()[i];
        if (Var* other = Replacement(*var)) {
          op->ReplaceInput(i, other);
        } else if (ReadsWide(*op, i)) {
          Var*& wide = widened[var->id()];
          if (wide == nullptr) wide = Widen(block, var, out);
          op->ReplaceInput(i, wide);
          for (const int b : op->SubBlocks()) around_[b].emplace(var->id(), wide);
        }
      }
      out.push_back(std::move(op));
    }
    block.SetOps(std::move(out));
  }

  // By id of a weight: the cast that a control op around the block reads.
  std::map<int, Var*> Around(const Block& block) {
    std::map<int, Var*>& mine = around_[block.index()];
    if (block.parent() >= 0) mine.insert(around_[block.parent()].begin(), around_[block.parent()].end());
    return mine;
  }

  Var* Replacement(const Var& var) const { return var.id() < static_cast<int>(replacement_.size()) ? replacement_[var.id()] : nullptr; }

  bool ReadsWide(const Op& op, int flat) const {
    const Var& var = *op.inputs()[flat];
    if (!IsStored(var) || !IsRetyped(var) || !AmpDecision::Has(decision_.low_param, var.id())) return false;
    const OpDecision& d = decision_.For(op);
    if (IsInserted(op) || d.untouched) return false;
    if (decision_.casts_captures && !op.SubBlocks().empty()) return !d.low;
    const SlotPrecision precision = InputPrecision(decision_, op, op.InputSlotOf(flat));
    return precision != SlotPrecision::kAsIs && !(d.low && precision == SlotPrecision::kFollow);
  }

  // The list of a control op whose body reads low weights has casts of them.
  void ListCasts(Block& block, const Op& op, std::vector<std::unique_ptr<Op>>& out) const {
    for (Var* var : op.inputs()) {
      if (var->kind != VarKind::kParam || !IsRetyped(*var) || !AmpDecision::Has(decision_.low_param, var->id())) continue;
      Widen(block, var, out);
      out.back()->marks.amp_reason = std::string(kListedCast);
    }
  }

  static Var* Widen(Block& block, Var* var, std::vector<std::unique_ptr<Op>>& out) {
    Var* wide =
        block.AddVar(block.UniqueName(absl::StrCat(var->name(), ".", Name(var->was))), VarKind::kTemp, var->type.WithDType(var->was));
    wide->stop_gradient = var->stop_gradient;
    std::unique_ptr<Op> cast = block.NewOp(Ops().Find("cast"));
    cast->SetInputs(0, {&var, 1});
    cast->SetOutputs(0, {&wide, 1});
    cast->SetAttr("in_dtype", var->type.dtype);
    cast->SetAttr("out_dtype", wide->type.dtype);
    cast->marks.amp = AmpMark::kInserted;
    out.push_back(std::move(cast));
    return wide;
  }

  const AmpDecision& decision_;
  WeightTransform transform_;
  Program& program_;
  std::vector<Var*> replacement_;  // by Var::id
  std::vector<bool> dead_;
  std::vector<bool> copied_;
  absl::flat_hash_map<int, Var*> copies_;
  std::map<int, std::map<int, Var*>> around_;  // by block
  absl::Status status_;
};

absl::StatusOr<WeightTransform> ReadTransform(const PassOptions& options) {
  WeightTransform out;
  AMPC_ASSIGN_OR_RETURN(const std::string overflow, ChoiceOption(options, "on_overflow", {"clamp", "keep", "error"}, "clamp"));
  AMPC_ASSIGN_OR_RETURN(out.on_tiny, OnTinyOption(options));
  out.on_overflow = overflow == "clamp" ? OnOverflow::kClamp : overflow == "keep" ? OnOverflow::kKeep : OnOverflow::kError;
  return out;
}

}  // namespace

absl::StatusOr<OnTiny> OnTinyOption(const PassOptions& options) {
  AMPC_ASSIGN_OR_RETURN(const std::string tiny, ChoiceOption(options, "on_tiny", {"subnormal", "flush", "keep"}, "subnormal"));
  return tiny == "subnormal" ? OnTiny::kSubnormal : tiny == "flush" ? OnTiny::kFlush : OnTiny::kKeep;
}

PassInfo CastParametersPass() {
  PassInfo info;
  info.name = "cast-parameters-to-fp16";
  info.summary = "stores the weights low that the decision makes low";
  info.options = {{"on_overflow", "a value beyond the low type's range: clamp (default), keep (infinity), error"},
                  {"on_tiny", "a value below the smallest normal one: subnormal (default), flush, keep (never zero)"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const WeightTransform read, ReadTransform(options));
    return MakePass([read](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
      const AmpDecision* decision = ctx.Find<AmpDecision>();
      if (decision == nullptr) return UsageError("there is no decision to obey: run amp-decide before");
      WeightTransform transform = read;
      transform.to = decision->low;
      return ParameterCaster(*decision, transform, program).Run();
    });
  };
  return info;
}

}  // namespace ampc
