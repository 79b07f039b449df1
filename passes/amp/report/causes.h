// Causes: for an op that a rule of protect reached on its way through the program, or that follows another op, the op that it came from.
//
//   s = matmul_v2(x, w)   protect.log     <- its result s is read by t
//   t = abs(s)            protect.log     <- its result t is read by l
//   l = log(t)                            here the rule starts; known of t: [0, inf]
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/program.h"
#include "graph/weight.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/bounds.h"

namespace ampc {

struct CauseStep {
  const Op* op = nullptr;
  const Var* through = nullptr;  // the value between this op and the one before
  bool reads = false;            // the op before reads it, and this one makes it; else the other way round
  std::string starts;            // where a rule starts: at what, and what is known of the operands; else ""
};

class Causes {
 public:
  // Of a program as it was decided, not yet rewritten for that, or converted before. Ops and values have to live as long as this is asked.
  // O(program).
  Causes(const Program& program, const AmpDecision& decision, OnTiny on_tiny, const InputRanges& ranges = {});

  // From the op before `op` on, to the one whose reason is its own; empty where that is `op`. At most `most` of them.
  std::vector<CauseStep> ChainOf(const Op& op, int most) const;
  // "the operand of a logarithm that may be small; known of 'p': [0, 1]" where the op's own rule starts at it, else "".
  std::string StartOf(const Op& op) const;
  // ProofText of its first result.
  std::string ProofOf(const Op& op) const;

 private:
  struct Link {
    const Op* op;
    const Var* through;
    bool reads;
  };
  using Key = std::pair<int, int>;  // row of the rule, Op::id
  class Finder;
  const Link* Find(int rule, const Op& op) const;

  std::vector<int> rules_;     // by Op::id: row of the rule that keeps it fp32; -1 for none
  std::vector<Link> follows_;  // by Op::id: `op` is null for one that follows none
  absl::flat_hash_map<Key, Link> links_;
  absl::flat_hash_map<Key, std::string> starts_;
  absl::flat_hash_map<int, std::string> proofs_;  // by Op::id
};

}  // namespace ampc
