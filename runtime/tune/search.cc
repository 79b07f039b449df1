#include "runtime/tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"

namespace ampc {
namespace {

constexpr size_t kMostKept = 4;  // inputs that sensitivities are measured on
constexpr int kMostAims = 12;    // assignments that are run, each for another error to aim at
constexpr int kMostFills = 2;    // of one assignment, each of which passes over a unit that does not fit
constexpr double kClose = 1.1;   // aims closer to each other are not worth a run
constexpr double kWorth = 10;    // times what all candidates take: what low products are worth at goal flops
constexpr double kEqual = 0.03;  // and at goal time: what differs by less, by prediction, is as fast, and halves what is stored
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double LowFlops(const Program& program, const Assignment& low) {
  double all = 0, part = 0;
  ForEachOp(program, [&](const Op& op) {
    const double flops = ProductFlops(op);
    all += flops;
    part += low[op.id()] ? flops : 0;
  });
  return all > 0 ? part / all : 0;
}

}  // namespace

absl::Status Search::ReportStage(const std::string& stage) const {
  if (!options_.progress || options_.progress(stage, result_.evaluations)) return absl::OkStatus();
  return absl::CancelledError("cancelled by the caller");
}

void Search::SetGoal(const std::string& goal) {
  result_.goal = goal;
  worth_.assign(model_.program().num_op_ids(), 0);
  double all = 0, seconds = 0;
  for (const Op* op : model_.candidates()) {
    all += ProductFlops(*op);
    seconds += model_.OpSeconds(*op, false);
  }
  const double whole = seconds * (goal == "flops" ? kWorth : kEqual);
  for (const Op* op : model_.candidates()) worth_[op->id()] = all > 0 ? whole * ProductFlops(*op) / all : 0;
}

double Search::CostOf(double seconds, const Assignment& low) const {
  for (const Op* op : model_.candidates()) seconds -= low[op->id()] ? worth_[op->id()] : 0;
  return seconds;
}

double Search::CostOf(int point) const { return CostOf(points_[point].told.predicted.mixed, points_[point].low); }

bool Search::IsBetter(int a, int b) const {
  const double x = CostOf(a), y = CostOf(b), slack = 1e-9 * points_[b].told.predicted.mixed;
  return x < y - slack || (x <= y + slack && points_[a].told.low_ops > points_[b].told.low_ops);
}

absl::StatusOr<int> Search::Evaluate(const Assignment& low) {
  if (const auto known = known_.find(low); known != known_.end()) return known->second;
  AMPC_RETURN_IF_ERROR(ReportStage("running assignments"));
  Point point;
  point.low = low;
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<AmpDecision> decision, model_.Decide(low));
  TunePoint& told = point.told;
  told.predicted = model_.Predicted(*decision);
  told.bytes = told.predicted.mixed_bytes + model_.WeightBytes(*decision);
  told.low_ops = static_cast<int>(std::count(low.begin(), low.end(), true));
  told.low_flops = LowFlops(model_.program(), low);
  const bool is_original = std::find(low.begin(), low.end(), true) == low.end();
  AMPC_ASSIGN_OR_RETURN(const Trial trial, is_original ? trials_.Original(deciding_) : trials_.Run(low, deciding_));
  result_.evaluations += is_original ? 0 : 1;
  result_.whole_runs += is_original ? 0 : 1;
  point.errors = trial.errors;
  told.error = trial.error;
  told.why = trial.passed ? "" : trial.why;
  AMPC_ASSIGN_OR_RETURN(told.good, good_(trial, deciding_));
  points_.push_back(std::move(point));
  const int at = static_cast<int>(points_.size()) - 1;
  known_.emplace(low, at);
  return at;
}

absl::Status Search::KeepWorst(int point) {
  const std::vector<double>& errors = points_[point].errors;
  std::vector<size_t> order(deciding_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return errors[a] > errors[b]; });
  order.resize(std::min<size_t>(order.size(), kMostKept));
  std::vector<int> worst;
  for (const size_t i : order) worst.push_back(deciding_[i]);
  return trials_.Keep(worst);
}

absl::StatusOr<double> Search::Measure(const Assignment& low) {
  AMPC_RETURN_IF_ERROR(ReportStage("measuring sensitivities"));
  AMPC_ASSIGN_OR_RETURN(const Trial trial, trials_.RunBehind(low));
  ++result_.evaluations;
  ++result_.partial;
  result_.whole_runs += trial.share * static_cast<double>(trials_.num_kept()) / static_cast<double>(deciding_.size());
  return trial.error;
}

