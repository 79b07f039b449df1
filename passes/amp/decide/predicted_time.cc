#include "passes/amp/decide/predicted_time.h"

#include <algorithm>

#include "passes/amp/decide/cast_demand.h"

namespace ampc {

PredictedTime Predict(const Program& program, const AmpDecision& decision, const TimeModel& model) {
  PredictedTime time;
  ForEachOp(program, [&](const Op& op) {
    const double fp32 = model.OpSeconds(op, false);
    time.fp32 += fp32;
    time.mixed += decision.For(op).low ? model.OpSeconds(op, true) : fp32;
  });
  const auto cast = [&](const Var& var) {
    const double seconds = model.CastSeconds(var);
    time.mixed += seconds;
    time.casts += seconds > 0 ? 1 : 0;
  };
  const CastDemand demand(program, decision, [&](const Var& fetch) {
    return AmpDecision::Has(decision.keep_var, fetch.id())  ? ReadsAs::kFp32
           : AmpDecision::Has(decision.low_var, fetch.id()) ? ReadsAs::kLow
                                                            : ReadsAs::kAsItsOp;
  });
  const auto is_low = [&](const Op* op) { return op != nullptr && decision.For(*op).low; };
  for (const ReadersInBlock& value : demand.values()) {
    const bool made_low =
        is_low(value.maker) || (value.value->kind == VarKind::kFeed && AmpDecision::Has(decision.low_var, value.value->id()));
    const absl::Span<const ReaderOfValue> readers = demand.ReadersOf(value);
    const bool other = std::any_of(readers.begin(), readers.end(), [&](const ReaderOfValue& reader) {
      const bool low = reader.as == ReadsAs::kLow || (reader.as == ReadsAs::kAsItsOp && is_low(reader.op));
      return low != made_low;
    });
    if (other) cast(*value.value);
  }
  for (const FixedResult& result : demand.fixed_results()) {
    if (is_low(result.op)) cast(*result.value);
  }
  return time;
}

}  // namespace ampc
