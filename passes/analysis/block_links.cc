#include "passes/analysis/block_links.h"

#include <algorithm>

#include "graph/ops/onnx/dialect.h"

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
  const absl::Span<Var* const> yields = ops.back()->inputs(), results = op.outputs(), given = Given(op);
  const absl::Span<Var* const> entries = ops.front()->type() == onnx::kEnter ? ops.front()->outputs() : absl::Span<Var* const>();
  // A loop's condition comes first and is no result; its iteration number and condition are not given.
  const absl::Span<Var* const> kept = yields.subspan(yields.size() - std::min(yields.size(), results.size()));
  const absl::Span<Var* const> starts = entries.subspan(entries.size() - std::min(entries.size(), given.size()));
  for (size_t i = 0; i < kept.size(); ++i) links->push_back({kept[i], results[i]});
  for (size_t i = 0; i < starts.size(); ++i) links->push_back({given[i], starts[i]});
  const size_t scanned = static_cast<size_t>(std::max(op.GetInt("num_scan_inputs"), int64_t{0}));
  const size_t states = std::min(kept.size(), starts.size() - std::min(starts.size(), scanned));
  for (size_t i = 0; i < states; ++i) links->push_back({kept[i], starts[i]});
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

}  // namespace ampc
