#include "runtime/exec/deferred_op.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "kernels/storage.h"
#include "runtime/exec/model_runner.h"

namespace ampc {
namespace {

// The program of one op: what it reads are feeds, but for constants, and what it defines are fetches.
class Alone {
 public:
  explicit Alone(const Op& op) : program_("deferred") {
    Block& main = program_.main();
    std::unique_ptr<Op> copy = main.NewOp(&op.def());
    for (int s = 0; s < static_cast<int>(op.def().outputs.size()); ++s) {
      std::vector<Var*> results;
      for (const Var* var : op.outputs(s)) {
        results.push_back(main.AddVar(main.UniqueName(var->name()), VarKind::kTemp, Unshaped(*var)));
        program_.fetches.push_back(results.back());
      }
      copy->SetOutputs(s, results);
    }
    for (int s = 0; s < static_cast<int>(op.def().inputs.size()); ++s) {
      std::vector<Var*> operands;
      for (const Var* var : op.inputs(s)) operands.push_back(Operand(*var));
      copy->SetInputs(s, operands);
    }
    for (const Attr& attr : op.attrs()) copy->SetAttr(attr.name, attr.value);
    copy->line = op.line;
    main.Append(std::move(copy));
  }

  Program Take() { return std::move(program_); }

 private:
  // The operands of a run decide, not their declarations.
  static TensorType Unshaped(const Var& var) { return TensorType::Unranked(var.type.dtype); }

  Var* Operand(const Var& var) {
    Var*& made = made_[&var];
    if (made != nullptr) return made;
    Block& main = program_.main();
    const bool constant = var.literal != nullptr || (var.kind == VarKind::kParam && var.weight != nullptr);
    made = main.AddVar(main.UniqueName(var.name()), constant ? var.kind : VarKind::kFeed, constant ? var.type : Unshaped(var));
    made->literal = var.literal;
    if (constant && var.weight != nullptr) made->weight = std::make_unique<WeightRef>(*var.weight);
    if (!constant) program_.feeds.push_back(made);
    return made;
  }

  Program program_;
  absl::flat_hash_map<const Var*, Var*> made_;
};

// The operands in the order of the program's feeds.
std::vector<const Var*> Fed(const Op& op) {
  std::vector<const Var*> fed;
  for (const Var* var : op.inputs()) {
    const bool constant = var->literal != nullptr || (var->kind == VarKind::kParam && var->weight != nullptr);
    if (!constant && std::find(fed.begin(), fed.end(), var) == fed.end()) fed.push_back(var);
  }
  return fed;
}

}  // namespace

bool DeferredOp::Is(const Op& op) { return onnx::DefOf(op.def()) != nullptr && op.SubBlocks().empty(); }

DeferredOp::DeferredOp(const Op& op, Rounding rounding) : op_(op), rounding_(rounding) {}
DeferredOp::~DeferredOp() = default;

absl::StatusOr<ModelRunner*> DeferredOp::Runner(int threads) const {
  MutexLock lock(mutex_);
  if (runner_ == nullptr) {
    const RunnerOptions options{.threads = threads, .fuse = rounding_.fuse, .excess_precision = rounding_.excess_precision};
    AMPC_ASSIGN_OR_RETURN(runner_, ModelRunner::Create(Alone(op_).Take(), options, ModelRunner::Left::kRefused));
  }
  return runner_.get();
}

absl::Status DeferredOp::Run(const HostCall& call) const {
  std::vector<HostTensor> owned;
  std::vector<SharedTensor> read;
  std::vector<const HostTensor*> feeds;
  const std::vector<const Var*> fed = Fed(op_);
  owned.reserve(fed.size());
  for (const Var* var : fed) {
    AMPC_ASSIGN_OR_RETURN(read.emplace_back(), call.env.Read(op_, *var));
    feeds.push_back(read.back().get());
    if (!IsLowPrecision(var->type.dtype)) continue;
    AMPC_ASSIGN_OR_RETURN(HostTensor declared, FromStorage(*read.back(), var->type.dtype));
    feeds.back() = &owned.emplace_back(std::move(declared));
  }
  AMPC_ASSIGN_OR_RETURN(ModelRunner * runner, Runner(call.threads));
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, runner->Run(feeds, nullptr));
  for (size_t i = 0; i < results.size(); ++i) {
    AMPC_ASSIGN_OR_RETURN(HostTensor stored, ToStorage(std::move(results[i])));
    call.env.Set(*op_.outputs()[i], std::make_shared<const HostTensor>(std::move(stored)));
  }
  return absl::OkStatus();
}

}  // namespace ampc
