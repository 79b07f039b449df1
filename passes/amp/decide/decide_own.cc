// ampc's own decision: the AMP class of each record, with O1 and O2 as in Paddle 2.6: O1 makes the allow list low and lets the
// neutral ops follow it, O2 makes everything low that is not denied and has a kernel. auto keeps of these fp32 what is slower low.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/amp_region.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"
#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/decide/decide.h"
#include "passes/amp/decide/fastest.h"
#include "passes/amp/decide/io_choice.h"
#include "passes/amp/decide/op_types.h"
#include "passes/amp/decide/paddle_names.h"
#include "passes/amp/decide/plan_choices.h"
#include "passes/amp/decide/predicted_run.h"
#include "passes/amp/decide/selector_choices.h"
#include "passes/amp/protect/rules.h"
#include "passes/analysis/per_record.h"
#include "passes/analysis/schema_support.h"

namespace ampc {
namespace {

enum class Vote : uint8_t { kNeutral, kLow, kHigh };

class OwnDecider {
 public:
  OwnDecider(const DecideOptions& options, const PrecisionSupport& support, const Program& program, SelectorChoices choices, IoChoice io)
      : options_(options),
        support_(support),
        program_(program),
        choices_(std::move(choices)),
        plan_(options.plan),
        io_(std::move(io)),
        roots_(program),
        fetched_(KeepFetches(program, true)),
        functions_(onnx::FunctionBlocks(program)),
        white_(options.white_list.begin(), options.white_list.end()),
        black_(options.black_list.begin(), options.black_list.end()),
        black_vars_(options.black_vars.begin(), options.black_vars.end()),
        vote_(program.num_var_ids(), Vote::kNeutral),
        out_(std::make_unique<AmpDecision>()) {
    for (const ClassRule& rule : options.classes) {
      if (rule.own_op) own_ops_.insert(rule.op);
    }
  }

  std::unique_ptr<AmpDecision> Run() {
    out_->low = options_.low;
    out_->level = options_.level;
    out_->ops.resize(program_.num_op_ids());
    ForEachVar(program_, [this](const Var& var) {
      if (var.kind == VarKind::kState || var.kind == VarKind::kCarry) vote_[var.id()] = Vote::kHigh;
      if (IsLowPrecision(var.type.dtype) && var.kind == VarKind::kFeed && !IsRetyped(var)) vote_[var.id()] = Vote::kLow;
    });
    ForEachOp(program_, [this](const Op& op) {
      out_->ops[op.id()] = Decide(op);
      VoteForResults(op, out_->ops[op.id()]);
      keeps_logs_ = keeps_logs_ || out_->ops[op.id()].rule == kLogRule;
    });
    DecideVars();
    if (options_.level == "auto") MakeFastest();
    SettlePassedOn();
    if (keeps_logs_) NoteLogs();
    return std::move(out_);
  }

  // The user's requests.
  absl::Status Report(std::vector<std::string>* notes) const {
    notes->insert(notes->end(), notes_.begin(), notes_.end());
    for (const std::string& type : without_kernel_) {
      notes->push_back(absl::StrCat("op '", type, "' is in the white list, but the target '", support_.target(), "' has no ",
                                    Name(options_.low), " kernel for it: it stays fp32"));
    }
    plan_.Report(notes);
    return choices_.Finish(notes);
  }

 private:
  // The user's requests stay.
  bool MayBeFp32(const Op& op) {
    const absl::string_view rule = out_->For(op).rule;
    const bool planned = options_.plan != nullptr && options_.plan->For(op) != nullptr;
    return !planned && rule != "include" && rule != "white-list" && Level(op) == "auto";
  }

