// Paddle up to 2.4. O1 colours the ops of the main block: black and white by list, the gray ones by their producers, where
// fp32 dominates. O2 makes low what is supported, values and all: feeds and parameters that a low op reads change type.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "passes/amp/decide/cast_roots.h"
#include "passes/amp/decide/decide.h"
#include "passes/amp/decide/paddle_names.h"

namespace ampc {
namespace {

struct Lists {
  NameSet white, black, gray, unsupported, kernels, custom_black;

  Lists(const DecideOptions& options, const PaddlePolicy& policy)
      : white(Words(policy.white_f16)),
        black(Words(policy.black)),
        gray(Words(policy.gray)),
        unsupported(Words(policy.unsupported)),
        kernels(Words(policy.kernels_f16)) {
    const NameSet lifts = Words(policy.white_lifts_unsupported);
    for (const std::string& type : options.white_list) {
      if (black.erase(type) == 0) gray.erase(type);
      white.insert(type);
      if (lifts.contains(type)) kernels.insert(type);
    }
    for (const std::string& type : options.black_list) {
      if (white.erase(type) == 0) gray.erase(type);
      black.insert(type);
      custom_black.insert(type);
    }
  }

  bool Unsupported(const std::string& type) const {
    if (custom_black.contains(type) || unsupported.contains(type)) return true;
    return !kernels.empty() && !kernels.contains(type);
  }
};

bool IsReader(const Op& op) { return op.type() == "create_py_reader" || op.type() == "read"; }

enum class Color : uint8_t { kNone, kBlack, kWhite };

// O1: colours of the main block's ops.
class Colorist {
 public:
  Colorist(const DecideOptions& options, const PaddlePolicy& policy, const Program& program)
      : lists_(options, policy),
        roots_(program),
        names_(program, IsLoaded(program)),
        loaded_(IsLoaded(program)),
        no_producers_(loaded_ && policy.loaded_has_no_producers),
        black_vars_(options.black_vars.begin(), options.black_vars.end()),
        colors_(program.num_op_ids(), Color::kNone) {}

  // The next op in program order; `rule` says why.
  absl::StatusOr<Color> Next(const Op& op, absl::string_view* rule) {
    absl::StatusOr<Color> color = Color::kBlack;
    *rule = "unlisted";
    if (!black_vars_.empty() && Named(op)) {
      *rule = "black-vars";
    } else if (lists_.black.contains(op.type())) {
      *rule = "black";
    } else if (lists_.white.contains(op.type())) {
      *rule = "white";
      color = Color::kWhite;
    } else if (lists_.gray.contains(op.type())) {
      *rule = "gray";
      color = Gray(op);
    }
    if (color.ok()) colors_[op.id()] = *color;
    return color;
  }

 private:
  bool Named(const Op& op) const {
    for (const Var* var : op.inputs()) {
      if (black_vars_.contains(roots_.Root(*var).exported())) return true;
    }
    for (const Var* var : op.outputs()) {
      if (black_vars_.contains(var->exported())) return true;
    }
    return false;
  }

  // By the producers of the operands: fp32 dominates; kNone without any.
  absl::StatusOr<Color> Gray(const Op& op) const {
    bool white = false;
    for (const Var* operand : op.inputs()) {
      const Var& var = roots_.Root(*operand);
      if (loaded_ && var.kind == VarKind::kFeed) return Color::kBlack;  // a feed op is in no list
      const Op* producer = no_producers_ ? nullptr : names_.producer(var);
      if (producer == &op) {
        bool several = false;
        producer = names_.WriterBefore(var, op, &several);
        if (several) {
          return BadInputError(absl::StrCat(Describe(op), ": several ops before it write '", var.exported(),
                                            "', this mode needs exactly one to decide which type it has"));
        }
      }
      if (producer == nullptr) continue;
      const Color color = colors_[producer->id()];
      if (color == Color::kBlack || lists_.black.contains(producer->type())) return Color::kBlack;
      white = white || color == Color::kWhite || lists_.white.contains(producer->type());
    }
    return white ? Color::kWhite : Color::kNone;
  }

