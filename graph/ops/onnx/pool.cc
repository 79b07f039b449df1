// Pooling. pool2d and pool3d are fast; window_pool does what they do not: indices, dilations, integers, norms, results that are rounded up.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/bounds.h"
#include "graph/ops/onnx/layout_util.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/pool.h"
#include "graph/ops/onnx/window_util.h"
#include "graph/ops/window.h"

namespace ampc::onnx {
namespace {

bool HasFastPool(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

bool AllOnes(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
}

// By the native op of two or three dims; a line is an image of one row.
Var* FastPool(Lowering& l, Var* x, OnnxWindows w, const std::string& type, bool exclusive) {
  const size_t n = w.kernel.size();
  if (n == 1) {
    x = l.Unsqueeze(x, {2});
    w.kernel = With(1, w.kernel);
    w.strides = With(1, w.strides);
    w.pads = With(0, With(0, w.pads));
  }
  Lowering::Attrs attrs = {
      {"pooling_type", type}, {"ksize", WholeNumbers(w.kernel)}, {"strides", WholeNumbers(w.strides)}, {"exclusive", exclusive}};
  w.same ? attrs.push_back({"padding_algorithm", std::string("SAME")}) : attrs.push_back({"paddings", WholeNumbers(w.pads)});
  Var* y = l.Op(n == 3 ? "pool3d" : "pool2d", {{"X", x}}, attrs);
  return n == 1 ? l.Squeeze(y, {2}) : y;
}

Lowering::Attrs WindowAttrs(Lowering& l, const OnnxWindows& w, const std::string& mode) {
  return {{"mode", mode},
          {"ksize", WholeNumbers(w.kernel)},
          {"strides", WholeNumbers(w.strides)},
          {"paddings", WholeNumbers(w.pads)},
          {"dilations", WholeNumbers(w.dilations)},
          {"ceil_mode", l.GetInt("ceil_mode") != 0}};
}

// Makes the padding after the end such that rounding down gives as many windows as rounding up does (a window that would start there is
// none); true where that changes nothing. Absent where a size is not known.
std::optional<bool> PadToCeil(const Var* x, OnnxWindows& w) {
  bool same = true;
  const std::vector<int64_t> in = SpatialDims(x, w.kernel.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (!IsKnown(in[i])) return std::nullopt;
    const int64_t before = w.pads[2 * i], room = SatSub(SatAdd(in[i], SatAdd(before, w.pads[2 * i + 1])), w.kernel[i]);
    if (before < 0 || before > ops::kMostWindow || room > 2 * ops::kMostWindow) return std::nullopt;  // the op's record says what is wrong
    int64_t last = (room + w.strides[i] - 1) / w.strides[i];
    if (last * w.strides[i] >= in[i] + before) --last;
    same = same && room >= 0 && last == room / w.strides[i];
    w.pads[2 * i + 1] = std::max<int64_t>(last * w.strides[i] + w.kernel[i] - in[i] - before, 0);
  }
  return same;
}

void LowerMaxPool(Lowering& l) {
  Var* x = l.In("X");
  const bool indices = l.WantsResult("Indices"), ceil = l.GetInt("ceil_mode") != 0;
  const std::vector<int64_t> kernel = l.GetInts("kernel_shape");
  const bool fast = !indices && HasFastPool(x->type.dtype) && kernel.size() <= 3 && AllOnes(l.GetInts("dilations"));
  const auto w = ReadOnnxWindows(l, x, kernel, fast && !ceil);
  if (!w) return;
  OnnxWindows padded = *w;
  if (fast && (!ceil || PadToCeil(x, padded))) return l.Result("Y", FastPool(l, x, padded, "max", true));
  Lowering::Attrs attrs = WindowAttrs(l, *w, "max");
  if (!indices) return l.Result("Y", l.Op("window_pool", {{"X", x}}, attrs));
  attrs.push_back({"column_major", l.GetInt("storage_order") != 0});
  const std::vector<Var*> results = l.Ops("window_pool", {{"X", x}}, attrs, {"Out", "Indices"});
  l.Result("Y", results[0]);
  l.Result("Indices", results[1]);
}

}  // namespace

Var* AveragePooled(Lowering& l, Var* x) {
  const bool exclusive = l.GetInt("count_include_pad") == 0;
  const std::vector<int64_t> kernel = l.GetInts("kernel_shape");
  const bool ceil = l.GetInt("ceil_mode") != 0;
  const bool fast = HasFastPool(x->type.dtype) && kernel.size() <= 3 && AllOnes(l.GetInts("dilations"));
  const auto w = ReadOnnxWindows(l, x, kernel, fast && !ceil);
  if (!w) return x;
  OnnxWindows padded = *w;
  if (fast && (!ceil || PadToCeil(x, padded).value_or(false))) return FastPool(l, x, *w, "avg", exclusive);
  Lowering::Attrs attrs = WindowAttrs(l, *w, "avg");
  attrs.push_back({"exclusive", exclusive});
  return l.Op("window_pool", {{"X", x}}, attrs);
}

namespace {

void LowerAveragePool(Lowering& l) { l.Result("Y", AveragePooled(l, l.In("X"))); }

// ONNX Runtime's, of integers with the channels last.
void LowerNhwcMaxPool(Lowering& l) {
  Var* x = ChannelsFirst(l, l.In("x"));
  const auto w = ReadOnnxWindows(l, x, l.GetInts("kernel_shape"), false);
  if (w) l.Result("y", ChannelsLast(l, l.Op("window_pool", {{"X", x}}, WindowAttrs(l, *w, "max"))));
}

void LowerLpPool(Lowering& l) {
  Var* x = l.In("X");
  std::vector<int64_t> kernel = l.GetInts("kernel_shape");
  const auto w = ReadOnnxWindows(l, x, kernel, false);
  if (!w) return;
  const double p = l.since() < 2 ? l.GetFloat("p") : static_cast<double>(l.GetInt("p"));
  if (p != std::floor(p) || p < 1 || p > ops::kMostWindow)
    return l.Unsupported("p needs to be a positive integer of 32 bits to be executed");
  Lowering::Attrs attrs = WindowAttrs(l, *w, "lp");
  attrs.push_back({"p", static_cast<int32_t>(p)});
  l.Result("Y", l.Op("window_pool", {{"X", x}}, attrs));
}

// The spatial dims of `x`; none, with the state set, where its rank is not known or too low.
Ints SpatialAxes(Lowering& l, const Var* x) {
  const int rank = l.Rank(x);
  if (rank >= 0 && rank < 3) Wrong(l, absl::StrCat("X has rank ", rank, ", needs at least 3"));
  Ints axes(std::max(0, rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

void PoolAll(Lowering& l, const std::string& type, absl::string_view reduction) {
  Var* x = l.In("X");
  const Ints axes = SpatialAxes(l, x);
  if (!l.ok()) return;
  if (axes.size() == 2 && HasFastPool(x->type.dtype)) {
    return l.Result("Y", l.Op("pool2d", {{"X", x}}, {{"pooling_type", type}, {"ksize", Ints{1, 1}}, {"global_pooling", true}}));
  }
  l.Result("Y", l.Op(reduction, {{"X", x}}, {{"dim", axes}, {"keep_dim", true}}));
}

void LowerGlobalAveragePool(Lowering& l) { PoolAll(l, "avg", "reduce_mean"); }
void LowerGlobalMaxPool(Lowering& l) { PoolAll(l, "max", "reduce_max"); }

void LowerGlobalLpPool(Lowering& l) {
  Var* x = l.In("X");
  const Ints axes = SpatialAxes(l, x);
  if (!l.ok()) return;
  const float p = static_cast<float>(l.since() < 2 ? l.GetFloat("p") : static_cast<double>(l.GetInt("p")));
  if (!(p > 0)) return Wrong(l, absl::StrCat("p is ", p, ", needs a positive number"));
  Var* powers = l.Op("pow", {{"X", l.Op("abs", {{"X", x}})}}, {{"factor", p}});
  Var* sum = l.Op("reduce_sum", {{"X", powers}}, {{"dim", axes}, {"keep_dim", true}});
  l.Result("Y", l.Op("pow", {{"X", sum}}, {{"factor", 1 / p}}));
}

// The indices count in the result that the window alone would give; a larger output_shape adds zeros after the end of each dim.
void LowerMaxUnpool(Lowering& l) {
  Var* x = l.In("X");
  const auto dims = l.Shape(x);
  if (!dims) return;
  const std::vector<int64_t> kernel = l.GetInts("kernel_shape");
  const size_t n = kernel.size();
  if (dims->size() != n + 2) return Wrong(l, absl::StrCat("X has rank ", dims->size(), ", needs ", n + 2));
  const std::vector<int64_t> strides = IntsOr(l, "strides", n, 1), pads = IntsOr(l, "pads", 2 * n, 0);
  std::vector<int64_t> out = *dims;
  for (size_t i = 0; i < n; ++i) {
    out[2 + i] = SatSub(SatSub(SatAdd(SatMul((*dims)[2 + i] - 1, strides[i]), kernel[i]), pads[i]), pads[n + i]);
    if (out[2 + i] < 0) return Wrong(l, absl::StrCat("the result has ", out[2 + i], " positions along dim ", 2 + i));
  }
  const int64_t total = std::accumulate(out.begin(), out.end(), int64_t{1}, SatMul);
  Var* zeros = l.Op("fill_constant", {}, {{"dtype", x->type.dtype}, {"shape", std::vector<int64_t>{total}}});
  const std::vector<Lowering::Operand> operands = {{"Input", zeros}, {"Index", l.Reshape(l.In("I"), {-1})}, {"Value", l.Reshape(x, {-1})}};
  Var* y = l.Reshape(l.Op("put_along_axis", operands, {{"Axis", int32_t{0}}, {"from_end", false}}, "Result"), out);
  if (l.Has("output_shape")) {
    const auto want = l.NeedInts(l.In("output_shape"));
    if (!want) return;
    if (want->size() != out.size()) return Wrong(l, absl::StrCat("output_shape has ", want->size(), " numbers, needs ", out.size()));
    std::vector<int64_t> paddings;
    for (size_t i = 0; i < out.size(); ++i) {
      if ((*want)[i] < out[i]) return Wrong(l, absl::StrCat("output_shape has ", (*want)[i], ", needs at least ", out[i]));
      paddings.insert(paddings.end(), {0, (*want)[i] - out[i]});
    }
    y = l.Op("pad", {{"X", y}}, {{"paddings", WholeNumbers(paddings)}});
  }
  l.Result("output", y);
}

}  // namespace

void AddPool(OnnxOps& ops) {
  ops.Add("MaxPool").Like("pool2d").BoundsAre(&ops::MovedBounds).Lower(&LowerMaxPool);
  ops.Add("com.microsoft.NhwcMaxPool").Amp(AmpClass::kNever, "its elements are integers").Lower(&LowerNhwcMaxPool);
  ops.Add("AveragePool").Like("pool2d").Traits({OpTrait::kSum}).Lower(&LowerAveragePool);
  ops.Add("LpPool").Amp(AmpClass::kDeny, "squares overflow f16 from 256 on").Lower(&LowerLpPool);
  ops.Add("GlobalAveragePool").Like("pool2d").Traits({OpTrait::kSum}).BoundsAre(&ops::MovedBounds).Lower(&LowerGlobalAveragePool);
  ops.Add("GlobalMaxPool").Like("pool2d").BoundsAre(&ops::MovedBounds).Lower(&LowerGlobalMaxPool);
  ops.Add("GlobalLpPool").Amp(AmpClass::kDeny, "squares overflow f16 from 256 on").Lower(&LowerGlobalLpPool);
  ops.Add("MaxUnpool").Amp(AmpClass::kClear, "moves values without arithmetic").Lower(&LowerMaxUnpool);
}

}  // namespace ampc::onnx