absl::StatusOr<double> Search::PredictedSeconds(const Assignment& low) {
  auto known = seconds_.find(low);
  if (known == seconds_.end()) {
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<AmpDecision> decision, model_.Decide(low));
    known = seconds_.emplace(low, model_.Predicted(*decision).mixed).first;
  }
  return known->second;
}

absl::StatusOr<double> Search::PredictedCost(const Assignment& low) {
  AMPC_ASSIGN_OR_RETURN(const double seconds, PredictedSeconds(low));
  return CostOf(seconds, low);
}

absl::StatusOr<int> Search::Fill(int bad, int good) {
  const double most = options_.budget.value_or(kInfinity);
  std::vector<const OpUnit*> open = sensitivities_->Between(points_[good].low, points_[bad].low, most);
  Assignment base = points_[good].low;
  int best = good;
  for (int fill = 0; fill < kMostFills && !open.empty(); ++fill) {
    const auto with = [&](size_t count) {
      Assignment low = base;
      for (size_t i = 0; i < count; ++i) {
        for (const Op* op : open[i]->ops) low[op->id()] = true;
      }
      return low;
    };
    size_t fits = 0, too_many = open.size() + 1;
    while (too_many - fits > 1 && MayEvaluate()) {
      const size_t middle = (fits + too_many) / 2;
      AMPC_ASSIGN_OR_RETURN(const int point, Evaluate(with(middle)));
      (points_[point].told.good ? fits : too_many) = middle;
      if (points_[point].told.good && IsBetter(point, best)) best = point;
    }
    base = with(fits);
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(std::min(fits + 1, open.size())));  // the next one does not fit
  }
  return best;
}

double Search::NextAim(double aim, int point) const {
  const TunePoint& told = points_[point].told;
  if (!options_.budget.has_value()) return told.good ? aim * 2 : aim / 2;
  const double scale = std::isfinite(told.error) && told.error > 0 ? *options_.budget / told.error : 0.5;
  return told.good ? aim * std::clamp(scale, 1.2, 4.0) : aim * std::clamp(scale, 0.25, 0.8);
}

// Between an aim that was good and one that was bad, the next one lies in the middle.
absl::Status Search::Refine() {
  AMPC_RETURN_IF_ERROR(KeepWorst(fastest_));
  const double whole = points_[fastest_].told.error;
  const Sensitivities::Functions functions = {[this](const Assignment& low) { return Measure(low); },
                                              [this](const Assignment& low) { return PredictedCost(low); },
                                              [this] { return MayMeasure(); }};
  sensitivities_.emplace(model_, functions, points_[fastest_].low, whole, worth_);
  double aim = options_.budget.value_or(std::isfinite(whole) ? whole / 2 : 1), good_aim = 0, bad_aim = kInfinity;
  int good = fp32_, bad = fastest_;
  for (int run = 0; run < kMostAims && MayEvaluate(); ++run) {
    AMPC_ASSIGN_OR_RETURN(const Assignment low, sensitivities_->Within(aim));
    AMPC_ASSIGN_OR_RETURN(const int point, Evaluate(low));
    if (points_[point].told.good) {
      good_aim = aim;
      if (IsBetter(point, good)) good = point;
    } else {
      AMPC_ASSIGN_OR_RETURN(const bool learned, sensitivities_->MeasureInferred(low));
      if (learned) continue;  // the same aim may mean another assignment
      bad_aim = aim;
      bad = point;
    }
    aim = NextAim(aim, point);
    if (good_aim > 0 && (aim >= bad_aim || aim <= good_aim)) aim = std::sqrt(good_aim * bad_aim);
    if (bad_aim < kClose * good_aim || !std::isfinite(aim) || aim >= whole) break;
  }
  return Fill(bad, good).status();
}

std::vector<int> Search::ByCost() const {
  std::vector<int> order(points_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
    return std::pair(CostOf(a), -points_[a].told.low_ops) < std::pair(CostOf(b), -points_[b].told.low_ops);
  });
  return order;
}