  const Lists lists_;
  const CastRoots roots_;
  const PaddleNames names_;
  const bool loaded_, no_producers_;
  const NameSet black_vars_;
  std::vector<Color> colors_;  // by Op::id
};

// O1 leaves a body alone; the ops stay what they were built for. The runtime converts where the control op lists casts,
// and where it lists the values themselves each op of the body gets its casts.
void DecideBody(const Program& program, int body, bool converts, AmpDecision* out) {
  for (const std::unique_ptr<Op>& op : program.block(body).ops()) {
    OpDecision& d = out->ops[op->id()];
    d = {false, converts || IsInserted(*op), "body", ""};
    d.converts = converts;
    for (const int b : op->SubBlocks()) DecideBody(program, b, converts, out);
  }
}

}  // namespace

std::unique_ptr<AmpDecision> NewDecision(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  auto out = std::make_unique<AmpDecision>();
  out->low = options.low;
  out->level = options.level;
  out->own_slots = false;
  out->inputs = policy.inputs;
  out->outputs = policy.outputs;
  out->widen_native = true;
  out->lists_casts = policy.lists_casts;
  out->ops.assign(program.num_op_ids(), {false, true, "", ""});
  return out;
}

DecisionOr DecideLegacyO1(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  Colorist colorist(options, policy, program);
  std::unique_ptr<AmpDecision> out = NewDecision(options, policy, program);
  const NameSet lists_casts = Words(policy.lists_casts);
  out->low_var.assign(program.num_var_ids(), false);
  for (const std::unique_ptr<Op>& owned : program.main().ops()) {
    const Op& op = *owned;
    OpDecision& d = out->ops[op.id()];
    if (IsReader(op) || IsInserted(op)) continue;
    const absl::StatusOr<Color> color = colorist.Next(op, &d.rule);
    if (!color.ok()) return color.status();
    d.low = *color == Color::kWhite;
    d.untouched = d.converts = *color == Color::kNone;
    for (const int b : op.SubBlocks()) DecideBody(program, b, lists_casts.contains(op.type()), out.get());
    // A low op changes the declared type of what it writes, whoever writes it too.
    for (int i = 0; d.low && i < static_cast<int>(op.outputs().size()); ++i) {
      const Var& var = *op.outputs()[i];
      const bool follows = SlotMayBeLow(policy.outputs, op.type(), op.def().outputs[op.OutputSlotOf(i)].name);
      if (var.kind == VarKind::kCarry && follows) out->low_var[var.id()] = true;
    }
  }
  out->keep_var = KeepFetches(program, true);
  return out;
}

DecisionOr DecideLegacyO2(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  const Lists lists(options, policy);
  const CastRoots roots(program);
  std::unique_ptr<AmpDecision> out = NewDecision(options, policy, program);
  const auto kept = [&](const Op& op) -> absl::string_view {
    if (lists.Unsupported(op.type())) return "unsupported";
    const auto rate = [](const Var& var) { return absl::StrContains(var.exported(), "learning_rate"); };
    for (const Var* var : op.inputs()) {
      if (rate(roots.Root(*var))) return "learning-rate";
    }
    for (const Var* var : op.outputs()) {
      if (rate(*var)) return "learning-rate";
    }
    return options.guard && op.marks.guard == 0 ? "guard" : "";
  };
  out->keep_var = KeepFetches(program, lists.Unsupported("fetch"));
  out->low_var.assign(program.num_var_ids(), false);
  out->low_param.assign(program.num_var_ids(), false);
  // A program with a signature has the ops `feed` and `fetch`; a feed op that stays fp32 keeps what it defines.
  const bool keep_feeds = !program.fetches.empty() && lists.Unsupported("feed");
  ForEachOp(program, [&](const Op& op) {
    OpDecision& d = out->ops[op.id()];
    if (IsReader(op) || IsInserted(op)) return;
    d.rule = kept(op);
    d.untouched = false;
    d.low = d.rule.empty();
    if (!d.low) return;
    d.rule = "O2";
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const Var& var = roots.Root(*op.inputs()[i]);
      if (var.type.dtype != DType::kF32) continue;
      if (!SlotMayBeLow(policy.inputs, op.type(), op.def().inputs[op.InputSlotOf(i)].name)) continue;
      if (var.kind == VarKind::kParam) out->low_param[var.id()] = true;
      if ((var.kind == VarKind::kFeed && !keep_feeds) || var.kind == VarKind::kCarry || var.kind == VarKind::kState)
        out->low_var[var.id()] = true;
    }
  });
  return out;
}

}  // namespace ampc
