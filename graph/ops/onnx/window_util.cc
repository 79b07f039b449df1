#include "graph/ops/onnx/window_util.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/window.h"

namespace ampc::onnx {

std::vector<int64_t> IntsOr(Lowering& l, absl::string_view name, size_t n, int64_t fallback) {
  std::vector<int64_t> values = l.GetInts(name);
  if (values.empty()) values.assign(n, fallback);
  if (values.size() == n) return values;
  Wrong(l, absl::StrCat(name, " has ", values.size(), " numbers, needs ", n));
  return std::vector<int64_t>(n, fallback);
}

std::vector<int64_t> SpatialDims(const Var* x, size_t n) {
  if (x->type.rank() != static_cast<int>(n) + 2) return std::vector<int64_t>(n, kUnknownDim);
  return std::vector<int64_t>(x->type.dims.begin() + 2, x->type.dims.end());
}

std::vector<int64_t> With(int64_t first, std::vector<int64_t> values) {
  values.insert(values.begin(), first);
  return values;
}

std::optional<OnnxWindows> ReadOnnxWindows(Lowering& l, const Var* x, std::vector<int64_t> kernel, bool same_allowed) {
  const size_t n = kernel.size();
  OnnxWindows w;
  w.kernel = std::move(kernel);
  w.strides = IntsOr(l, "strides", n, 1);
  w.dilations = IntsOr(l, "dilations", n, 1);
  const std::vector<int64_t> pads = IntsOr(l, "pads", 2 * n, 0), in = SpatialDims(x, n);
  const std::string automatic = l.GetString("auto_pad");
  const bool upper = automatic == "SAME_UPPER", lower = automatic == "SAME_LOWER";
  if (!upper && !lower && automatic != "VALID" && automatic != "NOTSET" && !automatic.empty()) {
    Wrong(l, absl::StrCat("auto_pad is '", automatic, "', needs NOTSET, SAME_UPPER, SAME_LOWER or VALID"));
  }
  if (x->type.has_rank && x->type.rank() != static_cast<int>(n) + 2) {
    Wrong(l, absl::StrCat("X has rank ", x->type.rank(), ", needs ", n + 2, " for a window of ", n, " dims"));
  }
  for (size_t i = 0; i < n && l.ok(); ++i) {
    for (const int64_t v : {w.kernel[i], w.strides[i], w.dilations[i]}) {
      if (v < 1 || v > ops::kMostWindow) {
        Wrong(l, absl::StrCat("kernel_shape, strides or dilations have ", v, ", need positive numbers up to ", ops::kMostWindow));
      }
    }
    if (!l.ok()) break;
    int64_t before = pads[i], after = pads[n + i];
    if (automatic == "VALID") before = after = 0;
    if (upper || lower) {
      const int64_t reach = SatAdd(SatMul(w.kernel[i] - 1, w.dilations[i]), 1);
      if (!IsKnown(in[i]) && w.strides[i] != 1) {
        if (same_allowed && upper && std::all_of(w.dilations.begin(), w.dilations.end(), [](int64_t d) { return d == 1; })) {
          w.same = true;
        } else {
          l.NeedsShape("the size that padding makes the same");
        }
      }
      const int64_t out = IsKnown(in[i]) ? (in[i] + w.strides[i] - 1) / w.strides[i] : 0;
      const int64_t total = IsKnown(in[i]) ? std::max<int64_t>(SatAdd((out - 1) * w.strides[i], reach) - in[i], 0) : reach - 1;
      before = upper ? total / 2 : total - total / 2;
      after = total - before;
    }
    w.pads.push_back(before);
    w.pads.push_back(after);
  }
  if (!l.ok()) return std::nullopt;
  return w;
}

}  // namespace ampc::onnx
