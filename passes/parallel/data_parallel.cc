#include "passes/parallel/data_parallel.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "graph/op_registry.h"
#include "passes/append_op.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr int kSeedStep = 1 << 20;  // more steps than a training has

bool OfOptimizer(const Op& op) { return (RoleOf(op) & (kRoleOptimize | kRoleLearningRate)) != 0; }
bool OfBackward(const Op& op) { return !OfOptimizer(op) && (RoleOf(op) & kRoleBackward) != 0; }

class Distributor {
 public:
  Distributor(int rank, Program& program) : rank_(rank), program_(program), block_(program.main()), wanted_(program.num_var_ids(), false) {}

  bool Run() {
    FindGradients();
    std::vector<std::unique_ptr<Op>> ops = block_.TakeOps();
    out_.reserve(ops.size() + 2);
    for (std::unique_ptr<Op>& op : ops) {
      if (OfOptimizer(*op)) {
        if (ReadsPending(*op)) Exchange();
        Redirect(*op);
      } else {
        MoveSeed(*op);
        for (Var* var : op->outputs()) Defined(*op, *var);
      }
      for (const Var* var : op->outputs()) seeds_.erase(var);
      out_.push_back(std::move(op));
    }
    ExchangeStates();
    block_.SetOps(std::move(out_));
    return changed_;
  }

 private:
  // The values of the backward part that the optimizer part reads.
  void FindGradients() {
    std::vector<bool> backward(program_.num_var_ids(), false);
    for (const std::unique_ptr<Op>& op : block_.ops()) {
      if (OfBackward(*op)) {
        for (const Var* var : op->outputs()) backward[var->id()] = var->kind == VarKind::kTemp && var->type.IsFloat();
      } else if (OfOptimizer(*op)) {
        for (const Var* var : op->inputs()) wanted_[var->id()] = wanted_[var->id()] || backward[var->id()];
      }
    }
  }

  void Defined(const Op& op, Var& var) {
    if (var.id() < static_cast<int>(wanted_.size()) && wanted_[var.id()]) {
      pending_.push_back(&var);
    } else if (var.kind == VarKind::kState && var.type.IsFloat() && op.SubBlocks().empty() && !OfBackward(op)) {
      if (states_.insert(&var).second) pending_states_.push_back(&var);
    }
  }

  bool ReadsPending(const Op& op) const {
    if (pending_.empty()) return false;
    for (const Var* var : op.inputs()) {
      if (var->id() < static_cast<int>(wanted_.size()) && wanted_[var->id()] && !means_.contains(var)) return true;
    }
    return false;
  }

  void Exchange() {
    ExchangeStates();
    AppendMean(std::exchange(pending_, {}), kRoleOptimize);
  }
  void ExchangeStates() {
    if (!pending_states_.empty()) AppendMean(std::exchange(pending_states_, {}), kRoleForward);
    states_.clear();
  }

  void AppendMean(const std::vector<Var*>& values, int32_t role) {
    std::vector<Var*> means;
    for (Var* value : values) {
      means.push_back(value->IsWritable() ? value : NextVersion(block_, *value));
      if (means.back() != value) means_[value] = means.back();
    }
    std::unique_ptr<Op> op = block_.NewOp(Ops().Find("c_allreduce_sum"));
    op->SetInputs(0, values);
    op->SetOutputs(0, means);
    op->SetAttr("average", true);
    if (role != kRoleForward) op->SetAttr("op_role", role);
    out_.push_back(std::move(op));
    changed_ = true;
  }

  void Redirect(Op& op) {
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      if (auto mean = means_.find(op.inputs()[i]); mean != means_.end()) op.ReplaceInput(i, mean->second);
    }
  }

  void MoveSeed(Op& op) {
    const int slot = op.def().opaque ? -1 : op.def().InputSlot("Seed");
    Var* seed = slot < 0 ? nullptr : op.input(slot);
    if (seed == nullptr || seed->type.dtype != DType::kI32) return;
    Var*& moved = seeds_[seed];
    if (moved == nullptr) {
      if (offset_ == nullptr) {
        offset_ = block_.AddVar(block_.UniqueName("rank_seed"), VarKind::kConst, TensorType(DType::kI32, {1}));
        offset_->literal = std::make_shared<const HostTensor>(HostTensor::Of<int32_t>({1}, {rank_ * kSeedStep}));
      }
      moved = NewTemp(block_, absl::StrCat(seed->name(), ".rank"));
      moved->type = seed->type;
      std::unique_ptr<Op> add = block_.NewOp(Ops().Find("elementwise_add"));
      add->SetInputs(0, {&seed, 1});
      add->SetInputs(1, {&offset_, 1});
      add->SetOutputs(0, {&moved, 1});
      out_.push_back(std::move(add));
      changed_ = true;
    }
    op.SetInputs(slot, {&moved, 1});
  }

  const int rank_;
  Program& program_;
  Block& block_;
  std::vector<bool> wanted_;                     // by Var::id: the gradients
  std::vector<Var*> pending_, pending_states_;   // defined, not exchanged yet
  absl::flat_hash_map<const Var*, Var*> means_;  // by gradient
  absl::flat_hash_map<const Var*, Var*> seeds_;  // by seed, until it is written
  absl::flat_hash_set<const Var*> states_;       // in pending_states_
  Var* offset_ = nullptr;
  std::vector<std::unique_ptr<Op>> out_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> MakeDataParallel(int rank, Program& program) {
  for (const char* type : {"c_allreduce_sum", "elementwise_add"}) {
    if (Ops().Find(type) == nullptr) return InternalError(absl::StrCat("there is no record of '", type, "'"));
  }
  return Distributor(rank, program).Run();
}

PassInfo DataParallelPass() {
  PassInfo info;
  info.name = "data-parallel";
  info.summary = "gradients become their mean over all processes";
  info.options = {{"rank", "number of this process, 0 by default: random ops differ"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    int rank = 0;
    auto it = options.find("rank");
    if (it != options.end() && (!absl::SimpleAtoi(it->second, &rank) || rank < 0 || rank >= 2048)) {
      return UsageError(absl::StrCat("option rank is '", it->second, "', needs 0 to 2047"));
    }
    return MakePass([rank](PassContext&, Program& program) { return MakeDataParallel(rank, program); });
  };
  return info;
}

}  // namespace ampc
