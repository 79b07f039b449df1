#include "passes/analysis/dataflow.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "graph/ops/onnx/dialect.h"
#include "passes/amp/decide/decision.h"

namespace ampc {
namespace {

// The operands that enter the subgraphs; none of an If.
absl::Span<Var* const> Given(const Op& op) {
  for (int slot = 0; slot < static_cast<int>(op.def().inputs.size()); ++slot) {
    const SlotDef& def = op.def().inputs[slot];
    if (def.variadic && def.name != onnx::kCaptures) return op.inputs(slot);
  }
  return {};
}

void Link(const Op& op, const Block& body, std::vector<BlockLink>* links) {
  const std::vector<std::unique_ptr<Op>>& ops = body.ops();
  if (ops.empty() || ops.back()->type() != onnx::kYield) return;
  const absl::Span<Var*const> yields = ops.back()->inputs(), results = op.outputs(), given = Given(op);
  const absl::Span<Var* const> entries = ops.front()->type() == onnx::kEnter ? ops.front()->outputs() : absl::Span<Var* const>();
  // A loop's condition comes first and is no result; its iteration number and condition are not given.
  const absl::Span<Var* const> kept = yields.subspan(yields.size() - std::min(yields.size(), results.size()));
  const absl::Span<Var* const> starts = entries.subspan(entries.size() - std::min(entries.size(), given.size()));
  for (size_t i = 0; i < kept.size(); ++i) links->push_back({kept[i], results[i]});
  for (size_t i = 0; i < starts.size(); ++i) links->push_back({given[i], starts[i]});
  const size_t scanned = static_cast<size_t>(std::max(op.GetInt("num_scan_inputs"), int64_t{0}));
  const size_t states = std::min(kept.size(), starts.size() - std::min(starts.size(), scanned));
  for (size_t i = 0; i < states; ++i) links->push_back({kept[i], starts[i]});
  for (size_t i = 0; i < states; ++i) links->push_back({given[i], results[i]});
}

}  // namespace

std::vector<BlockLink> BlockLinks(const Program& program) {
  std::vector<BlockLink> links;
  if (program.num_blocks() == 1) return links;
  ForEachOp(program, [&](const Op& op) {
    for (const int index : op.SubBlocks()) Link(op, program.block(index), &links);
  });
  return links;
}

void ValueFlow::Lists::Build(int ids, const std::vector<std::pair<int32_t, int32_t>>& entries) {
  begin_.assign(ids + 1, 0);
  entries_.resize(entries.size());
  for (const auto& [id, entry] : entries) ++begin_[id + 1];
  for (int i = 0; i < ids; ++i) begin_[i + 1] += begin_[i];
  std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
  for (const auto& [id, entry] : entries) entries_[next[id]++] = entry;
}

ValueFlow::ValueFlow(const Program& program) : program_(program), roots_(program), vars_(program.num_var_ids(), nullptr) {
  ForEachVar(program, [this](const Var& var) { vars_[var.id()] = &var; });
  ops_.reserve(program.num_op_ids());
  Order(program.main());
  std::vector<std::pair<int32_t, int32_t>> reads, makes;
  for (int32_t position = 0; position < static_cast<int32_t>(ops_.size()); ++position) {
    for (const Var* var : ops_[position]->inputs()) reads.emplace_back(Root(*var).id(), position);
    for (const Var* var : ops_[position]->outputs()) makes.emplace_back(Root(*var).id(), position);
  }
  const int ids = program.num_var_ids();
  readers_.Build(ids, reads);
  makers_.Build(ids, makes);
  std::vector<std::pair<int32_t, int32_t>> to, from;
  const auto link = [&](const Var& a, const Var& b) {
    to.emplace_back(Root(a).id(), Root(b).id());
    from.emplace_back(Root(b).id(), Root(a).id());
  };
  for (const BlockLink& each : BlockLinks(program)) link(*each.from, *each.to);
  // An inserted cast that writes a carry gives it the value that it reads.
  ForEachOp(program, [&](const Op& op) {
    if (IsInserted(op) && op.inputs().size() == 1 && op.outputs().size() == 1 && op.outputs()[0]->kind == VarKind::kCarry)
      link(*op.inputs()[0], *op.outputs()[0]);
  });
  to_.Build(ids, to);
  from_.Build(ids, from);
}

void ValueFlow::Order(const Block& block) {
  for (const std::unique_ptr<Op>& op : block.ops()) {
    if (IsInserted(*op)) continue;
    for (const int index : op->SubBlocks()) Order(program_.block(index));
    ops_.push_back(op.get());
  }
}

const Op* ValueFlow::Maker(const Var& var) const {
  const Var& root = Root(var);
  if (root.kind != VarKind::kTemp || makers_.Of(root.id()).empty() || !from_.Of(root.id()).empty()) return nullptr;
  return ops_[makers_.Of(root.id())[0]];
}

std::vector<uint32_t> BackwardSets(const ValueFlow& flow, absl::FunctionRef<void(const Op&, uint32_t, AddToSets)> step) {
  std::vector<uint32_t> sets(flow.program().num_var_ids(), 0);
  const int ops = static_cast<int>(flow.ops().size());
  std::vector<bool> queued(ops, false);
  std::priority_queue<int> again;
  std::vector<std::pair<int32_t, uint32_t>> todo;
  int at = ops;
  const auto add = [&](const Var& var, uint32_t more) {
    todo.emplace_back(flow.Root(var).id(), more);
    while (!todo.empty()) {
      const auto [id, wanted] = todo.back();
      todo.pop_back();
      if ((sets[id] | wanted) == sets[id]) continue;
      sets[id] |= wanted;
      for (const int32_t maker : flow.Makers(flow.var(id))) {
        if (maker < at || queued[maker]) continue;  // the first sweep comes by, or it waits
        queued[maker] = true;
        again.push(maker);
      }
      for (const int32_t from : flow.LinkedFrom(flow.var(id))) todo.emplace_back(from, wanted);
    }
  };
  const auto visit = [&](const Op& op) {
    uint32_t results = 0;
    for (const Var* var : op.outputs()) results |= sets[flow.Root(*var).id()];
    step(op, results, add);
  };
  for (at = ops - 1; at >= 0; --at) visit(*flow.ops()[at]);
  at = -1;
  while (!again.empty()) {
    const int position = again.top();
    again.pop();
    queued[position] = false;
    visit(*flow.ops()[position]);
  }
  return sets;
}

}  // namespace ampc
