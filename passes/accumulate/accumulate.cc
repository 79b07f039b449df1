#include "passes/accumulate/accumulate.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "passes/analysis/use_def.h"
#include "passes/append_op.h"

namespace ampc {
namespace {

bool InUpdate(const Op& op) { return (RoleOf(op) & (kRoleOptimize | kRoleLearningRate)) != 0; }

// Names of the gradients that cross, in the order in which the update reads them.
absl::StatusOr<std::vector<std::string>> CrossingGradients(const Program& main) {
  const UseDef uses(main);
  std::vector<std::string> names;
  absl::flat_hash_set<const Var*> seen;
  bool any = false;
  for (const std::unique_ptr<Op>& op : main.main().ops()) {
    if (!InUpdate(*op)) continue;
    any = true;
    for (const Var* var : op->inputs()) {
      const Op* producer = var->kind == VarKind::kTemp ? uses.producer(*var) : nullptr;
      if (producer == nullptr || InUpdate(*producer) || !seen.insert(var).second) continue;
      if ((RoleOf(*producer) & kRoleBackward) == 0 || !var->type.IsFloat() || !var->type.IsStatic()) {
        return UnsupportedError(absl::StrCat("accumulate: ", Describe(*op), " reads '", var->name(), "' (", ToString(var->type),
                                             "), a result of ", Describe(*producer),
                                             " that is no gradient of known size, so it cannot be summed over several calls"));
      }
      names.push_back(var->name());
    }
  }
  if (!any) return UsageError("accumulate: no op of the program has the op_role Optimize (2), so there is no update to put off");
  return names;
}

// Keeps the ops for which `keep` holds, the fetches that they or nobody define, and the feeds that are read.
template <typename F>
Program Part(const Program& main, F keep) {
  Program part = main.Clone();
  std::vector<std::unique_ptr<Op>> ops = part.main().TakeOps();
  absl::flat_hash_set<const Var*> gone;
  for (std::unique_ptr<Op>& op : ops) {
    if (keep(*op)) continue;
    gone.insert(op->outputs().begin(), op->outputs().end());
    op.reset();
  }
  std::erase(ops, nullptr);
  part.main().SetOps(std::move(ops));
  std::erase_if(part.fetches, [&gone](const Var* var) { return var->kind == VarKind::kTemp && gone.contains(var); });
  return part;
}

std::vector<int> DropUnreadFeeds(Program& part) {
  absl::flat_hash_set<const Var*> read(part.fetches.begin(), part.fetches.end());
  ForEachOp(part, [&read](const Op& op) { read.insert(op.inputs().begin(), op.inputs().end()); });
  std::vector<int> kept;
  std::vector<Var*> feeds;
  std::vector<bool> dead(part.num_var_ids(), false);
  for (size_t i = 0; i < part.feeds.size(); ++i) {
    if (read.contains(part.feeds[i])) {
      kept.push_back(static_cast<int>(i));
      feeds.push_back(part.feeds[i]);
    } else {
      dead[part.feeds[i]->id()] = true;
    }
  }
  part.feeds = std::move(feeds);
  part.main().RemoveVars(dead);
  return kept;
}

DType SumType(const Var& gradient) { return gradient.type.dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

std::vector<Attr> CastTo(DType from, DType to) { return {{"in_dtype", from}, {"out_dtype", to}}; }

absl::Status AddToSum(Program& micro, const std::string& gradient, const std::string& sum) {
  Block& block = micro.main();
  Var* value = block.FindVar(gradient);
  const DType type = SumType(*value);
  Var* state = block.AddVar(sum, VarKind::kState, value->type.WithDType(type));
  if (value->type.dtype != type) {
    Var* wide = NewTemp(block, absl::StrCat(gradient, "@WIDE"));
    AMPC_RETURN_IF_ERROR(
        AppendOp(block, "cast", {{"X", {value}}}, {{"Out", {wide}}}, CastTo(value->type.dtype, type), kRoleBackward).status());
    value = wide;
  }
  return AppendOp(block, "sum", {{"X", {state, value}}}, {{"Out", {state}}}, {}, kRoleBackward).status();
}

// Appends the ops that define `gradient` from its sum.
absl::Status Mean(Program& update, const std::string& gradient, const std::string& sum, int k) {
  Block& block = update.main();
  Var* value = block.FindVar(gradient);
  const DType type = SumType(*value);
  Var* state = block.AddVar(sum, VarKind::kState, value->type.WithDType(type));
  const bool cast = value->type.dtype != type;
  Var* mean = cast ? NewTemp(block, absl::StrCat(gradient, "@MEAN")) : value;
  AMPC_RETURN_IF_ERROR(
      AppendOp(block, "scale", {{"X", {state}}}, {{"Out", {mean}}}, {{"scale", 1.0f / static_cast<float>(k)}}, kRoleOptimize).status());
  if (!cast) return absl::OkStatus();
  return AppendOp(block, "cast", {{"X", {mean}}}, {{"Out", {value}}}, CastTo(type, value->type.dtype), kRoleOptimize).status();
}

absl::Status Clear(Program& update, const std::string& sum) {
  Var* state = update.main().FindVar(sum);
  std::vector<int64_t> shape(state->type.dims.begin(), state->type.dims.end());
  return AppendOp(update.main(), "fill_constant", {}, {{"Out", {state}}},
                  {{"shape", std::move(shape)}, {"value", 0.0f}, {"dtype", state->type.dtype}}, kRoleOptimize)
      .status();
}

}  // namespace

absl::StatusOr<AccumulatingProgram> SplitForAccumulation(const Program& main, int k) {
  if (main.num_blocks() > 1) return UnsupportedError("accumulate: a program with control flow cannot be split into gradients and update");
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::string> gradients, CrossingGradients(main));
  AccumulatingProgram out;
  out.micro = Part(main, [](const Op& op) { return !InUpdate(op); });
  out.update = Part(main, [](const Op& op) { return InUpdate(op); });
  out.update_feeds = DropUnreadFeeds(out.update);
  for (const std::string& gradient : gradients) out.sums.push_back(main.main().UniqueName(absl::StrCat(gradient, "@SUM")));
  std::vector<std::unique_ptr<Op>> rest = out.update.main().TakeOps();
  for (size_t i = 0; i < gradients.size(); ++i) {
    AMPC_RETURN_IF_ERROR(AddToSum(out.micro, gradients[i], out.sums[i]));
    AMPC_RETURN_IF_ERROR(Mean(out.update, gradients[i], out.sums[i], k));
  }
  for (std::unique_ptr<Op>& op : rest) out.update.main().Append(std::move(op));
  for (const std::string& sum : out.sums) AMPC_RETURN_IF_ERROR(Clear(out.update, sum));
  RemoveUnusedVars(out.micro);
  RemoveUnusedVars(out.update);
  return out;
}

}  // namespace ampc
