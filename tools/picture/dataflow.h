// Dataflow: the ops of a program in one list, and which of them makes what another reads. Weights are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/program.h"

namespace ampc {

struct Dataflow {
  explicit Dataflow(const Program& program);

  std::vector<const Op*> ops;    // all blocks in program order
  std::vector<int> block_begin;  // index of a block's first op; one more entry than blocks
  // Equal for ops that look alike: type, tone, numbers of operands and results, inside or outside of a guard region. Never equal
  // for ops with sub-blocks.
  std::vector<uint64_t> tokens;
  std::vector<int> cut;  // how many values of the block live between this op and the one before

  // One entry per operand of ops[op]: the op of the same block that makes it, or one of these.
  static constexpr int kOutside = -1;  // given, or computed in another block
  static constexpr int kWeight = -2;   // stored: parameters, literals, state
  absl::Span<const int> Producers(int op) const {
    return absl::MakeSpan(producers_).subspan(producer_begin_[op], producer_begin_[op + 1] - producer_begin_[op]);
  }
  // A result is read by an op from `end` on, by another block, or by the caller.
  bool ReadOutside(const Var& var, int end) const { return last_reader_[var.id()] >= end; }
  // The last of the ops of var's block before `end` that writes it, -1 for none.
  int LastWriter(const Var& var, int end) const { return last_writer_[var.id()] < end ? last_writer_[var.id()] : -1; }
  // True for the first time a block is entered: two ops may name the same one.
  bool Enter(int block);

 private:
  void AddOp(const Op& op, int index);

  std::vector<int> producers_, producer_begin_;
  std::vector<int> last_writer_, last_reader_;  // by Var::id
  std::vector<bool> entered_;
};

}  // namespace ampc
