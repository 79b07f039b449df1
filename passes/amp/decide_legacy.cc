// Paddle up to 2.4. O1 colours the ops of the main block: black and white by list, the gray ones by their producers, where
// fp32 dominates. O2 makes low what is supported, values and all: feeds and parameters that a low op reads change type.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "passes/amp/cast_roots.h"
#include "passes/amp/decide.h"
#include "passes/amp/paddle_names.h"

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

std::unique_ptr<AmpDecision> NewDecision(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  auto out = std::make_unique<AmpDecision>();
  out->low = options.low;
  out->level = options.level;
  out->own_slots = false;
  out->inputs = policy.inputs;
  out->outputs = policy.outputs;
  out->widen_native = true;
  out->ops.assign(program.num_op_ids(), {false, true, "", ""});
  return out;
}

bool IsReader(const Op& op) { return op.type() == "create_py_reader" || op.type() == "read"; }

enum class Color : uint8_t { kNone, kBlack, kWhite };

absl::StatusOr<Color> GrayColor(const Op& op, const Lists& lists, const PaddleNames& names, const CastRoots& roots, const std::vector<Color>& colors) {
  bool white = false;
  for (const Var* operand : op.inputs()) {
    const Var& var = roots.Root(*operand);
    const Op* producer = names.last_writer(var);
    if (producer == &op) {
      bool several = false;
      producer = names.WriterBefore(var, op, &several);
      if (several) {
        return BadInputError(absl::StrCat(Describe(op), ": several ops before it write '", var.exported(),
                                          "', this mode needs exactly one to decide which type it has"));
      }
    }
    if (producer == nullptr) continue;
    const Color color = colors[producer->id()];
    if (color == Color::kBlack || lists.black.contains(producer->type())) return Color::kBlack;
    white = white || color == Color::kWhite || lists.white.contains(producer->type());
  }
  return white ? Color::kWhite : Color::kNone;
}

}  // namespace

DecisionOr DecideLegacyO1(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  const Lists lists(options, policy);
  const CastRoots roots(program);
  const PaddleNames names(program);
  const NameSet black_vars(options.black_vars.begin(), options.black_vars.end());
  std::unique_ptr<AmpDecision> out = NewDecision(options, policy, program);
  std::vector<Color> colors(program.num_op_ids(), Color::kNone);
  const auto named = [&](const Op& op) {
    for (const Var* var : op.inputs()) {
      if (black_vars.contains(roots.Root(*var).exported())) return true;
    }
    for (const Var* var : op.outputs()) {
      if (black_vars.contains(var->exported())) return true;
    }
    return false;
  };
  absl::Status status;
  for (const std::unique_ptr<Op>& owned : program.main().ops()) {
    const Op& op = *owned;
    OpDecision& d = out->ops[op.id()];
    if (IsReader(op) || IsInserted(op)) continue;
    Color color = Color::kBlack;
    d.rule = "unlisted";
    if (!black_vars.empty() && named(op)) {
      d.rule = "black-vars";
    } else if (lists.black.contains(op.type())) {
      d.rule = "black";
    } else if (lists.white.contains(op.type())) {
      d.rule = "white";
      color = Color::kWhite;
    } else if (lists.gray.contains(op.type())) {
      d.rule = "gray";
      const absl::StatusOr<Color> gray = GrayColor(op, lists, names, roots, colors);
      if (!gray.ok()) return gray.status();
      color = *gray;
    }
    colors[op.id()] = color;
    d.low = color == Color::kWhite;
    d.untouched = color == Color::kNone;
  }
  // Bodies are not looked at; what they read stays what they were built for.
  for (int b = 1; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) out->ops[op->id()] = {false, IsInserted(*op), "body", ""};
  }
  out->keep_var = KeepFetches(program, true);
  return out;
}

DecisionOr DecideLegacyO2(const DecideOptions& options, const PaddlePolicy& policy, const Program& program) {
  const Lists lists(options, policy);
  const CastRoots roots(program);
  std::unique_ptr<AmpDecision> out = NewDecision(options, policy, program);
  const auto kept = [&](const Op& op) -> std::string {
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
      if ((var.kind == VarKind::kFeed && !keep_feeds) || var.kind == VarKind::kCarry || var.kind == VarKind::kState) out->low_var[var.id()] = true;
    }
  });
  return out;
}

}  // namespace ampc
