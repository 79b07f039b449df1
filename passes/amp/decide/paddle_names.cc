#include "passes/amp/decide/paddle_names.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace ampc {

PaddleNames::PaddleNames(const Program& program, bool rebuilt)
    : rebuilt_(rebuilt), cell_(program.num_var_ids(), -1), order_(program.num_op_ids(), -1) {
  absl::flat_hash_map<std::pair<int, std::string>, int> cells;
  ForEachVar(program, [&](const Var& var) {
    if (var.export_name.empty()) {
      // A name of its own, which versions made from it may share.
      cell_[var.id()] = cells.try_emplace({var.block().index(), var.name()}, num_cells_).first->second;
    } else {
      cell_[var.id()] = cells.try_emplace({var.block().index(), var.export_name}, num_cells_).first->second;
    }
    num_cells_ = static_cast<int>(cells.size());
  });
  producer_.assign(num_cells_, nullptr);
  writers_.resize(num_cells_);
  int next = 0;
  Visit(program, program.main(), &next);
}

void PaddleNames::Visit(const Program& program, const Block& block, int* next) {
  for (const std::unique_ptr<Op>& op : block.ops()) {
    for (int index : op->SubBlocks()) Visit(program, program.block(index), next);
    order_[op->id()] = (*next)++;
    for (const Var* var : op->outputs()) {
      const Op*& producer = producer_[cell_[var->id()]];
      if (!rebuilt_ || (producer == nullptr && &var->block() == &block)) producer = op.get();
      writers_[cell_[var->id()]].push_back(op.get());
    }
  }
}

const Op* PaddleNames::WriterBefore(const Var& var, const Op& op, bool* several) const {
  const Op* found = nullptr;
  *several = false;
  for (const Op* writer : writers_[cell(var)]) {
    if (&writer->block() != &op.block() || order(*writer) >= order(op)) continue;
    if (found != nullptr && found != writer) *several = true;
    found = writer;
  }
  return found;
}

std::vector<int> FlatBySlotName(const Op& op, bool inputs) {
  const std::vector<SlotDef>& slots = inputs ? op.def().inputs : op.def().outputs;
  const int n = static_cast<int>(inputs ? op.inputs().size() : op.outputs().size());
  std::vector<int> flat(n);
  for (int i = 0; i < n; ++i) flat[i] = i;
  std::stable_sort(flat.begin(), flat.end(), [&](int a, int b) {
    const int sa = inputs ? op.InputSlotOf(a) : op.OutputSlotOf(a);
    const int sb = inputs ? op.InputSlotOf(b) : op.OutputSlotOf(b);
    return sa != sb && slots[sa].name < slots[sb].name;
  });
  return flat;
}

DType PaddleDType(const Op& op, absl::string_view attr) {
  const AttrValue* value = op.attr(attr);
  if (value == nullptr) return DType::kInvalid;
  if (!std::holds_alternative<int32_t>(*value)) return op.GetDType(attr);
  switch (std::get<int32_t>(*value)) {  // VarType of framework.proto
    case 4: return DType::kF16;
    case 5: return DType::kF32;
    case 6: return DType::kF64;
    case 22: return DType::kBF16;
    default: return DType::kInvalid;
  }
}

std::vector<bool> KeepFetches(const Program& program, bool keep) {
  std::vector<bool> out(program.num_var_ids(), false);
  for (const Var* var : program.fetches) out[var->id()] = keep;
  return out;
}

}  // namespace ampc
