#include "passes/amp/decide/cast_demand.h"

#include <algorithm>
#include <tuple>

namespace ampc {
namespace {

bool IsFloat32(const Var& var) { return var.type.dtype == DType::kF32 || var.was == DType::kF32; }

struct Read {
  int value, block;  // Var::id and index
  ReaderOfValue reader;
};

}  // namespace

CastDemand::CastDemand(const Program& program, const AmpDecision& decision, absl::FunctionRef<ReadsAs(const Var& fetch)> fetch_as) {
  const CastRoots roots(program);
  std::vector<Read> reads;
  std::vector<const Op*> maker(program.num_var_ids(), nullptr);
  std::vector<const Var*> vars(program.num_var_ids(), nullptr);
  const auto add = [&](const Var& var, int block, ReaderOfValue reader) {
    const Var& root = roots.Root(var);
    if (!IsFloat32(root) || IsStored(root)) return;
    vars[root.id()] = &root;
    reads.push_back({root.id(), block, reader});
  };
  ForEachOp(program, [&](const Op& op) {
    const OpDecision& d = decision.For(op);
    if (IsInserted(op) || d.untouched) return;
    for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
      const SlotPrecision precision = InputPrecision(decision, op, op.InputSlotOf(i));
      if (precision == SlotPrecision::kAsIs) continue;
      add(*op.inputs()[i], op.block().index(), {&op, precision == SlotPrecision::kFollow ? ReadsAs::kAsItsOp : ReadsAs::kFp32});
    }
    if (!op.SubBlocks().empty()) return;  // its results are what its bodies write
    for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
      const Var& var = *op.outputs()[i];
      if (!IsFloat32(var) || OutputPrecision(decision, op, op.OutputSlotOf(i)) != SlotPrecision::kFollow) continue;
      if (var.kind == VarKind::kTemp) {
        maker[var.id()] = &op;
      } else {
        fixed_results_.push_back({&op, &var});
      }
    }
  });
  for (const Var* var : program.fetches) {
    const ReadsAs as = var->kind == VarKind::kTemp ? fetch_as(*var) : ReadsAs::kAsItsOp;
    if (as != ReadsAs::kAsItsOp) add(*var, var->block().index(), {nullptr, as});
  }
  std::stable_sort(reads.begin(), reads.end(),
                   [](const Read& a, const Read& b) { return std::tie(a.value, a.block) < std::tie(b.value, b.block); });
  readers_.reserve(reads.size());
  for (const Read& read : reads) {
    const bool first = readers_.empty() || values_.back().value->id() != read.value || reads[readers_.size() - 1].block != read.block;
    if (first) values_.push_back({vars[read.value], maker[read.value], read.block, static_cast<int>(readers_.size()), 0});
    ++values_.back().count;
    readers_.push_back(read.reader);
  }
}

}  // namespace ampc
