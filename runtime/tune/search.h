// Search: the fastest good assignment of a model, by sensitivities of units, cuts and runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tune/op_units.h"
#include "runtime/tune/trials.h"
#include "runtime/tune/tune.h"
#include "runtime/tune/tuned_model.h"

namespace ampc {

class Search {
 public:
  // `good` judges a trial on these inputs. All have to outlive the search; `result` gets points, counts and what is chosen.
  using Good = std::function<absl::StatusOr<bool>(const Trial& trial, const std::vector<int>& inputs)>;
  Search(const TunedModel& model, Trials& trials, const TuneOptions& options, Good good, TuneResult* result)
      : model_(model), trials_(trials), options_(options), good_(std::move(good)), result_(*result) {}

  // Some inputs decide; the others verify what is chosen, the best first.
  absl::Status Run(std::vector<int> deciding, std::vector<int> held_back);

  // Of the point that is chosen.
  const Assignment& chosen() const { return points_[*result_.chosen].low; }
  // Why its candidates that are fp32 are, by Op::id.
  std::map<int, std::string> Reasons() const;

 private:
  struct Point {
    Assignment low;
    double penalty = 0;          // of the units that are low, as they were measured when it was found
    std::vector<double> errors;  // by the inputs that decide
    TunePoint told;
  };

  void SetGoal(const std::string& goal);
  // Predicted time, less what low ops are worth: the goal makes it least.
  double CostOf(int point) const;
  // Of two points: less cost, or as much and more that is low.
  bool IsBetter(int a, int b) const;
  std::vector<int> ByCost() const;
  absl::Status FindAndVerify();
  absl::StatusOr<int> Evaluate(const Assignment& low);
  // Sensitivities are measured on the inputs on which the point is worst.
  absl::Status KeepWorst(int point);
  absl::Status Measure(OpUnit* unit);
  absl::Status MeasureAll();
  absl::StatusOr<Assignment> Cheapest(double price) const;
  double PenaltyOf(const Assignment& low) const;
  // From a good and a bad point to such between which the cuts have no other.
  absl::Status Narrow(int* bad, int* good);
  // The units that are low in the bad point only, and may fit: those first that bring little error for their gain.
  std::vector<const OpUnit*> Fillers(int bad, int good) const;
  // As many of them as possible become low in the good point.
  absl::StatusOr<int> Fill(int bad, int good);
  absl::StatusOr<bool> SplitSome(int bad, int good);
  absl::Status Refine();
  absl::Status Verify();
  void Conclude();
  double GainOf(const OpUnit& unit) const;
  bool IsLow(const OpUnit& unit, const Assignment& low) const { return low[unit.ops[0]->id()]; }
  bool MayEvaluate() const { return result_.evaluations < options_.evaluations; }
  absl::Status Tell(const std::string& stage) const;

  const TunedModel& model_;
  Trials& trials_;
  const TuneOptions& options_;
  const Good good_;
  TuneResult& result_;
  std::vector<int> deciding_, held_back_;
  std::vector<double> worth_;  // by Op::id: seconds that a low op is worth besides its own
  std::vector<OpUnit> units_;
  std::vector<Point> points_;
  std::map<Assignment, int> known_;  // in `points_`
  int fastest_ = 0, fp32_ = 0;
};

}  // namespace ampc
