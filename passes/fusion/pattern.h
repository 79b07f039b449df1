// Reading of small patterns of ops, as fusion passes look for them. Casts between float types may lie in between: what AMP puts there
// hides no pattern, as a fused op may round less often. Each question takes constant time: a row of casts is
// walked for kMostCasts of them, readers are collected over kMostUses operands.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "passes/analysis/use_def.h"

namespace ampc {

class Pattern {
 public:
  static constexpr int kMostCasts = 8, kMostUses = 16;

  explicit Pattern(const UseDef& uses) : uses_(uses) {}

  // The value that float casts of its block make `var` of; `var` itself where there is none.
  Var* BehindCasts(Var* var) const;
  // The nearest of `var` and the values that float casts make it of that has this type; null for none.
  Var* InType(Var* var, DType dtype) const;
  bool Same(Var* a, Var* b) const { return BehindCasts(a) == BehindCasts(b); }

  // The op of one of these types, in the block of `reader`, that defines the temp `var` or the value behind its casts; null for none. With
  // `alone`, only one operand reads each of these values.
  const Op* Producer(const Var& var, const Op& reader, std::initializer_list<absl::string_view> types, bool alone = true) const;
  // The ops that read `var`, directly or through float casts, each once, in order; nullopt where they are too many, and where it or a cast
  // of it is fetched.
  std::optional<std::vector<Op*>> ReadersBehindCasts(const Var& var) const;
  // The number that a float constant of one element is.
  static std::optional<double> Number(const Var& var);
  // Of an op with operands X and Y, one of them a number: that number and the other operand.
  struct WithNumber {
    Var* x;
    double number;
  };
  static std::optional<WithNumber> SplitNumber(const Op& op);
  // `op` multiplies by a number, whether it is elementwise_mul, elementwise_div or scale: the operand and the factor.
  static std::optional<WithNumber> Scaled(const Op& op);
  // The same for sums: elementwise_add or scale.
  static std::optional<WithNumber> Shifted(const Op& op);
  // The ends of a clip, where they are numbers.
  struct Ends {
    double low, high;
  };
  static std::optional<Ends> ClipEnds(const Op& op);
  // The other operand of an op with two, one of which is `var`; null otherwise.
  static Var* Other(const Op& op, const Var& var);

 private:
  const Op* CastInFrontOf(const Var& var) const;
  bool AddReaders(const Var& var, int* uses, std::vector<Op*>* readers) const;

  const UseDef& uses_;
};

// The op changes nothing but one type that is fused (IsFusedType) to another.
bool IsFloatCast(const Op& op);

}  // namespace ampc
