#include "tools/picture/dataflow.h"

#include <algorithm>

#include "tools/picture/picture.h"

namespace ampc {
namespace {

bool IsData(const Var& var) { return var.kind != VarKind::kParam && var.kind != VarKind::kConst && var.kind != VarKind::kState; }

// FNV-1a, so that two runs fold the same way whatever collides.
class Hasher {
 public:
  Hasher& Add(uint64_t value) {
    for (int i = 0; i < 8; ++i) AddByte(value >> (8 * i));
    return *this;
  }
  Hasher& Add(absl::string_view text) {
    for (const char c : text) AddByte(static_cast<unsigned char>(c));
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  void AddByte(uint64_t byte) { value_ = (value_ ^ (byte & 0xff)) * 0x100000001b3u; }
  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace

Dataflow::Dataflow(const Program& program)
    : producer_begin_{0},
      last_writer_(program.num_var_ids(), -1),
      last_reader_(program.num_var_ids(), -1),
      entered_(program.num_blocks(), false) {
  ForEachOp(program, [this](const Op& op) { ops.push_back(&op); });
  tokens.resize(ops.size());
  cut.assign(ops.size() + 1, 0);
  int index = 0;
  for (int b = 0; b < program.num_blocks(); ++b) {
    block_begin.push_back(index);
    for (const auto& op : program.block(b).ops()) AddOp(*op, index++);
  }
  block_begin.push_back(index);
  for (const Var* fetch : program.fetches) last_reader_[fetch->id()] = index;
  for (size_t i = 1; i < cut.size(); ++i) cut[i] += cut[i - 1];
}

void Dataflow::AddOp(const Op& op, int index) {
  const int begin = block_begin.back();
  const uint64_t unlike = op.SubBlocks().empty() ? 0 : index + 1;
  const uint64_t guarded = op.marks.guard != 0 ? 1 : 0;
  tokens[index] = Hasher()
                      .Add(op.type())
                      .Add(static_cast<uint64_t>(ToneOf(op)))
                      .Add(op.inputs().size())
                      .Add(op.outputs().size())
                      .Add(guarded)
                      .Add(unlike)
                      .value();
  for (const Var* var : op.inputs()) {
    const int from = last_writer_[var->id()];
    const bool same_block = IsData(*var) && from >= begin;
    producers_.push_back(same_block ? from : IsData(*var) ? kOutside : kWeight);
    int& reader = last_reader_[var->id()];
    if (same_block && reader < index) {  // the value lives on from the reader before, or from its op
      ++cut[std::max(reader, from) + 1];
      --cut[index + 1];
    }
    // Read in a sub-block: outside of everything in its own.
    reader = std::max(reader, &var->block() == &op.block() ? index : static_cast<int>(ops.size()));
  }
  for (const Var* var : op.outputs()) {
    last_writer_[var->id()] = index;
    if (var->IsWritable() && &var->block() != &op.block()) last_reader_[var->id()] = static_cast<int>(ops.size());
  }
  producer_begin_.push_back(static_cast<int>(producers_.size()));
}

bool Dataflow::Enter(int block) {
  if (entered_[block]) return false;
  entered_[block] = true;
  return true;
}

}  // namespace ampc
