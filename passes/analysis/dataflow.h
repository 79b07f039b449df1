// ValueFlow: how facts travel between the values of a program, forwards and backwards, to a fixed point.
//
// Known here and nowhere else: the casts that AMP inserted are looked through, so that a converted program is judged like its original;
// what an op starts a subgraph with and what the subgraph gives back is one value on both sides of the border; and a loop gives its state
// to its next iteration.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/program.h"
#include "passes/amp/decide/cast_roots.h"

namespace ampc {

struct BlockLink {
  const Var* from;
  const Var* to;
};

// The values that are one another on both sides of a subgraph's border, of the ops of ONNX with subgraphs, in program order: what the op
// starts a subgraph with and the subgraph's inputs, the subgraph's outputs and the results of the op, what a loop's body gives and gets as
// a state in the next iteration, and what a loop starts with and its results, for one that makes no iteration. Captured values and carries
// of native control flow are one variable everywhere and need no link.
std::vector<BlockLink> BlockLinks(const Program& program);

// A snapshot of who makes and who reads each value: rewriting the program outdates it. Positions are those of ops().
class ValueFlow {
 public:
  explicit ValueFlow(const Program& program);

  const Program& program() const { return program_; }
  const Var& Root(const Var& var) const { return roots_.Root(var); }
  const CastRoots& roots() const { return roots_; }
  // Every op but AMP's own casts; those of a subgraph before the op that has it. Only what a loop carries is read before it is made.
  absl::Span<const Op* const> ops() const { return ops_; }
  // Of the root of `var`: once per operand or result.
  absl::Span<const int32_t> Readers(const Var& var) const { return readers_.Of(Root(var).id()); }
  absl::Span<const int32_t> Makers(const Var& var) const { return makers_.Of(Root(var).id()); }
  // The one op that defines a temp; null for what is no temp, or has its value from across a border.
  const Op* Maker(const Var& var) const;
  // Var::id of the roots that `var` is given to, or comes from, across the border of a subgraph.
  absl::Span<const int32_t> LinkedTo(const Var& var) const { return to_.Of(Root(var).id()); }
  absl::Span<const int32_t> LinkedFrom(const Var& var) const { return from_.Of(Root(var).id()); }
  // The value of `var` comes from several places, or from across a border: facts of it are joined.
  bool IsJoined(const Var& var) const { return var.kind != VarKind::kTemp || !LinkedFrom(var).empty(); }
  const Var& var(int id) const { return *vars_[id]; }

 private:
  // Lists by Var::id, in one array.
  class Lists {
   public:
    void Build(int ids, const std::vector<std::pair<int32_t, int32_t>>& entries);
    absl::Span<const int32_t> Of(int id) const { return absl::MakeConstSpan(entries_).subspan(begin_[id], begin_[id + 1] - begin_[id]); }

   private:
    std::vector<int32_t> begin_, entries_;
  };
  void Order(const Block& block);

  const Program& program_;
  CastRoots roots_;
  std::vector<const Op*> ops_;
  std::vector<const Var*> vars_;
  Lists readers_, makers_, to_, from_;
};

// Puts the value into sets: one bit each.
using AddToSets = absl::FunctionRef<void(const Var& var, uint32_t sets)>;

// The sets of each value, by Var::id of roots: `step` is called for every op with the sets of its results, and adds values, its operands
// mostly, to sets; a value that comes from across a border hands its sets on. The last op is visited first; an op whose results came into
// further sets is visited again. `step` may only add more where its results are in more sets.
std::vector<uint32_t> BackwardSets(const ValueFlow& flow, absl::FunctionRef<void(const Op& op, uint32_t results, AddToSets add)> step);

}  // namespace ampc
