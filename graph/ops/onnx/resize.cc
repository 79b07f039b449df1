// Resize and Upsample. The native interpolations take the forms that they compute; of all others nearest neighbours are gathered, and
// weighted means are products with a matrix per dim.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/resize_axis.h"

namespace ampc::onnx {
namespace {

using Doubles = std::vector<double>;

// The numbers of a constant; absent where they are not known.
std::optional<Doubles> Numbers(Lowering& l, const Var* var) {
  const HostTensor* value = l.Value(var);
  if (value == nullptr) return std::nullopt;
  Doubles out;
  const auto append = [&out](auto values) {
    for (auto v : values) out.push_back(static_cast<double>(static_cast<float>(v)));
  };
  append(value->values<float>());
  append(value->values<Half>());
  append(value->values<BFloat16>());
  for (double v : value->values<double>()) out.push_back(v);
  for (int64_t v : value->values<int64_t>()) out.push_back(static_cast<double>(v));
  return out;
}

// An operand that may be left out or empty; empty where it is, absent and the state set where its value is not known.
std::optional<Doubles> Given(Lowering& l, absl::string_view formal) {
  if (!l.Has(formal)) return Doubles();
  const Dims& dims = l.In(formal)->type.dims;
  if (dims.size() == 1 && dims[0] == 0) return Doubles();
  std::optional<Doubles> numbers = Numbers(l, l.In(formal));
  if (!numbers) l.NeedsShape(absl::StrCat("the value of ", formal));
  return numbers;
}

// The request of a node; per dim of X.
struct Request {
  Doubles scales, sizes, roi;  // either may be empty; roi: begin of each dim, then end of each
  ResizeMode mode;
  double extrapolation = 0;
};

std::optional<Request> ReadUpsample(Lowering& l) {
  Request r;
  r.mode.coordinate = "asymmetric";
  r.mode.nearest = "simple";
  r.mode.mode = l.GetString("mode");
  if (r.mode.mode == "bilinear") r.mode.mode = "linear";
  if (l.HasAttr("scales")) {
    r.scales = l.GetFloats("scales");
  } else if (l.HasAttr("height_scale")) {
    r.scales = {1, 1, l.GetFloat("height_scale"), l.GetFloat("width_scale")};
  } else if (const auto scales = Given(l, "scales")) {
    r.scales = *scales;
  }
  return l.ok() ? std::optional(r) : std::nullopt;
}

// From the listed axes to all dims.
Doubles Spread(Lowering& l, const Doubles& values, const std::vector<int64_t>& axes, int rank, const Doubles& others) {
  if (axes.empty() || values.empty()) return values;
  Doubles all = others;
  for (size_t i = 0; i < axes.size() && i < values.size(); ++i) {
    const int at = Axis(l, axes[i], rank);
    if (!l.ok()) break;
    all[at] = values[i];
  }
  return all;
}

// One scale for all named axes keeps the picture's proportions; half sizes are rounded up.
void KeepProportions(const std::string& policy, const std::vector<int64_t>& axes, const Dims& dims, Request* r) {
  const auto named = [&axes](size_t d) {
    return axes.empty() || std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
  };
  double scale = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!named(d)) continue;
    const double s = r->sizes[d] / static_cast<double>(dims[d]);
    scale = scale == 0 ? s : policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
  }
  r->scales.assign(dims.size(), 1);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!named(d)) continue;
    r->scales[d] = scale;
    r->sizes[d] = std::floor(scale * static_cast<double>(dims[d]) + 0.5);
  }
}

