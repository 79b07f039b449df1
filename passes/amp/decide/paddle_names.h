// Paddle's rewriting speaks of names: one declared type per name, and the op that a name's `op` pointer leads to. This gives
// the values of a program that view back: versions of an overwritten name share a cell.
#pragma once

#include <string>
#include <vector>

#include "graph/program.h"

namespace ampc {

class PaddleNames {
 public:
  // `rebuilt`: the program was loaded, not built; its names lead to the first op of their block that outputs them.
  PaddleNames(const Program& program, bool rebuilt);

  int num_cells() const { return num_cells_; }
  int cell(const Var& var) const { return cell_[var.id()]; }
  // The op that the name leads to, null for none: the one built last that outputs it, in the order in which the front end builds (a
  // body before its control op), or the first of its block.
  const Op* producer(const Var& var) const { return producer_[cell(var)]; }
  // Position of an op in that order.
  int order(const Op& op) const { return order_[op.id()]; }
  // The writer of the name before `op` in the op's own block; null when there is none. `several` says there is more than one.
  const Op* WriterBefore(const Var& var, const Op& op, bool* several) const;

 private:
  void Visit(const Program& program, const Block& block, int* next);

  const bool rebuilt_;
  int num_cells_ = 0;
  std::vector<int> cell_;                        // by Var::id
  std::vector<const Op*> producer_;              // by cell
  std::vector<std::vector<const Op*>> writers_;  // by cell, in build order
  std::vector<int> order_;                       // by Op::id
};

// A program with feed and fetch ops comes from a file of Paddle's, one without has just been built.
inline bool IsLoaded(const Program& program) { return !program.fetches.empty(); }

// The op's operands or results as (slot, flat position) with the slots in alphabetical order, as op descriptions keep them.
std::vector<int> FlatBySlotName(const Op& op, bool inputs);

// A data type attribute, also of an op without a record, which keeps it as Paddle's number.
DType PaddleDType(const Op& op, absl::string_view attr);

// The fetched values, by Var::id, if `keep`: Paddle's lists speak of the op `fetch`, which the IR has as the signature.
std::vector<bool> KeepFetches(const Program& program, bool keep);

}  // namespace ampc
