// Materializer: carries a decision out, one sweep over each block. Internal to cast-model-to-fp16; its parts are cast_values.cc,
// cast_fetches.cc, cast_control.cc and cast_captures.cc.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/versions.h"

namespace ampc {

class Materializer {
 public:
  Materializer(const AmpDecision& decision, Program& program);
  // Once. Whether anything changed.
  absl::StatusOr<bool> Run();

 private:
  // A value in another type, good as long as the source has not been overwritten since.
  struct Copy {
    Var* var;
    int source_version;
  };
  using Key = std::pair<int, DType>;

  absl::Status RewriteBlock(Block& block);
  absl::Status RewriteOp(std::unique_ptr<Op> owned);
  // Casts that an earlier decision needed.
  void DropUnreadCasts();

  // Values: operands and results in the types that the decision gives them.

  void ConvertOperands(Op& op, bool low);
  // A low value that an fp32 op may not read: AMP made it low, or the decision widens native ones as well.
  bool WasWider(const Var& var) const;
  void RetargetAttrs(Op& op);
  // An op that an earlier decision made low.
  void RestoreAttrs(Op& op);
  void RetypeResults(Op& op);
  void WidenResults(Op& op);
  // An op that takes its operands as they are may have got retyped ones: its results follow, or where that does not work
  // it gets its operands back in fp32.
  absl::Status PropagateTypes(Op& op);
  void FixInDType(Op& op);
  void Retype(Var& var, DType to);
  // The op defines `<name>.<type>` instead of result `flat`, which a cast behind it defines or overwrites.
  void DefineBeforeCast(Op& op, int flat, DType type);
  // `var` in type `to`: itself, what it was cast from, an earlier cast of it, or a new one in front of the current op.
  Var* As(Var* var, DType to);
  void AppendCast(Var* from, Var* to);
  void Remember(Var* from, Var* to);

  // Fetches: the name of a fetch stays with the value of its type.

  // Casts of an earlier decision that gave a fetch `p` another type than its op computes, where this decision wants that type.
  void FindOutdatedFetches(const std::vector<std::unique_ptr<Op>>& ops);
  // The op in front of such a cast defines the fetch itself again; true for the cast, which goes.
  bool DefinesFetchAgain(Op& op);
  // A fetch that is to be low although its op computes fp32 is cast behind it; other readers get the fp32 value.
  void RetypeFetches(Op& op);

  // Casts of earlier decisions, and those that the runtime makes or a control op lists.

  // Casts that an earlier decision left to the runtime, or to a control op's list, are decided anew.
  bool TakesBack(const Op& op);
  // A cast of an earlier decision that comes behind one of this decision goes, and its readers read that one.
  bool Repeats(const Op& op);
  // Whether it read one that the runtime was to do.
  bool ReadEarlierCasts(Op& op);
  // A value for such a cast: one that was taken back, or a new one.
  Var* ResultFor(const Var& source, DType type);
  void DropReturned();
  // Operands that do not fit the declared results are converted at run time.
  void LeaveToRuntime(Op& op);
  // Casts of retyped operands for the list of a control op whose body reads the operands themselves; weights last, which a later
  // pass retypes.
  void ListCasts(const Op& op);

  // Captures: a cast that a control op reads in the place of an operand, for its bodies (AmpDecision::casts_captures).

  void CastCaptures(Op& op, bool low);
  // The bodies of a control op that is `low`, or fp32, read the operand in that type only, or may read what it does not list.
  bool BodiesRead(const Op& op, const Var& operand, bool low) const;
  // Of a value that an earlier decision put in the place of an operand for the bodies' sake: the operand, to be decided anew.
  void FindCaptureCasts();
  void ReadCapturesThemselves(Op& op);
  // The cast of `var` that a control op around this block reads; null for none.
  Var* CastAround(const Var& var, DType to) const;

  const AmpDecision& decision_;
  Program& program_;
  const OpDef* cast_def_;
  Block* block_ = nullptr;
  std::vector<std::unique_ptr<Op>> out_;                   // the block being built
  std::vector<std::pair<Var*, Var*>> trailing_;            // casts behind the current op
  absl::flat_hash_map<Key, Copy> copies_;                  // casts of this block by (source, type)
  absl::flat_hash_map<int, Copy> sources_;                 // by result of an inserted cast of this block
  absl::flat_hash_map<int, Var*> outdated_;                // by result of an op: the fetch that it defines again
  absl::flat_hash_map<Key, std::deque<Var*>> returned_;    // results of casts that were taken back
  absl::flat_hash_set<int> implicit_;                      // of those, what the runtime was to do
  absl::flat_hash_map<int, Var*> earlier_;                 // what its readers read instead
  std::vector<int> gone_;                                  // their results
  absl::flat_hash_map<int, Var*> capture_casts_;           // by result of an earlier decision's cast for bodies: its source
  absl::flat_hash_map<std::pair<int, Key>, Var*> around_;  // by block and (source, type)
  std::vector<bool> overwritten_;                          // by Var::id: an op writes it again
  std::vector<Var*> given_;                                // operands of the current op as they came
  Versions versions_;
  std::vector<bool> fetched_;  // by Var::id
  // With the type before, each once: widened results may follow their operands down again.
  std::vector<std::pair<const Var*, DType>> retyped_;
  std::vector<bool> is_retyped_;  // by Var::id
  bool changed_ = false;
};

}  // namespace ampc