  void MakeFastest() {
    const PredictedRun o2 = Predict(program_, *out_, *options_.time);
    ChooseFastest(
        program_, *options_.time, io_, [this](const Op& op) { return MayBeFp32(op); }, options_.penalty, out_.get());
    DecideVars();
    const PredictedRun chosen = Predict(program_, *out_, *options_.time);
    const std::string& feeds = options_.time->feeds();
    notes_.push_back(
        absl::StrFormat("auto: a run on %s%s is predicted to take %.3g ms in fp32, %.3g ms at O2 (%d casts) and %.3g ms as "
                        "chosen (%d casts)",
                        options_.time->device().name, feeds.empty() ? "" : absl::StrCat(" with ", feeds), o2.fp32 * 1e3, o2.mixed * 1e3,
                        o2.casts, chosen.mixed * 1e3, chosen.casts));
  }

  // A model that is a spectrum's front and little else.
  void NoteLogs() {
    double kept = 0, rest = 0;
    ForEachOp(program_, [&](const Op& op) {
      if (ClassOf(op) != AmpClass::kAllow) return;
      (out_->For(op).rule == kLogRule ? kept : rest) += CostOf(op).flops;
    });
    if (kept <= rest) return;
    notes_.push_back(absl::StrCat("most of the work leads to a logarithm of small values and stays fp32: ", Name(options_.low),
                                  " brings this model little"));
  }

  static OpDecision Fp32(absl::string_view rule, absl::string_view reason) { return {false, false, rule, reason}; }
  static OpDecision Low(absl::string_view rule, absl::string_view reason) { return {true, false, rule, reason}; }
  static OpDecision Untouched(absl::string_view rule, absl::string_view reason) { return {false, true, rule, reason}; }

  OpDecision Decide(const Op& op) {
    if (IsInserted(op)) return Untouched("inserted", "a cast of AMP's own");
    if (PassesOn(op)) return plan_.Decide(op, true, PassOn(op));
    const OpDecision never = Never(op);
    const OpDecision hard = never.rule.empty() ? Impossible(op) : never;
    const bool possible = hard.rule.empty();
    if (choices_.Included(op) == nullptr) return plan_.Decide(op, possible, never.rule.empty() ? ByRules(op, hard) : never);
    return plan_.Decide(op, possible, choices_.Include(op, possible, possible ? ByRules(op, hard) : hard, out_.get()));
  }

  // The result of such a cast is low where its operand is: a cast back to f32 and one to low behind it change no value, and there are
  // runtimes that cannot load them (tools/docs/runtime_faults.md).
  bool PassesOn(const Op& op) const {
    return IsIdentityCast(op, roots_) && !fetched_[op.outputs()[0]->id()] && !functions_[op.block().index()];
  }
  OpDecision PassOn(const Op& op) const {
    const Var& root = roots_.Root(*op.inputs()[0]);
    const bool low = vote_[root.id()] == Vote::kLow || AmpDecision::Has(out_->low_var, root.id());
    if (!low || !ByUser(op).rule.empty() || op.marks.amp == AmpMark::kFp32) return Fp32("cast", "the program asks for this type");
    return Following(root, Low("cast", "passes on a value that is low"));
  }
  // Which feeds are low, and which results low ops read, is known once all ops are decided. One that fp32 ops alone read widens for them.
  void SettlePassedOn() {
    std::vector<bool> read_low(program_.num_var_ids(), false);
    std::vector<const Op*> casts;
    ForEachOp(program_, [&](const Op& op) {
      OpDecision& d = out_->ops[op.id()];
      if (d.rule == "cast" && PassesOn(op)) {
        casts.push_back(&op);
        if (roots_.Root(*op.inputs()[0]).kind == VarKind::kFeed) d = PassOn(op);
      } else if (d.low) {
        for (const Var* var : op.inputs()) read_low[roots_.Root(*var).id()] = true;
      }
    });
    for (auto it = casts.rbegin(); it != casts.rend(); ++it) {
      OpDecision& d = out_->ops[(*it)->id()];
      if (!read_low[(*it)->outputs()[0]->id()]) d = Fp32("cast", "the program asks for this type");
      if (d.low) read_low[roots_.Root(*(*it)->inputs()[0]).id()] = true;
    }
  }

