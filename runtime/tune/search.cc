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

constexpr int kFirstUnits = 24;
constexpr size_t kMostKept = 4;  // inputs that sensitivities are measured on
constexpr int kMostCuts = 12;    // for one narrowing
constexpr int kMostRounds = 8;   // of splitting
constexpr int kMostSplits = 8;   // units in a round
constexpr int kMostFills = 3;    // of one assignment, each of which passes over a unit that does not fit
constexpr int kMostVain = 3;     // rounds that find nothing faster
constexpr double kWorth = 10;    // times what all candidates take: what low products are worth at goal flops
constexpr double kWorst = 1e3;   // an error beyond counts as this
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Roundings of different ops are independent of each other: squares of their errors add up.
double Squared(double error) {
  const double limited = error < kWorst ? error : kWorst;  // NaN, too
  return limited * limited;
}

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

absl::Status Search::Tell(const std::string& stage) const {
  if (!options_.progress || options_.progress(stage, result_.evaluations)) return absl::OkStatus();
  return absl::CancelledError("cancelled by the caller");
}

double Search::GainOf(const OpUnit& unit) const {
  double gain = 0;
  for (const Op* op : unit.ops) gain += model_.OpSeconds(*op, false) - model_.OpSeconds(*op, true) + worth_[op->id()];
  return gain;
}

double Search::PenaltyOf(const Assignment& low) const {
  double sum = 0;
  for (const OpUnit& unit : units_) sum += IsLow(unit, low) ? Squared(unit.error) : 0;
  return sum;
}

void Search::SetGoal(const std::string& goal) {
  result_.goal = goal;
  worth_.assign(model_.program().num_op_ids(), 0);
  if (goal != "flops") return;
  double all = 0, seconds = 0;
  for (const Op* op : model_.candidates()) {
    all += ProductFlops(*op);
    seconds += model_.OpSeconds(*op, false);
  }
  for (const Op* op : model_.candidates()) worth_[op->id()] = all > 0 ? kWorth * seconds * ProductFlops(*op) / all : 0;
}

double Search::CostOf(int point) const {
  double cost = points_[point].told.predicted.mixed;
  for (const Op* op : model_.candidates()) cost -= points_[point].low[op->id()] ? worth_[op->id()] : 0;
  return cost;
}

bool Search::IsBetter(int a, int b) const {
  const double x = CostOf(a), y = CostOf(b), slack = 1e-9 * points_[b].told.predicted.mixed;
  return x < y - slack || (x <= y + slack && points_[a].told.low_ops > points_[b].told.low_ops);
}

absl::StatusOr<int> Search::Evaluate(const Assignment& low) {
  if (const auto known = known_.find(low); known != known_.end()) return known->second;
  AMPC_RETURN_IF_ERROR(Tell("running assignments"));
  Point point;
  point.low = low;
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<AmpDecision> decision, model_.Decide(low));
  TunePoint& told = point.told;
  told.predicted = model_.Predicted(*decision);
  told.bytes = told.predicted.mixed_bytes + model_.WeightBytes(*decision);
  told.low_ops = static_cast<int>(std::count(low.begin(), low.end(), true));
  told.low_flops = LowFlops(model_.program(), low);
  AMPC_ASSIGN_OR_RETURN(const Trial trial, trials_.Run(low, deciding_));
  ++result_.evaluations;
  result_.whole_runs += 1;
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

absl::Status Search::Measure(OpUnit* unit) {
  AMPC_RETURN_IF_ERROR(Tell("measuring sensitivities"));
  Assignment low = model_.Fp32();
  for (const Op* op : unit->ops) low[op->id()] = true;
  AMPC_ASSIGN_OR_RETURN(const Trial trial, trials_.RunBehind(low));
  ++result_.evaluations;
  ++result_.partial;
  result_.whole_runs += trial.share * static_cast<double>(trials_.num_kept()) / static_cast<double>(deciding_.size());
  unit->error = trial.error;
  unit->measured = true;
  return absl::OkStatus();
}

absl::Status Search::MeasureAll() {
  for (OpUnit& unit : units_) {
    if (!unit.measured && MayEvaluate()) AMPC_RETURN_IF_ERROR(Measure(&unit));
  }
  return absl::OkStatus();
}

absl::StatusOr<Assignment> Search::Cheapest(double price) const {
  LowPenalty penalty;
  for (const double worth : worth_) penalty.seconds.push_back(-worth);
  penalty.unit.assign(model_.program().num_op_ids(), -1);
  for (size_t u = 0; u < units_.size(); ++u) {
    penalty.seconds[units_[u].ops[0]->id()] += price * Squared(units_[u].error);
    for (const Op* op : units_[u].ops) penalty.unit[op->id()] = static_cast<int>(u);
  }
  return model_.Fastest(penalty);
}

