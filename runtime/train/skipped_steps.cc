#include "runtime/train/skipped_steps.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/append_op.h"

namespace ampc {
namespace {

using Ops = std::vector<std::unique_ptr<Op>>;

constexpr char kSkip[] = "SkipUpdate";

bool InUpdate(const Op& op) { return (RoleOf(op) & (kRoleOptimize | kRoleLearningRate)) != 0; }

bool IsKept(const Var& var) { return (var.kind == VarKind::kParam || var.kind == VarKind::kState) && var.type.kind == TypeKind::kTensor; }

// Ops appended by `append` to the main block, spliced in at `at`.
template <typename F>
absl::Status InsertAt(Block& block, size_t at, F append) {
  const size_t before = block.ops().size();
  AMPC_RETURN_IF_ERROR(append());
  Ops ops = block.TakeOps();
  std::rotate(ops.begin() + static_cast<int64_t>(at), ops.begin() + static_cast<int64_t>(before), ops.end());
  block.SetOps(std::move(ops));
  return absl::OkStatus();
}

absl::StatusOr<Var*> Append(Block& block, absl::string_view type, const SlotVars& operands, absl::string_view base, std::vector<Attr> attrs,
                            int32_t role) {
  Var* out = NewTemp(block, base);
  out->stop_gradient = true;
  AMPC_RETURN_IF_ERROR(AppendOp(block, type, operands, {{"Out", {out}}}, std::move(attrs), role).status());
  return out;
}

absl::StatusOr<Var*> AppendZero(Block& block, Var* loss) {
  if (loss->type.dtype != DType::kF32) {
    AMPC_ASSIGN_OR_RETURN(loss, Append(block, "cast", {{"X", {loss}}}, absl::StrCat(loss->name(), ".wide"),
                                       {{"in_dtype", loss->type.dtype}, {"out_dtype", DType::kF32}}, kRoleBackward));
  }
  AMPC_ASSIGN_OR_RETURN(Var * zero,
                        Append(block, "scale", {{"X", {loss}}}, absl::StrCat(loss->name(), ".zero"), {{"scale", 0.0f}}, kRoleBackward));
  if (zero->type.rank() == 1) return zero;
  return Append(block, "reshape2", {{"X", {zero}}}, zero->name(), {{"shape", std::vector<int32_t>{1}}}, kRoleBackward);
}

absl::StatusOr<Var*> AppendBad(Block& block, Var* zero) {
  const auto& ops = block.ops();
  if (std::any_of(ops.begin(), ops.end(), [](const auto& op) { return op->type() == "c_allreduce_sum"; })) {
    AMPC_ASSIGN_OR_RETURN(zero, Append(block, "c_allreduce_sum", {{"X", {zero}}}, zero->name(), {}, kRoleOptimize));
  }
  AMPC_ASSIGN_OR_RETURN(Var * finite, Append(block, "isfinite_v2", {{"X", {zero}}}, "loss.finite", {}, kRoleOptimize));
  return Append(block, "logical_not", {{"X", {finite}}}, "loss.bad", {}, kRoleOptimize);
}

absl::StatusOr<Var*> AnyOf(Block& block, const std::vector<Var*>& flags) {
  Var* any = flags[0];
  for (size_t i = 1; i < flags.size(); ++i) {
    AMPC_ASSIGN_OR_RETURN(any, Append(block, "logical_or", {{"X", {any}}, {"Y", {flags[i]}}}, "skip", {}, kRoleOptimize));
  }
  return any;
}

// Sets of checks as bits; from the 64th on they count as one.
uint64_t Bit(size_t check) { return uint64_t{1} << std::min<size_t>(check, 63); }

absl::Status PutBack(Block& block, const PutBackState& entry, Var* kept) {
  Var* state = block.FindVar(entry.state);
  std::vector<Var*> flags;
  for (const std::string& name : entry.flags) flags.push_back(block.FindVar(name));
  AMPC_ASSIGN_OR_RETURN(Var * any, AnyOf(block, flags));
  std::vector<int32_t> shape(state->type.dims.begin(), state->type.dims.end());
  const char* spread = shape.empty() ? "reshape2" : "expand_v2";
  AMPC_ASSIGN_OR_RETURN(Var * all, Append(block, spread, {{"X", {any}}}, "skip.all", {{"shape", std::move(shape)}}, kRoleOptimize));
  AMPC_ASSIGN_OR_RETURN(Var * value, Append(block, "where", {{"Condition", {all}}, {"X", {kept}}, {"Y", {state}}},
                                            absl::StrCat(entry.state, ".next"), {}, kRoleOptimize));
  return AppendOp(block, "assign", {{"X", {value}}}, {{"Out", {state}}}, {}, kRoleOptimize).status();
}

}  // namespace

absl::StatusOr<LossCheck> SkipWithoutLoss(Program& main, const std::string& loss) {
  Block& block = main.main();
  Var* var = block.FindVar(loss);
  if (var == nullptr || !var->type.IsFloat() || var->type.NumElements() != 1) {
    return UsageError(absl::StrCat("loss: found '", loss, "'",
                                   var == nullptr ? ", which the program does not have" : absl::StrCat(" (", ToString(var->type), ")"),
                                   ", needed a float value of one element"));
  }
  size_t after = 0, update = 0;
  for (size_t i = 0; i < block.ops().size(); ++i) {
    const auto outputs = block.ops()[i]->outputs();
    if (std::find(outputs.begin(), outputs.end(), var) != outputs.end()) after = i + 1;
  }
  Var *zero = nullptr, *bad = nullptr;
  AMPC_RETURN_IF_ERROR(InsertAt(block, after, [&]() -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(zero, AppendZero(block, var));
    return absl::OkStatus();
  }));
  for (update = after; update < block.ops().size() && !InUpdate(*block.ops()[update]); ++update) continue;
  AMPC_RETURN_IF_ERROR(InsertAt(block, update, [&]() -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(bad, AppendBad(block, zero));
    return absl::OkStatus();
  }));
  absl::flat_hash_map<Var*, Var*> joined;
  for (size_t i = update; i < block.ops().size(); ++i) {
    Op& op = *block.ops()[i];
    const int slot = op.def().InputSlot(kSkip);
    if (slot < 0) continue;
    Var* had = op.input(slot);
    Var*& skip = joined[had];
    if (skip == nullptr && had == nullptr) skip = bad;
    if (skip == nullptr) {
      AMPC_RETURN_IF_ERROR(InsertAt(block, i++, [&]() -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(skip, AnyOf(block, {had, bad}));
        return absl::OkStatus();
      }));
    }
    op.SetInputs(slot, {skip});
  }
  return LossCheck{zero->name(), bad->name()};
}

