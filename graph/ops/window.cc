#include "graph/ops/window.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace ampc::ops {
namespace {

// Reads a list attribute of `n` positive numbers; `fallback` for all when the op has no such attribute.
absl::Status ReadList(const Op& op, absl::string_view name, size_t n, std::vector<int64_t>* out) {
  *out = op.GetInts(name);
  if (out->empty()) out->assign(n, 1);
  if (out->size() != n) return BadInputError(absl::StrCat(name, " has ", out->size(), " numbers, needs ", n));
  for (int64_t v : *out) {
    if (v <= 0 || v > kMostWindow) return BadInputError(absl::StrCat(name, " has ", v, ", needs positive numbers up to ", kMostWindow));
  }
  return absl::OkStatus();
}

absl::Status ReadPaddings(const Op& op, Windows* windows) {
  const std::vector<int64_t> pads = op.GetInts("paddings");
  const size_t n = windows->size();
  if (pads.empty()) return absl::OkStatus();
  if (pads.size() != n && pads.size() != 2 * n) {
    return BadInputError(absl::StrCat("paddings has ", pads.size(), " numbers, needs ", n, " or ", 2 * n));
  }
  for (size_t i = 0; i < n; ++i) {
    (*windows)[i].before = pads.size() == n ? pads[i] : pads[2 * i];
    (*windows)[i].after = pads.size() == n ? pads[i] : pads[2 * i + 1];
    for (const int64_t pad : {(*windows)[i].before, (*windows)[i].after}) {
      if (pad < 0 || pad > kMostWindow) return BadInputError(absl::StrCat("paddings has ", pad, ", needs 0 to ", kMostWindow));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool ChannelsLast(absl::string_view layout) { return layout == "NHWC" || layout == "NDHWC" || layout == "NLC"; }

absl::StatusOr<Windows> ReadWindows(const Op& op, absl::Span<const int64_t> in, absl::Span<const int64_t> kernel) {
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  for (const absl::Status& s : {ReadList(op, "strides", in.size(), &strides), ReadList(op, "dilations", in.size(), &dilations)}) {
    if (!s.ok()) return s;
  }
  if (kernel.size() != in.size()) return BadInputError(absl::StrCat("the window has ", kernel.size(), " sizes, needs ", in.size()));
  Windows windows(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    windows[i] = {kernel[i], strides[i], dilations[i]};
    if (Reach(windows[i]) > kMostWindow) {
      return BadInputError(absl::StrCat("the window reaches over ", Reach(windows[i]), " positions, needs up to ", kMostWindow));
    }
  }
  const std::string algorithm = op.GetString("padding_algorithm", "EXPLICIT");
  if (algorithm == "EXPLICIT") {
    if (absl::Status s = ReadPaddings(op, &windows); !s.ok()) return s;
  } else if (algorithm == "SAME") {
    for (size_t i = 0; i < in.size(); ++i) {
      Window& w = windows[i];
      w.dilation = 1;
      if (!IsKnown(in[i])) continue;
      const int64_t out = (in[i] + w.stride - 1) / w.stride;
      const int64_t pad = std::max<int64_t>((out - 1) * w.stride + w.kernel - in[i], 0);
      w.before = pad / 2;
      w.after = pad - w.before;
    }
  } else if (algorithm != "VALID") {
    return BadInputError(absl::StrCat("padding_algorithm is '", algorithm, "', needs EXPLICIT, SAME or VALID"));
  }
  return windows;
}

int64_t WindowOutput(const Window& w, int64_t in, bool ceil_mode) {
  if (!IsKnown(in) || !IsKnown(w.kernel)) return kUnknownDim;
  const int64_t room = SatSub(in + w.before + w.after, Reach(w));
  if (room < 0) return ceil_mode && room > -w.stride ? 1 : 0;  // the only window may lack positions at its end
  return (ceil_mode ? (room + w.stride - 1) / w.stride : room / w.stride) + 1;
}

}  // namespace ampc::ops