absl::Status Search::Verify() {
  for (const int at : ByCost()) {
    Point& point = points_[at];
    const bool mixed = at != fp32_ || fastest_ == fp32_;
    if (!point.told.good || !mixed) continue;
    if (!held_back_.empty()) {
      AMPC_RETURN_IF_ERROR(ReportStage("verifying"));
      AMPC_ASSIGN_OR_RETURN(const Trial trial, trials_.Run(point.low, held_back_));
      ++result_.evaluations;
      result_.whole_runs += static_cast<double>(held_back_.size()) / static_cast<double>(deciding_.size());
      point.told.held_back_error = trial.error;
      AMPC_ASSIGN_OR_RETURN(point.told.held_back_good, good_(trial, held_back_));
      if (!*point.told.held_back_good) continue;
    }
    result_.chosen = at;
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Points by predicted time, float32 last.
void Search::Conclude() {
  std::vector<int> order = ByCost();
  std::erase(order, fp32_);
  order.push_back(fp32_);
  std::vector<Point> points;
  std::optional<size_t> chosen;
  double least = kInfinity;
  result_.best = points_.size() - 1;
  for (const int at : order) points_[at].told.cost = CostOf(at);
  for (const int at : order) {
    if (result_.chosen == static_cast<size_t>(at)) chosen = points.size();
    if (at != fp32_ && (points_[at].told.error < least || result_.best == points_.size() - 1)) {
      least = points_[at].told.error;
      result_.best = points.size();
    }
    points.push_back(std::move(points_[at]));
  }
  points_ = std::move(points);
  result_.chosen = chosen;
  for (const Point& point : points_) result_.points.push_back(point.told);
  if (!chosen.has_value()) return;
  for (const Op* op : model_.candidates()) {
    if (!points_[*chosen].low[op->id()]) result_.kept.push_back(op->outputs()[0]->exported());
  }
}

absl::StatusOr<Assignment> Search::Fastest() const {
  LowPenalty penalty;
  for (const double worth : worth_) penalty.seconds.push_back(-worth);
  return model_.Fastest(penalty);
}

absl::StatusOr<std::string> Search::GoalInEffect() {
  if (options_.goal != "time") return options_.goal;
  worth_.assign(model_.program().num_op_ids(), 0);
  AMPC_ASSIGN_OR_RETURN(const Assignment fastest, Fastest());
  AMPC_ASSIGN_OR_RETURN(const double seconds, PredictedSeconds(fastest));
  AMPC_ASSIGN_OR_RETURN(const double fp32, PredictedSeconds(model_.Fp32()));
  return seconds < fp32 * (1 - 1e-9) ? "time" : "flops";
}

absl::Status Search::FindAndVerify() {
  AMPC_ASSIGN_OR_RETURN(const std::string goal, GoalInEffect());
  SetGoal(goal);
  AMPC_ASSIGN_OR_RETURN(fp32_, Evaluate(model_.Fp32()));
  AMPC_ASSIGN_OR_RETURN(const Assignment fastest, Fastest());
  AMPC_ASSIGN_OR_RETURN(fastest_, Evaluate(fastest));
  if (points_[fp32_].told.good && !points_[fastest_].told.good) AMPC_RETURN_IF_ERROR(Refine());
  return Verify();
}

absl::Status Search::Run(std::vector<int> deciding, std::vector<int> held_back) {
  deciding_ = std::move(deciding);
  held_back_ = std::move(held_back);
  limit_ = held_back_.empty() ? options_.evaluations : options_.evaluations * 3 / 5;
  AMPC_RETURN_IF_ERROR(FindAndVerify());
  const bool refused = std::any_of(points_.begin(), points_.end(), [](const Point& p) { return p.told.held_back_good == false; });
  if (!result_.chosen.has_value() && refused) {
    result_.notes.emplace_back("what is good on the inputs that decide is not on those held back: all inputs decide, and none verifies");
    deciding_.insert(deciding_.end(), held_back_.begin(), held_back_.end());
    held_back_.clear();
    points_.clear();
    known_.clear();
    limit_ = options_.evaluations;
    before_ = result_.evaluations;
    partial_before_ = result_.partial;
    AMPC_RETURN_IF_ERROR(FindAndVerify());
  }
  result_.inputs = static_cast<int>(deciding_.size());
  result_.held_back = static_cast<int>(held_back_.size());
  Conclude();
  return absl::OkStatus();
}

std::map<int, std::string> Search::Reasons() const {
  std::map<int, std::string> reasons;
  for (const Op* op : model_.candidates()) {
    if (chosen()[op->id()]) continue;
    reasons[op->id()] = absl::StrCat("on ", model_.device().name, " it is as fast in fp32");
  }
  if (!sensitivities_.has_value()) return reasons;
  for (const OpUnit& unit : sensitivities_->units()) {
    const std::string error = std::isfinite(unit.error) ? absl::StrFormat("an error of %.3g", unit.error) : "values that are not finite";
    const bool alone = unit.ops.size() == 1;
    const std::string text = alone ? absl::StrCat("alone it brings ", error) : absl::StrCat(unit.ops.size(), " ops with it bring ", error);
    for (const Op* op : unit.ops) {
      if (!chosen()[op->id()]) reasons[op->id()] = text;
    }
  }
  return reasons;
}

}  // namespace ampc