  // Ops that there is nothing to decide about.
  OpDecision Never(const Op& op) const {
    if (functions_[op.block().index()]) return Untouched("function", "the model's own functions are written as they are");
    if (IsCast(op)) return Untouched("cast", "the program asks for this type");
    if (op.def().opaque && !IsOwnOp(op)) return Fp32("opaque", op.def().amp_reason);
    if (ClassOf(op) == AmpClass::kNever) return Fp32("never", op.def().amp_reason);
    if (!HasFloatResult(op)) return Untouched("not-float", "produces no float; takes operands of any type");
    return {};
  }

  // Ops that no request makes low.
  OpDecision Impossible(const Op& op) {
    if (HasF64(op)) return Fp32("f64", "an operand is f64");
    if (const Var* unknown = UnknownOperand(op, options_.low))
      return Fp32("unknown", out_->Keep(absl::StrCat("nothing says which type ", unknown->name(), " has")));
    if (!HasFloatOperand(op)) return Fp32("creation", "it makes a value of the type that the program asks for");
    if (OverwritesFloatState(op)) return Fp32("state", "it overwrites a value that is kept between runs");
    const auto supports = [this](const OpDef& def) { return support_.Supports(def.name, options_.low); };
    if (supported_.Of(op.def(), supports) || IsOwnOp(op)) return {};
    if (std::string why = support_.WhyNot(op.def().name, options_.low); !why.empty()) return Fp32("runtime", out_->Keep(std::move(why)));
    return Fp32("no-kernel", out_->Keep(absl::StrCat("target '", support_.target(), "' has no ", Name(options_.low), " kernel")));
  }

  OpDecision ByRules(const Op& op, const OpDecision& hard) {
    OpDecision user = ByUser(op);
    if (!user.rule.empty()) return user;
    if (op.marks.amp == AmpMark::kFp32) return Marked(op);
    if (Level(op) == "O0") return Fp32("O0", options_.level == "O0" ? "nothing becomes low outside of regions" : "in a region of level O0");
    if (options_.guard && op.marks.guard == 0) return Fp32("guard", "outside of every fp16_guard");
    const bool white = Names(white_, op);
    if (white && (hard.rule == "no-kernel" || hard.rule == "runtime")) without_kernel_.insert(std::string(onnx::TypeName(op.def())));
    if (!hard.rule.empty()) return hard;
    if (white) return Low("white-list", "in the white list");
    return ByClass(op, ClassOf(op));
  }

  AmpClass ClassOf(const Op& op) const {
    if (!options_.classes.empty()) {
      if (const AmpClass* request = FindClass(options_.classes, op)) return *request;
    }
    return AmpClassOf(op);
  }
  bool IsOwnOp(const Op& op) const { return Names(own_ops_, op); }
  // A list names an op by its type, in ONNX's words or ours.
  static bool Names(const NameSet& list, const Op& op) {
    return !list.empty() && (list.contains(op.type()) || list.contains(onnx::TypeName(op.def())));
  }
  // The level of the innermost amp::Scope that the op stands in, else the program's.
  absl::string_view Level(const Op& op) {
    if (op.attrs().empty()) return options_.level;
    scope_level_ = AmpRegionLevel(op.GetString("op_namescope"));
    return scope_level_.empty() ? options_.level : scope_level_;
  }

  OpDecision ByUser(const Op& op) const {
    if (Names(black_, op)) return Fp32("black-list", "in the black list");
    if (!black_vars_.empty()) {
      for (absl::Span<Var* const> side : {op.inputs(), op.outputs()}) {
        for (const Var* var : side) {
          const Var& root = roots_.Root(*var);
          if (black_vars_.contains(root.exported()) || black_vars_.contains(var->exported())) {
            return Fp32("black-vars", out_->Keep(absl::StrCat("it touches '", root.exported(), "'")));
          }
        }
      }
    }
    const Selector* excluded = choices_.Excluded(op);
    return excluded == nullptr ? OpDecision() : Fp32("exclude", out_->Keep(absl::StrCat("selected by '", excluded->text, "'")));
  }

