// Sensitivities: the error that units of ops bring when they are low, and the assignments that follow from it.
//
// One unit holds all ops at first. A unit that would have to stay fp32 as a whole is split, and one half is run; what the other half brings
// follows where one of them brings nearly all.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tune/op_units.h"
#include "runtime/tune/tuned_model.h"

namespace ampc {

class Sensitivities {
 public:
  struct Functions {
    // The error of an assignment, by a run of what lies behind its low ops.
    std::function<absl::StatusOr<double>(const Assignment& low)> measure;
    // The seconds that are to become least.
    std::function<absl::StatusOr<double>(const Assignment& low)> cost;
    std::function<bool()> may_measure;
  };
  // `all` is the assignment of the least cost and `error` what it brings; `worth` by Op::id: seconds that a low op is worth besides its
  // own.
  Sensitivities(const TunedModel& model, Functions functions, const Assignment& all, double error, const std::vector<double>& worth);

  // The cheapest assignment with that error, as far as units tell, once units are split as finely as pays.
  absl::StatusOr<Assignment> Within(double error);
  // Measures the units that are low there and whose error only followed. False where there were none.
  absl::StatusOr<bool> MeasureInferred(const Assignment& low);

  // The units that are low in `more` only and may alone bring that error: those first that bring little for their gain.
  std::vector<const OpUnit*> Between(const Assignment& fewer, const Assignment& more, double error) const;
  const std::vector<OpUnit>& units() const { return units_; }

 private:
  absl::StatusOr<Assignment> Predicted(double error) const;
  absl::StatusOr<Assignment> Cheapest(double price) const;
  absl::Status SplitUnit(size_t at);
  absl::Status Measure(OpUnit* unit) const;
  double PenaltyOf(const Assignment& low) const;
  double GainOf(const OpUnit& unit) const;
  static bool IsLow(const OpUnit& unit, const Assignment& low) { return low[unit.ops[0]->id()]; }

  const TunedModel& model_;
  const Functions functions_;
  const Assignment all_;
  const std::vector<double>& worth_;
  std::vector<OpUnit> units_;
  double all_gain_ = 0;
};

}  // namespace ampc