std::optional<Request> ReadResize(Lowering& l, const Var* x) {
  if (l.since() < 11) return ReadUpsample(l);
  Request r;
  r.mode = {l.GetString("mode"),
            l.GetString("coordinate_transformation_mode"),
            l.GetString("nearest_mode"),
            l.GetFloat("cubic_coeff_a"),
            l.GetInt("exclude_outside") != 0,
            l.GetInt("antialias") != 0};
  r.extrapolation = l.GetFloat("extrapolation_value");
  const auto scales = Given(l, "scales"), sizes = Given(l, "sizes");
  const int rank = l.Rank(x);
  if (!scales || !sizes || rank < 0) return std::nullopt;
  std::vector<int64_t> axes = l.GetInts("axes");
  for (int64_t& axis : axes) axis = Axis(l, axis, rank);
  r.scales = Spread(l, *scales, axes, rank, Doubles(rank, 1));
  if (!sizes->empty()) {
    if (!l.Shape(x)) return std::nullopt;
    r.scales.clear();
    r.sizes = Spread(l, *sizes, axes, rank, Doubles(x->type.dims.begin(), x->type.dims.end()));
    const std::string policy = l.GetString("keep_aspect_ratio_policy");
    if (policy == "not_larger" || policy == "not_smaller") KeepProportions(policy, axes, x->type.dims, &r);
  }
  if (r.mode.coordinate == "tf_crop_and_resize") {
    const auto roi = Given(l, "roi");
    if (!roi) return std::nullopt;
    const size_t n = roi->size() / 2;
    r.roi = Spread(l, Doubles(roi->begin(), roi->begin() + n), axes, rank, Doubles(rank, 0));
    const Doubles ends = Spread(l, Doubles(roi->begin() + n, roi->end()), axes, rank, Doubles(rank, 1));
    r.roi.insert(r.roi.end(), ends.begin(), ends.end());
  }
  return l.ok() ? std::optional(r) : std::nullopt;
}

bool IsHalfPixel(const std::string& c) { return c == "half_pixel" || c == "pytorch_half_pixel"; }

// Only rows and columns of images change, and the native op takes the element type.
bool IsImage(const Var* x, const Doubles& scales) {
  return x->type.rank() == 4 && x->type.IsFloat() && scales.size() == 4 && scales[0] == 1 && scales[1] == 1;
}

// Whether native `mode` computes the weighted means of this mode.
bool HasNativeMeans(const ResizeMode& m) {
  const bool common = !m.antialias && !m.exclude_outside && (IsHalfPixel(m.coordinate) || m.coordinate == "align_corners");
  if (m.mode == "cubic") return common && static_cast<float>(m.cubic_a) == -0.75f;
  return common || (m.coordinate == "asymmetric" && !m.antialias);
}

Var* NativeMeans(Lowering& l, Var* x, const ResizeMode& m, Lowering::Attrs sizes) {
  sizes.push_back({"align_corners", m.coordinate == "align_corners"});
  sizes.push_back({"align_mode", int32_t{IsHalfPixel(m.coordinate) ? 0 : 1}});
  return l.Op(m.mode == "cubic" ? "bicubic_interp_v2" : "bilinear_interp_v2", {{"X", x}}, sizes);
}

// i * (1 / scale) rounded down is i / scale rounded down, for any size of an image.
bool DividesExactly(double scale) {
  const double inverse = static_cast<double>(1 / static_cast<float>(scale));
  return scale >= 1 && scale == std::floor(scale) && scale <= 64 && inverse * scale >= 1;
}

// Scales are known and sizes are not.
void LowerUnsized(Lowering& l, Var* x, const Request& r) {
  const std::vector<float> factors(r.scales.begin() + 2, r.scales.end());
  const ResizeMode& m = r.mode;
  const bool enlarges = std::all_of(factors.begin(), factors.end(), [](float f) { return f >= 1; });
  if (m.mode != "nearest" && HasNativeMeans(m) && (m.coordinate == "align_corners" || enlarges)) {
    return l.Result("Y", NativeMeans(l, x, m, {{"scale", factors}}));
  }
  const bool down = (IsHalfPixel(m.coordinate) && (m.nearest == "round_prefer_floor" || m.nearest == "round_prefer_ceil")) ||
                    (m.coordinate == "asymmetric" && (m.nearest == "floor" || m.nearest == "simple"));
  if (m.mode == "nearest" && down && DividesExactly(r.scales[2]) && DividesExactly(r.scales[3])) {
    return l.Result("Y", l.Op("nearest_interp_v2", {{"X", x}}, {{"scale", factors}, {"align_corners", false}}));
  }
  l.NeedsShape("the size of X");
}