  OpDecision Marked(const Op& op) const {
    absl::string_view text;
    const Rule* rule = RuleOfMark(op.marks.amp_reason, &text);
    return rule != nullptr ? Fp32(rule->id, out_->Keep(std::string(text))) : Fp32("marked", out_->Keep(op.marks.amp_reason));
  }

  OpDecision ByClass(const Op& op, AmpClass amp) {
    const absl::string_view reason = op.def().amp_reason;
    const bool o2 = Level(op) != "O1";
    switch (amp) {
      case AmpClass::kAllow: return Low("allow", reason);
      case AmpClass::kDeny: return Fp32("deny", reason);
      case AmpClass::kInfer:
        if (OnlyWeights(op)) return Fp32("weights", "computed from weights alone, once");
        return o2 && !options_.promote ? Low("infer", reason) : Follow(op, "infer");
      case AmpClass::kClear:
        if (OnlyWeights(op)) return Low("clear", "moves a weight");
        return Follow(op, "clear");
      case AmpClass::kWidest: return Follow(op, "widest");
      case AmpClass::kNever: break;
    }
    return Fp32("never", reason);
  }

  static OpDecision Following(const Var& var, OpDecision d) { return {d.low, d.untouched, d.rule, d.reason, d.converts, &var}; }
  OpDecision Follow(const Op& op, absl::string_view rule) const {
    const Var* low = nullptr;
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      if (!Votes(op, i)) continue;
      const Var& root = roots_.Root(*op.inputs()[i]);
      if (vote_[root.id()] == Vote::kHigh) return Following(root, Fp32(rule, out_->Keep(absl::StrCat("follows fp32 value ", root.name()))));
      if (vote_[root.id()] == Vote::kLow && low == nullptr) low = &root;
    }
    if (low != nullptr) return Following(*low, Low(rule, out_->Keep(absl::StrCat("follows low value ", low->name()))));
    return Fp32(rule, "no operand is low");
  }

  bool Votes(const Op& op, int flat) const {
    return op.inputs()[flat]->type.IsFloat() &&
           (IsOwnOp(op) || InputPrecisionFor(op.def(), op.InputSlotOf(flat), options_.low) == SlotPrecision::kFollow);
  }

  bool OnlyWeights(const Op& op) const {
    return !AnyVoter(op, [this](const Var& var) { return !IsStored(roots_.Root(var)); });
  }
  bool HasFloatOperand(const Op& op) const {
    return AnyVoter(op, [](const Var&) { return true; });
  }
  bool HasF64(const Op& op) const {
    return AnyVoter(op, [](const Var& var) { return var.type.dtype == DType::kF64; });
  }
  template <typename Holds>
  bool AnyVoter(const Op& op, Holds holds) const {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      if (Votes(op, i) && holds(*op.inputs()[i])) return true;
    }
    return false;
  }

