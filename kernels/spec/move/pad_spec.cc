#include "kernels/spec/move/pad_spec.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"

namespace ampc {
namespace {

absl::StatusOr<PadSpec> ReadAttributes(const SpecView& view, size_t rank) {
  std::vector<int64_t> pads = view.op().GetInts("paddings");
  if (view.In("Paddings") >= 0) {
    const auto value = view.Ints("Paddings");
    if (!value) return view.Unsupported("Paddings must be known before the run");
    pads = *value;
  }
  const absl::string_view type = absl::StripSuffix(view.op().type(), "_grad");
  PadSpec p;
  p.before.resize(rank);
  if (type == "pad") {
    if (pads.size() != 2 * rank) return view.Internal("needs two paddings per dimension");
    for (size_t i = 0; i < rank; ++i) p.before[i] = pads[2 * i];
    p.value = view.op().GetFloat("pad_value", 0);
    return p;
  }
  // pad3d lists its dimensions from the last one.
  const bool backward = type == "pad3d";
  if (pads.size() != 2 * (rank - 2)) return view.Internal("needs two paddings per spatial dimension");
  const size_t first = ops::ChannelsLast(view.op().GetString("data_format")) ? 1 : 2;
  for (size_t i = 0; i < rank - 2; ++i) p.before[first + i] = pads[2 * (backward ? rank - 3 - i : i)];
  const std::string mode = view.op().GetString("mode", "constant");
  p.mode = mode == "constant"                      ? PadMode::kConstant
           : mode == "replicate" || mode == "edge" ? PadMode::kEdge
           : mode == "circular"                    ? PadMode::kCircular
                                                   : PadMode::kReflect;
  p.value = view.op().GetFloat(backward ? "value" : "pad_value", 0);
  return p;
}

}  // namespace

absl::StatusOr<PadSpec> ReadPadding(const SpecView& view, const Dims& in, const Dims& out) {
  AMPC_ASSIGN_OR_RETURN(PadSpec p, ReadAttributes(view, in.size()));
  if (p.mode == PadMode::kConstant) return p;
  for (size_t d = 0; d < in.size(); ++d) {
    const bool beyond = out[d] > 0 && (p.before[d] > 0 || out[d] - p.before[d] > in[d]);
    if (beyond && in[d] == 0) return view.Unsupported("a mode that copies positions needs at least one");
    for (int64_t i : {int64_t{0}, out[d] - 1}) {
      const int64_t at = beyond ? PadSource(p.mode, i, in[d], p.before[d]) : 0;
      if (beyond && (at < 0 || at >= in[d])) return view.Internal("reflects more positions than there are");
    }
  }
  return p;
}

}  // namespace ampc
