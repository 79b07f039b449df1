// AmpDecision: which ops compute low, and why. Plain data: amp-decide writes it, cast-model-to-fp16 obeys it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/op_trait.h"
#include "graph/program.h"
#include "passes/amp/policy/policy.h"
#include "passes/amp/protect/mask_constants.h"

namespace ampc {

struct OpDecision {
  bool low = false;
  // Not decided: the op takes its operands as they are; no casts are put around it.
  bool untouched = false;
  // Literals, the record's texts, or kept by the decision.
  absl::string_view rule;    // id, e.g. "allow", "deny", "protect.shape", "guard", "no-kernel"
  absl::string_view reason;  // one sentence
  // With `untouched`: the results keep their declared types, operands that do not fit are converted at run time
  // (graph/implicit_cast.h); otherwise the results follow the operands.
  bool converts = false;
  const Var* follows = nullptr;  // the value whose precision it has, where it follows one
};

struct AmpDecision {
  AmpDecision() = default;
  AmpDecision(const AmpDecision&) = delete;

  DType low = DType::kF16;
  std::string level;
  std::string mode = "own";
  std::vector<OpDecision> ops;  // by Op::id
  // By Var::id. Each vector may be shorter than the program's ids: what lies beyond is false.
  std::vector<bool> keep_var;  // keeps its type whatever the ops around it do: fetched values, named exclusions
  // A feed or carry that changes its declared type to `low`, and a fetched temp that is cast to it where its op computes fp32.
  std::vector<bool> low_var;
  std::vector<bool> low_param;   // a param or const to store low offline; fp32 readers get a cast
  std::vector<bool> copy_param;  // one with mixed readers: stored once in fp32, once low
  MaskConstants masks;           // of low_param: what is stored in their place
  // Between which numbers values lie on inputs like those of the runs that were measured, by exported name; for explanations.
  std::map<std::string, Bounds> measured;
  // Which slots of a low op may be low: these rules instead of the records' where `own_slots` is false.
  bool own_slots = true;
  absl::Span<const SlotRule> inputs;
  absl::Span<const SlotRule> outputs;
  // Values that are low in the program as it came are widened for fp32 ops, too.
  bool widen_native = false;
  // Control ops, by type and separated by blanks, that list a cast of each retyped operand although the body reads the operand itself.
  absl::string_view lists_casts;
  // Control ops read casts in the place of the operands that are not of their type, and the ops of their bodies read these casts.
  bool casts_captures = false;

  static bool Has(const std::vector<bool>& set, int id) { return id < static_cast<int>(set.size()) && set[id]; }
  // Keeps a text that an OpDecision refers to.
  absl::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  // The decision for an op; untouched for one that came later.
  const OpDecision& For(const Op& op) const;

 private:
  std::deque<std::string> texts_;
};

// How a slot takes part when its op is low: the record's precision, or kFollow/kFp32 from the decision's rules.
SlotPrecision InputPrecision(const AmpDecision& decision, const Op& op, int slot);
SlotPrecision OutputPrecision(const AmpDecision& decision, const Op& op, int slot);

// The op is one of decision.lists_casts and stays fp32.
bool ListsCasts(const AmpDecision& decision, const Op& op);

// A cast that the user or AMP put: its result type is its attribute's, whatever it reads.
bool IsCast(const Op& op);
inline bool IsInserted(const Op& op) { return op.marks.amp == AmpMark::kInserted; }
// The value travels with the program: a weight, or a literal.
inline bool IsStored(const Var& var) { return var.kind == VarKind::kParam || var.kind == VarKind::kConst; }
// The fp32 type that AMP took from the value, if it did.
inline bool IsRetyped(const Var& var) { return var.was != DType::kInvalid; }

// One line per op in program order: `value  op  low|fp32|-  rule: reason`, columns padded. For `table` cases.
std::string ToTable(const AmpDecision& decision, const Program& program);

}  // namespace ampc