absl::Status Search::Narrow(int* bad, int* good) {
  for (int cut = 0; cut < kMostCuts && MayEvaluate(); ++cut) {
    const double seconds = CostOf(*good) - CostOf(*bad);
    const double penalty = PenaltyOf(points_[*bad].low) - PenaltyOf(points_[*good].low);
    if (!(seconds > 0) || !(penalty > 0)) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(const Assignment low, Cheapest(seconds / penalty));
    if (low == points_[*bad].low || low == points_[*good].low) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(const int point, Evaluate(low));
    (points_[point].told.good ? *good : *bad) = point;
  }
  return absl::OkStatus();
}

std::vector<const OpUnit*> Search::Fillers(int bad, int good) const {
  std::vector<const OpUnit*> open;
  for (const OpUnit& unit : units_) {
    if (options_.budget.has_value() && !(unit.error <= *options_.budget)) continue;
    if (IsLow(unit, points_[bad].low) && !IsLow(unit, points_[good].low)) open.push_back(&unit);
  }
  const auto price = [this](const OpUnit* unit) { return Squared(unit->error) / std::max(GainOf(*unit), 1e-12); };
  std::stable_sort(open.begin(), open.end(), [&](const OpUnit* a, const OpUnit* b) { return price(a) < price(b); });
  return open;
}

absl::StatusOr<int> Search::Fill(int bad, int good) {
  std::vector<const OpUnit*> open = Fillers(bad, good);
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

absl::StatusOr<bool> Search::SplitSome(int bad, int good) {
  std::vector<size_t> open;
  for (size_t u = 0; u < units_.size(); ++u) {
    if (units_[u].MaySplit() && IsLow(units_[u], points_[bad].low) && !IsLow(units_[u], points_[good].low)) open.push_back(u);
  }
  std::stable_sort(open.begin(), open.end(), [this](size_t a, size_t b) { return GainOf(units_[a]) > GainOf(units_[b]); });
  open.resize(std::min<size_t>(open.size(), kMostSplits));
  std::vector<OpUnit> units;
  for (size_t u = 0; u < units_.size(); ++u) {
    if (std::find(open.begin(), open.end(), u) == open.end()) {
      units.push_back(std::move(units_[u]));
    } else {
      for (OpUnit& part : Split(units_[u])) units.push_back(std::move(part));
    }
  }
  units_ = std::move(units);
  AMPC_RETURN_IF_ERROR(MeasureAll());
  return !open.empty();
}

// From all of the fastest assignment's ops to units of single ops, where these are what has to stay fp32.
absl::Status Search::Refine() {
  std::vector<const Op*> ops;
  for (const Op* op : model_.candidates()) {
    if (points_[fastest_].low[op->id()]) ops.push_back(op);
  }
  units_ = MakeUnits(ops, kFirstUnits);
  AMPC_RETURN_IF_ERROR(KeepWorst(fastest_));
  AMPC_RETURN_IF_ERROR(MeasureAll());
  int best = fp32_, vain = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    int bad = fastest_, good = fp32_;
    AMPC_RETURN_IF_ERROR(Narrow(&bad, &good));
    AMPC_ASSIGN_OR_RETURN(good, Fill(bad, good));
    vain = IsBetter(good, best) ? 0 : vain + 1;
    if (IsBetter(good, best)) best = good;
    if (vain == kMostVain || !MayEvaluate()) break;
    AMPC_ASSIGN_OR_RETURN(const bool split, SplitSome(fastest_, best));
    if (!split) break;
  }
  return absl::OkStatus();
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
      AMPC_RETURN_IF_ERROR(Tell("verifying"));
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

absl::Status Search::FindAndVerify() {
  SetGoal(options_.goal);
  AMPC_ASSIGN_OR_RETURN(fp32_, Evaluate(model_.Fp32()));
  AMPC_ASSIGN_OR_RETURN(Assignment fastest, Cheapest(0));
  AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<AmpDecision> decision, model_.Decide(fastest));
  const double fp32_seconds = points_[fp32_].told.predicted.mixed;
  if (result_.goal == "time" && model_.Predicted(*decision).mixed >= fp32_seconds * (1 - 1e-9)) {
    SetGoal("flops");
    AMPC_ASSIGN_OR_RETURN(fastest, Cheapest(0));
  }
  AMPC_ASSIGN_OR_RETURN(fastest_, Evaluate(fastest));
  if (points_[fp32_].told.good && !points_[fastest_].told.good) AMPC_RETURN_IF_ERROR(Refine());
  return Verify();
}

absl::Status Search::Run(std::vector<int> deciding, std::vector<int> held_back) {
  deciding_ = std::move(deciding);
  held_back_ = std::move(held_back);
  AMPC_RETURN_IF_ERROR(FindAndVerify());
  const bool refused = std::any_of(points_.begin(), points_.end(), [](const Point& p) { return p.told.held_back_good == false; });
  if (!result_.chosen.has_value() && refused) {
    result_.notes.emplace_back("what is good on the inputs that decide is not on those held back: all inputs decide, and none verifies");
    deciding_.insert(deciding_.end(), held_back_.begin(), held_back_.end());
    held_back_.clear();
    points_.clear();
    known_.clear();
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
  for (const OpUnit& unit : units_) {
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
