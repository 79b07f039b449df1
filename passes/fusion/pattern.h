// Reading of small patterns of ops, as fusion passes look for them.
#pragma once

#include <initializer_list>
#include <optional>

#include "absl/strings/string_view.h"
#include "passes/analysis/use_def.h"

namespace ampc {

class Pattern {
 public:
  explicit Pattern(const UseDef& uses) : uses_(uses) {}

  // The op of one of these types, in the block of `reader`, that defines the temp `var`; null for none. With `alone`, only one operand
  // reads it.
  const Op* Producer(const Var& var, const Op& reader, std::initializer_list<absl::string_view> types, bool alone = true) const;
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
  const UseDef& uses_;
};

// Equal but for the rounding of decimal constants.
bool IsNear(double value, double wanted);

}  // namespace ampc
