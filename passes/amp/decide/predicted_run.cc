#include "passes/amp/decide/predicted_run.h"

#include <algorithm>
#include <vector>

#include "passes/amp/decide/cast_demand.h"

namespace ampc {
namespace {

// The most bytes of temps and feeds of the main block that live at once; `bytes` by Var::id.
double PeakOf(const Program& program, const std::vector<double>& bytes) {
  const auto& ops = program.main().ops();
  std::vector<int> last(program.num_var_ids(), -1);
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    for (const Var* var : ops[i]->inputs()) last[var->id()] = i;
  }
  for (const Var* var : program.fetches) last[var->id()] = static_cast<int>(ops.size());
  double now = 0;
  for (const Var* var : program.feeds) now += bytes[var->id()];
  double peak = now;
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    for (const Var* var : ops[i]->outputs()) now += bytes[var->id()];
    peak = std::max(peak, now);
    const auto free = [&](const Var* var) {
      if (last[var->id()] > i) return;
      last[var->id()] = static_cast<int>(ops.size());  // freed once
      now -= bytes[var->id()];
    };
    for (const Var* var : ops[i]->outputs()) free(var);
    for (const Var* var : ops[i]->inputs()) free(var);
  }
  return peak;
}

}  // namespace

PredictedRun Predict(const Program& program, const AmpDecision& decision, const TimeModel& model) {
  PredictedRun time;
  ForEachOp(program, [&](const Op& op) {
    const double fp32 = model.OpSeconds(op, false);
    time.fp32 += fp32;
    time.mixed += decision.For(op).low ? model.OpSeconds(op, true) : fp32;
  });
  const auto cast = [&](const Var& var, int block) {
    const double seconds = model.CastSeconds(var, block);
    time.mixed += seconds;
    time.casts += seconds > 0 ? 1 : 0;
  };
  const CastDemand demand(program, decision, [&](const Var& fetch) {
    return AmpDecision::Has(decision.keep_var, fetch.id())  ? ReadsAs::kFp32
           : AmpDecision::Has(decision.low_var, fetch.id()) ? ReadsAs::kLow
                                                            : ReadsAs::kAsItsOp;
  });
  std::vector<double> fp32(program.num_var_ids(), 0), mixed;  // bytes of values
  ForEachVar(program, [&](const Var& var) {
    if (var.kind == VarKind::kTemp || var.kind == VarKind::kFeed)
      fp32[var.id()] = model.Elements(var) * static_cast<double>(SizeOf(IsRetyped(var) ? var.was : var.type.dtype));
  });
  mixed = fp32;
  const auto is_low = [&](const Op* op) { return op != nullptr && decision.For(*op).low; };
  for (const ReadersInBlock& value : demand.values()) {
    const bool made_low =
        is_low(value.maker) || (value.value->kind == VarKind::kFeed && AmpDecision::Has(decision.low_var, value.value->id()));
    const absl::Span<const ReaderOfValue> readers = demand.ReadersOf(value);
    const bool other = std::any_of(readers.begin(), readers.end(), [&](const ReaderOfValue& reader) {
      const bool low = reader.as == ReadsAs::kLow || (reader.as == ReadsAs::kAsItsOp && is_low(reader.op));
      return low != made_low;
    });
    const double whole = fp32[value.value->id()];
    mixed[value.value->id()] = other ? 1.5 * whole : made_low ? whole / 2 : whole;
    if (other) cast(*value.value, value.block);
  }
  for (const FixedResult& result : demand.fixed_results()) {
    if (is_low(result.op)) cast(*result.value, result.op->block().index());
  }
  time.fp32_bytes = PeakOf(program, fp32);
  time.mixed_bytes = PeakOf(program, mixed);
  return time;
}

}  // namespace ampc
