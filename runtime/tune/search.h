// Search: the fastest good assignment of a model, by sensitivities of units of ops, cuts and runs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tune/sensitivities.h"
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
    std::vector<double> errors;  // by the inputs that decide
    TunePoint told;
  };

  // The goal of the options; flops where no assignment is predicted to be faster than fp32.
  absl::StatusOr<std::string> GoalInEffect();
  void SetGoal(const std::string& goal);
  // Predicted time, less what low ops are worth: the goal makes it least.
  double CostOf(double seconds, const Assignment& low) const;
  double CostOf(int point) const;
  // Of two points: less cost, or as much and more that is low.
  bool IsBetter(int a, int b) const;
  std::vector<int> ByCost() const;
  absl::StatusOr<Assignment> Fastest() const;
  absl::Status FindAndVerify();
  absl::StatusOr<int> Evaluate(const Assignment& low);
  // Sensitivities are measured on the inputs on which the point is worst.
  absl::Status KeepWorst(int point);
  // The error of what lies behind low ops.
  absl::StatusOr<double> Measure(const Assignment& low);
  // Of an assignment that need not have been run.
  absl::StatusOr<double> PredictedSeconds(const Assignment& low);
  absl::StatusOr<double> PredictedCost(const Assignment& low);
  // As many as possible of the units that are low in the bad point only become low in the good one.
  absl::StatusOr<int> Fill(int bad, int good);
  absl::Status Refine();
  // The error to aim at after that point, less or more than the last one.
  double NextAim(double aim, int point) const;
  absl::Status Verify();
  void Conclude();
  bool MayEvaluate() const { return result_.evaluations < limit_; }
  // A third of the evaluations is left for whole runs.
  bool MayMeasure() const { return 3 * (result_.partial - partial_before_) < 2 * (limit_ - before_); }
  absl::Status ReportStage(const std::string& stage) const;

  const TunedModel& model_;
  Trials& trials_;
  const TuneOptions& options_;
  const Good good_;
  TuneResult& result_;
  std::vector<int> deciding_, held_back_;
  std::vector<double> worth_;  // by Op::id: seconds that a low op is worth besides its own
  std::optional<Sensitivities> sensitivities_;
  std::map<Assignment, double> seconds_;  // predicted
  std::vector<Point> points_;
  std::map<Assignment, int> known_;  // in `points_`
  int fastest_ = 0, fp32_ = 0;
  int limit_ = 0;                        // of result_.evaluations, by which this search ends
  int before_ = 0, partial_before_ = 0;  // evaluations of the search that the inputs held back refused
};

}  // namespace ampc