  // The types of results, for the ops that follow them. A value made from no data has none to tell.
  void VoteForResults(const Op& op, const OpDecision& d) {
    if (IsInserted(op)) return;
    const bool from_float = IsCast(op) ? op.inputs()[0]->type.IsFloat() : HasFloatOperand(op);
    const Rule* rule = IsProtectMark(d.rule) ? FindRule(d.rule) : nullptr;
    const bool neutral = !from_float || (rule != nullptr && !rule->followers) || d.rule == "weights";
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      const Var& var = *op.outputs()[i];
      if (var.kind != VarKind::kTemp) continue;
      const bool follows =
          IsOwnOp(op) || IsCast(op) || OutputPrecisionFor(op.def(), op.OutputSlotOf(i), options_.low) == SlotPrecision::kFollow;
      const bool low = (d.low && follows) || (!d.low && IsLowPrecision(var.type.dtype));
      vote_[var.id()] = neutral ? Vote::kNeutral : low ? Vote::kLow : Vote::kHigh;
    }
  }

  // A result of a subgraph that has the name of an outer value in the file: checkers take the outer one's type for its.
  void KeepHiding(const Op& yield) {
    for (const Var* var : yield.inputs()) {
      if (!var->export_name.empty()) out_->keep_var[var->id()] = true;
    }
  }

  void DecideVars() {
    const int n = program_.num_var_ids();
    std::vector<bool> read_low(n, false), read_high(n, false);
    out_->keep_var.assign(n, false);
    ForEachOp(program_, [&](const Op& op) {
      const OpDecision& d = out_->For(op);
      for (const Var* var : op.outputs()) read_high[var->id()] = true;
      if (op.type() == onnx::kYield) KeepHiding(op);
      if (IsInserted(op)) return;
      for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
        const Var& root = roots_.Root(*op.inputs()[i]);
        if (IsStored(root) && ListsForBodies(op, i)) continue;
        const bool low = d.low && InputPrecision(*out_, op, op.InputSlotOf(i)) == SlotPrecision::kFollow;
        (low ? read_low : read_high)[root.id()] = true;
      }
    });
    out_->low_var.assign(n, false);
    for (const Var* var : program_.fetches) {
      const IoChoice::Request request = io_.For(*var);
      if (request == IoChoice::Request::kKeep) out_->keep_var[var->id()] = true;
      if (request == IoChoice::Request::kLow && var->kind == VarKind::kTemp) out_->low_var[var->id()] = true;
      if (IsStored(*var)) read_high[var->id()] = true;
    }
    out_->low_param.assign(n, false);
    out_->copy_param.assign(n, false);
    ForEachVar(program_, [&](const Var& var) {
      if (var.type.dtype != DType::kF32) return;
      const int id = var.id();
      if (var.kind == VarKind::kFeed) {
        const IoChoice::Request request = io_.For(var);
        out_->low_var[id] = request == IoChoice::Request::kLow || (request == IoChoice::Request::kMayBeLow && read_low[id]);
      }
      if (!IsStored(var)) return;
      out_->low_param[id] = read_low[id] && !read_high[id];
      out_->copy_param[id] = read_low[id] && read_high[id];
    });
  }

  const DecideOptions& options_;
  const PrecisionSupport& support_;
  PerRecord<bool> supported_;
  const Program& program_;
  SelectorChoices choices_;
  PlanChoices plan_;
  IoChoice io_;
  CastRoots roots_;
  const std::vector<bool> fetched_;    // by Var::id
  const std::vector<bool> functions_;  // by block
  NameSet white_, black_, black_vars_, own_ops_;
  std::vector<Vote> vote_;  // by Var::id
  std::string scope_level_;
  bool keeps_logs_ = false;
  std::set<std::string> without_kernel_;
  std::vector<std::string> notes_;
  std::unique_ptr<AmpDecision> out_;
};

}  // namespace

std::unique_ptr<AmpDecision> DecideNothing(const DecideOptions& options, const Program& program) {
  auto out = std::make_unique<AmpDecision>();
  out->low = options.low;
  out->level = "O0";
  out->ops.assign(program.num_op_ids(), {false, true, "O0", "nothing becomes low at O0"});
  return out;
}

DecisionOr DecideOwn(const DecideOptions& options, const PrecisionSupport& support, const Program& program,
                     std::vector<std::string>* notes) {
  if (options.level == "OD") return UsageError("level OD exists with a Paddle mode only; use O0, O1 or O2");
  AMPC_RETURN_IF_ERROR(CheckKnown(options.white_list, options.black_list, options.classes, program));
  // The plan has the results of selectors; in a model with other names they may find nothing.
  static const std::vector<Selector>* const kNone = new std::vector<Selector>;
  const bool plan = options.plan != nullptr;
  AMPC_ASSIGN_OR_RETURN(SelectorChoices choices,
                        SelectorChoices::Make(plan ? *kNone : options.include, plan ? *kNone : options.exclude, program));
  AMPC_ASSIGN_OR_RETURN(IoChoice io, IoChoice::Make(options, program));
  OwnDecider decider(options, support, program, std::move(choices), std::move(io));
  std::unique_ptr<AmpDecision> out = decider.Run();
  AMPC_RETURN_IF_ERROR(decider.Report(notes));
  return out;
}

}  // namespace ampc