std::vector<PutBackState> StatesToPutBack(const Program& main, const std::string& bad) {
  std::vector<std::string> flags;
  std::vector<uint64_t> sees(main.num_var_ids(), 0);  // by Var::id: the checks that see something of it
  absl::flat_hash_map<std::string, uint64_t> written;
  std::vector<std::string> order;
  ForEachOp(main, [&](const Op& op) {
    if (op.type() == "check_finite_and_unscale") flags.push_back(op.output("FoundInfinite")->name());
    for (const Var* var : op.outputs()) {
      if (!InUpdate(op) && IsKept(*var) && written.try_emplace(var->name(), 0).second) order.push_back(var->name());
    }
  });
  size_t check = flags.size();
  const auto& ops = main.main().ops();
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    uint64_t seen = (*op)->type() == "check_finite_and_unscale" ? Bit(--check) : 0;
    for (const Var* var : (*op)->outputs()) seen |= sees[var->id()];
    for (const Var* var : (*op)->inputs()) sees[var->id()] |= seen;
    for (const Var* var : (*op)->outputs()) {
      if (const auto it = written.find(var->name()); it != written.end() && !InUpdate(**op)) it->second |= seen;
    }
  }
  std::vector<PutBackState> out;
  for (std::string& name : order) {
    PutBackState entry{std::move(name), {}};
    const uint64_t seen = main.num_blocks() > 1 ? 0 : written[entry.state];
    for (size_t i = 0; i < flags.size(); ++i) {
      if (seen == 0 || (seen & Bit(i)) != 0) entry.flags.push_back(flags[i]);
    }
    if (!bad.empty()) entry.flags.push_back(bad);
    if (!entry.flags.empty()) out.push_back(std::move(entry));
  }
  return out;
}

absl::Status PutBackSkipped(const std::vector<PutBackState>& states, Program& program) {
  Block& block = program.main();
  std::vector<Var*> kept(states.size());
  AMPC_RETURN_IF_ERROR(InsertAt(block, 0, [&]() -> absl::Status {
    for (size_t i = 0; i < states.size(); ++i) {
      AMPC_ASSIGN_OR_RETURN(kept[i], Append(block, "assign", {{"X", {block.FindVar(states[i].state)}}},
                                            absl::StrCat(states[i].state, ".kept"), {}, kRoleForward));
    }
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < states.size(); ++i) AMPC_RETURN_IF_ERROR(PutBack(block, states[i], kept[i]));
  return absl::OkStatus();
}

absl::StatusOr<KeptStates> PutBackSkippedWindow(const std::vector<PutBackState>& states, Program& program) {
  KeptStates out{Program("keep"), {}};
  for (const PutBackState& entry : states) {
    const Var* state = program.main().FindVar(entry.state);
    out.kept.push_back(program.main().UniqueName(absl::StrCat(entry.state, kKeptSuffix)));
    Var* kept = program.main().AddVar(out.kept.back(), VarKind::kState, state->type);
    AMPC_RETURN_IF_ERROR(PutBack(program.main(), entry, kept));
    std::vector<int64_t> shape(kept->type.dims.begin(), kept->type.dims.end());
    AMPC_RETURN_IF_ERROR(AppendOp(program.main(), "fill_constant", {}, {{"Out", {kept}}},
                                  {{"shape", std::move(shape)}, {"value", 0.0f}, {"dtype", kept->type.dtype}}, kRoleOptimize)
                             .status());
    Var* from = out.keep.main().AddVar(entry.state, state->kind, state->type);
    Var* to = out.keep.main().AddVar(out.kept.back(), VarKind::kState, state->type);
    AMPC_RETURN_IF_ERROR(AppendOp(out.keep.main(), "assign", {{"X", {from}}}, {{"Out", {to}}}, {}, kRoleForward).status());
  }
  return out;
}

}  // namespace ampc