std::vector<ResizeAxis> Axes(const Request& r, const Dims& dims) {
  std::vector<ResizeAxis> axes(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    ResizeAxis& a = axes[d];
    a.in = dims[d];
    a.scale = !r.scales.empty() ? r.scales[d] : r.sizes[d] / static_cast<double>(std::max<int64_t>(a.in, 1));
    a.out = r.sizes.empty() ? SatInt(static_cast<float>(a.in) * static_cast<float>(a.scale)) : SatInt(r.sizes[d]);
    if (!r.roi.empty()) {
      a.roi_begin = r.roi[d];
      a.roi_end = r.roi[dims.size() + d];
    }
  }
  return axes;
}

// Every axis that is not as it was, one after the other.
Var* Nearest(Lowering& l, Var* x, const ResizeMode& m, const std::vector<ResizeAxis>& axes) {
  std::vector<std::vector<int64_t>> from(axes.size());
  bool native = x->type.rank() == 4 && x->type.IsFloat() && axes[0].in == axes[0].out && axes[1].in == axes[1].out;
  for (size_t d = 0; d < axes.size(); ++d) {
    const float ratio = static_cast<float>(axes[d].in) / static_cast<float>(axes[d].out);
    for (int64_t i = 0; i < axes[d].out; ++i) {
      from[d].push_back(NearestPosition(axes[d], m, i));
      native =
          native && from[d].back() == static_cast<int64_t>(static_cast<double>(axes[d].out > 1 ? ratio : 0.0f) * static_cast<double>(i));
    }
  }
  if (native) {
    return l.Op("nearest_interp_v2", {{"X", x}},
                {{"out_h", WholeNumber(axes[2].out)}, {"out_w", WholeNumber(axes[3].out)}, {"align_corners", false}});
  }
  for (size_t d = 0; d < axes.size(); ++d) {
    bool same = axes[d].in == axes[d].out;
    for (int64_t i = 0; i < axes[d].out; ++i) same = same && from[d][i] == i;
    if (!same)
      x = TakeConst(
          l, x, axes[d].out, [&](int64_t i) { return from[d][i]; }, static_cast<int>(d));
  }
  return x;
}

// The product of `x` along a dim with a matrix of weights.
Var* Weighted(Lowering& l, Var* x, const ResizeMode& m, const ResizeAxis& axis, int d) {
  if (!l.CanHold(DType::kF32, {axis.out, axis.in})) return x;
  absl::StatusOr<HostTensor> matrix = HostTensor::Create(DType::kF32, {axis.out, axis.in});
  if (!matrix.ok()) {
    l.Fail(matrix.status());
    return x;
  }
  const absl::Span<float> weights = matrix->mutable_values<float>();
  bool same = axis.in == axis.out;
  for (int64_t i = 0; i < axis.out; ++i) {
    for (const ResizeTap& tap : ResizeTaps(axis, m, i)) weights[i * axis.in + tap.at] += static_cast<float>(tap.weight);
    same = same && weights[i * axis.in + i] == 1;
  }
  if (same) return x;
  const int rank = x->type.rank();
  std::vector<int> to_last(rank);
  for (int i = 0; i < rank; ++i) to_last[i] = i == rank - 1 ? d : i < d ? i : i + 1;
  std::vector<int> back(rank);
  for (int i = 0; i < rank; ++i) back[to_last[i]] = i;
  Var* lines = d == rank - 1 ? x : l.Transpose(x, to_last);
  if (rank == 1) lines = l.Unsqueeze(lines, {0});
  Var* y = l.Op("matmul_v2", {{"X", lines}, {"Y", l.Const(*std::move(matrix))}}, {{"trans_y", true}});
  if (rank == 1) y = l.Squeeze(y, {0});
  return d == rank - 1 ? y : l.Transpose(y, back);
}

// `y` where every position lies inside the operand, else the extrapolation value.
Var* Extrapolate(Lowering& l, Var* y, const Request& r, const std::vector<ResizeAxis>& axes) {
  for (size_t d = 0; d < axes.size(); ++d) {
    std::vector<uint8_t> inside;
    for (int64_t i = 0; i < axes[d].out; ++i) inside.push_back(!IsExtrapolated(axes[d], r.mode, i));
    if (std::find(inside.begin(), inside.end(), 0) == inside.end()) continue;
    std::vector<int64_t> dims(axes.size(), 1);
    dims[d] = axes[d].out;
    Var* mask = l.Cast(l.Const(HostTensor::FromValues<uint8_t>(dims, inside)), DType::kBool);
    Var* all = l.Op("expand_as_v2", {{"X", mask}, {"Y", y}});
    Var* value = l.Op("fill_any_like", {{"X", y}}, {{"value", static_cast<float>(r.extrapolation)}});
    y = l.Op("where", {{"Condition", all}, {"X", y}, {"Y", value}});
  }
  return y;
}

