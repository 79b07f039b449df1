#include "runtime/tune/sensitivities.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "graph/base/status_macros.h"
#include "passes/amp/decide/low_penalty.h"

namespace ampc {
namespace {

constexpr int kMostCuts = 16;              // for one prediction
constexpr int kMostSplits = 16;            // for one answer
constexpr double kWorthSplitting = 0.004;  // of what all units gain
constexpr double kWorst = 1e3;             // an error beyond counts as this

// Roundings of different ops are independent of each other: squares of their errors add up.
double Squared(double error) {
  const double limited = error < kWorst ? error : kWorst;  // NaN, too
  return limited * limited;
}

}  // namespace

Sensitivities::Sensitivities(const TunedModel& model, Functions functions, const Assignment& all, double error,
                             const std::vector<double>& worth)
    : model_(model), functions_(std::move(functions)), all_(all), worth_(worth) {
  OpUnit whole;
  for (const Op* op : model.candidates()) {
    if (all[op->id()]) whole.ops.push_back(op);
  }
  if (whole.ops.empty()) return;
  whole.error = error;
  whole.measured = true;
  all_gain_ = GainOf(whole);
  units_.push_back(std::move(whole));
}

double Sensitivities::GainOf(const OpUnit& unit) const {
  double gain = 0;
  for (const Op* op : unit.ops) gain += model_.OpSeconds(*op, false) - model_.OpSeconds(*op, true) + worth_[op->id()];
  return gain;
}

double Sensitivities::PenaltyOf(const Assignment& low) const {
  double sum = 0;
  for (const OpUnit& unit : units_) sum += IsLow(unit, low) ? Squared(unit.error) : 0;
  return sum;
}

absl::Status Sensitivities::Measure(OpUnit* unit) const {
  Assignment low = model_.Fp32();
  for (const Op* op : unit->ops) low[op->id()] = true;
  AMPC_ASSIGN_OR_RETURN(unit->error, functions_.measure(low));
  unit->measured = true;
  return absl::OkStatus();
}

// The half behind is cheaper to run.
absl::Status Sensitivities::SplitUnit(size_t at) {
  std::vector<OpUnit> halves = Split(units_[at]);
  OpUnit &before = halves[0], &behind = halves[1];
  AMPC_RETURN_IF_ERROR(Measure(&behind));
  const double whole = Squared(units_[at].error), part = Squared(behind.error);
  if (part <= 0.01 * whole) {
    before.error = units_[at].error;
    before.measured = units_[at].measured;
  } else if (part >= 0.8 * whole) {
    before.error = std::sqrt(std::max(whole - part, 0.01 * whole));  // errors may also hide each other
  } else {
    AMPC_RETURN_IF_ERROR(Measure(&before));
  }
  units_[at] = std::move(before);
  units_.insert(units_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(behind));
  return absl::OkStatus();
}

absl::StatusOr<Assignment> Sensitivities::Cheapest(double price) const {
  LowPenalty penalty;
  for (const double worth : worth_) penalty.seconds.push_back(-worth);
  penalty.unit.assign(model_.program().num_op_ids(), -1);
  for (size_t u = 0; u < units_.size(); ++u) {
    penalty.seconds[units_[u].ops[0]->id()] += price * Squared(units_[u].error);
    for (const Op* op : units_[u].ops) penalty.unit[op->id()] = static_cast<int>(u);
  }
  return model_.Fastest(penalty);
}

std::vector<const OpUnit*> Sensitivities::Between(const Assignment& fewer, const Assignment& more, double error) const {
  std::vector<const OpUnit*> units;
  for (const OpUnit& unit : units_) {
    if (unit.error <= error && IsLow(unit, more) && !IsLow(unit, fewer)) units.push_back(&unit);
  }
  const auto price = [this](const OpUnit* unit) { return Squared(unit->error) / std::max(GainOf(*unit), 1e-12); };
  std::stable_sort(units.begin(), units.end(), [&](const OpUnit* a, const OpUnit* b) { return price(a) < price(b); });
  return units;
}

// The cuts at prices between none and any have their answers on the lower hull of cost and penalty: the one that is next to `error` is
// searched, and filled up with the units that still fit.
absl::StatusOr<Assignment> Sensitivities::Predicted(double error) const {
  const double limit = Squared(error);
  Assignment over = all_, within = model_.Fp32();
  if (PenaltyOf(over) <= limit) return over;
  AMPC_ASSIGN_OR_RETURN(double cost_over, functions_.cost(over));
  AMPC_ASSIGN_OR_RETURN(double cost_within, functions_.cost(within));
  for (int cut = 0; cut < kMostCuts; ++cut) {
    const double cost = cost_within - cost_over, penalty = PenaltyOf(over) - PenaltyOf(within);
    if (!(cost > 0) || !(penalty > 0)) break;
    AMPC_ASSIGN_OR_RETURN(const Assignment low, Cheapest(cost / penalty));
    if (low == over || low == within) break;
    const bool fits = PenaltyOf(low) <= limit;
    (fits ? within : over) = low;
    AMPC_ASSIGN_OR_RETURN((fits ? cost_within : cost_over), functions_.cost(low));
  }
  Assignment filled = within;
  double penalty = PenaltyOf(within);
  for (const OpUnit* unit : Between(within, all_, error)) {
    if (penalty + Squared(unit->error) > limit) continue;
    penalty += Squared(unit->error);
    for (const Op* op : unit->ops) filled[op->id()] = true;
  }
  AMPC_ASSIGN_OR_RETURN(const double cost_filled, functions_.cost(filled));
  return cost_filled <= cost_within ? filled : within;
}

absl::StatusOr<Assignment> Sensitivities::Within(double error) {
  for (int split = 0; split < kMostSplits && functions_.may_measure(); ++split) {
    AMPC_ASSIGN_OR_RETURN(const Assignment low, Predicted(error));
    std::optional<size_t> most;
    for (size_t u = 0; u < units_.size(); ++u) {
      const OpUnit& unit = units_[u];
      if ((unit.measured && !unit.MaySplit()) || IsLow(unit, low) || GainOf(unit) < kWorthSplitting * all_gain_) continue;
      if (!most.has_value() || GainOf(unit) > GainOf(units_[*most])) most = u;
    }
    if (!most.has_value()) return low;
    AMPC_RETURN_IF_ERROR(units_[*most].measured ? SplitUnit(*most) : Measure(&units_[*most]));
  }
  return Predicted(error);
}

absl::StatusOr<bool> Sensitivities::MeasureInferred(const Assignment& low) {
  bool any = false;
  for (OpUnit& unit : units_) {
    if (unit.measured || !IsLow(unit, low)) continue;
    AMPC_RETURN_IF_ERROR(Measure(&unit));
    any = true;
  }
  return any;
}

}  // namespace ampc
