#include "runtime/convert/prediction.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/convert/sizes.h"
#include "runtime/convert/target_numbers.h"

namespace ampc {

Prediction PredictConversion(const Program& program, const AmpDecision& decision, const ConvertOptions& options) {
  Prediction out;
  if (program.num_op_ids() > kMostPredictedOps) return out;
  const DeviceNumbers& device = NumbersOfTarget(options.target);
  const ProgramSizes sizes = SizesFor(options, program);
  out.device = std::string(device.name);
  out.feeds = sizes.feeds;
  out.run = Predict(program, decision, TimeModel(program, &sizes, device, decision.low));
  out.measured = static_cast<int>(
      std::count_if(sizes.measured.begin(), sizes.measured.end(), [](const MeasuredOp& op) { return op.fp32.has_value(); }));
  out.has_instructions = (decision.low == DType::kBF16 ? device.bf16_flops : device.f16_flops) > 0;
  return out;
}

std::string Prediction::Warning() const {
  if (!has_instructions) return absl::StrCat("no faster: ", device, " has no instructions for this type");
  if (run.casts > 0 && run.mixed > run.fp32)
    return absl::StrCat("slower: the ", run.casts, " casts take more than is saved, see --level auto");
  return "no faster: what is low takes little of the time";
}

void Prediction::Write(JsonWriter& json) const {
  json.BeginObject(JsonWriter::kInline).Field("device", device).Field("feeds", feeds).Field("seconds_before", run.fp32);
  json.Field("seconds_after", run.mixed).Field("casts", run.casts).Field("bytes_before", run.fp32_bytes);
  json.Field("bytes_after", run.mixed_bytes).Field("faster", faster()).Field("measured_ops", measured).EndObject();
}

}  // namespace ampc