void LowerSized(Lowering& l, Var* x, const Request& r) {
  const std::vector<ResizeAxis> axes = Axes(r, x->type.dims);
  const ResizeMode& m = r.mode;
  Dims sizes;
  int64_t largest = 0;
  for (const ResizeAxis& a : axes) {
    if (a.out < 0 || !(a.scale >= 0) || (a.in == 0 && a.out > 0))
      return Wrong(l, absl::StrCat("a dim of ", a.in, " cannot become ", a.out));
    sizes.push_back(a.out);
    largest = std::max(largest, a.out);
  }
  if (!l.CanHold(x->type.dtype, sizes) || !l.CanHold(DType::kI64, {largest})) return;
  if (m.mode == "nearest") {
    Var* y = Extrapolate(l, Nearest(l, x, m, axes), r, axes);
    return l.Result("Y", y == x ? l.Op("assign", {{"X", x}}) : y);
  }
  const bool image = x->type.rank() == 4 && x->type.IsFloat() && axes[0].in == axes[0].out && axes[1].in == axes[1].out;
  // The native op has its own rule for a single row or column.
  const bool several = axes.size() == 4 && (m.coordinate == "align_corners" || (axes[2].out > 1 && axes[3].out > 1));
  if (image && several && HasNativeMeans(m) && (r.sizes.empty() || r.scales.empty())) {
    Lowering::Attrs given = {{"out_h", WholeNumber(axes[2].out)}, {"out_w", WholeNumber(axes[3].out)}};
    if (r.sizes.empty()) given = {{"scale", std::vector<float>(r.scales.begin() + 2, r.scales.end())}};
    return l.Result("Y", NativeMeans(l, x, m, given));
  }
  Var* y = l.Cast(x, DType::kF32);
  for (size_t d = axes.size(); d-- > 0;) y = Weighted(l, y, m, axes[d], static_cast<int>(d));
  y = Extrapolate(l, l.Cast(y, x->type.dtype), r, axes);
  l.Result("Y", y == x ? l.Op("assign", {{"X", x}}) : y);
}

void LowerRequest(Lowering& l, Var* x, const Request& r) {
  const ResizeMode& m = r.mode;
  if (m.mode != "nearest" && m.mode != "linear" && m.mode != "cubic") return Wrong(l, absl::StrCat("mode is '", m.mode, "'"));
  const size_t rank = static_cast<size_t>(std::max(l.Rank(x), 0));
  if (!l.ok()) return;
  if ((r.sizes.empty() ? r.scales : r.sizes).size() != rank || (!r.roi.empty() && r.roi.size() != 2 * rank)) {
    return Wrong(l, absl::StrCat("scales, sizes or roi do not have the numbers for ", rank, " dims"));
  }
  if (IsStatic(x)) return LowerSized(l, x, r);
  if (IsImage(x, r.scales) && r.roi.empty() && r.sizes.empty()) return LowerUnsized(l, x, r);
  l.NeedsShape("the size of X");
}

void LowerResize(Lowering& l) {
  Var* x = l.In("X");
  if (const auto r = ReadResize(l, x)) LowerRequest(l, x, *r);
}

void LowerUpsample(Lowering& l) {
  Var* x = l.In("X");
  if (const auto r = ReadUpsample(l)) LowerRequest(l, x, *r);
}

}  // namespace

void AddResize(OnnxOps& ops) {
  ops.Add("Resize")
      .Like("bilinear_interp_v2")
      .Use("extrapolation_value", AttrUse::kFills)
      .Lower(&LowerResize)
      .AsIs({"roi", "scales", "sizes"});
  ops.Add("Upsample").Like("bilinear_interp_v2").Lower(&LowerUpsample).AsIs({"scales"});
}

}  // namespace ampc::onnx
