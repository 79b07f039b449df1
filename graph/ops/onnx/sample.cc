// Operators that sample images at given positions.
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

Var* Sample(Lowering& l, Var* x, Var* grid, const std::string& mode) {
  return l.Op("grid_sampler", {{"X", x}, {"Grid", grid}},
              {{"mode", mode}, {"padding_mode", l.GetString("padding_mode")}, {"align_corners", l.GetInt("align_corners") != 0}}, "Output");
}

// x times `scale` plus `bias`.
Var* Scaled(Lowering& l, Var* x, double scale, double bias) {
  return l.Op("scale", {{"X", x}}, {{"scale", static_cast<float>(scale)}, {"bias", static_cast<float>(bias)}});
}

// One coordinate of a grid: the neighbour below the point and the four weights around it, cubic convolution with a = -0.75.
struct CubicAxis {
  Var* low;
  Var* weight[4];
  double size;
};

Var* PointOf(Lowering& l, Var* at, double size, bool align_corners) {
  const double half = align_corners ? (size - 1) / 2 : size / 2;
  return Scaled(l, at, half, align_corners ? half : half - 0.5);
}

CubicAxis MakeCubicAxis(Lowering& l, Var* at, int64_t size, bool align_corners) {
  CubicAxis axis;
  axis.size = static_cast<double>(size);
  Var* point = PointOf(l, at, axis.size, align_corners);
  axis.low = l.Op("floor", {{"X", point}});
  Var* t = l.Binary("elementwise_sub", point, axis.low);
  Var* rest = Scaled(l, t, -1, 1);
  constexpr double a = -0.75;
  // At distance x up to 1: (a + 2) x^3 - (a + 3) x^2 + 1; at 1 + x: a x^3 - 2 a x^2 + a x.
  Var* const side[] = {t, rest};
  for (int i = 0; i < 2; ++i) {
    Var* x = side[i];
    const auto times = [&](Var* y) { return l.Binary("elementwise_mul", y, x); };
    axis.weight[i == 0 ? 1 : 2] = Scaled(l, times(times(Scaled(l, x, a + 2, -(a + 3)))), 1, 1);
    axis.weight[i == 0 ? 0 : 3] = times(Scaled(l, times(Scaled(l, x, a, -2 * a)), 1, a));
  }
  return axis;
}

// The coordinate that samples position low + `k`.
Var* CoordinateOf(Lowering& l, const CubicAxis& axis, int k, bool align_corners) {
  if (align_corners)
    return axis.size > 1 ? Scaled(l, axis.low, 2 / (axis.size - 1), 2.0 * k / (axis.size - 1) - 1) : Scaled(l, axis.low, 0, 0);
  return Scaled(l, axis.low, 2 / axis.size, (2.0 * k + 1) / axis.size - 1);
}

// Points between two positions take the even one, which the native op does not: each coordinate becomes that of its position.
Var* ToPositions(Lowering& l, Var* x, Var* grid) {
  const int rank = l.Rank(x);
  if (rank < 3 || !IsStatic(x)) {
    l.NeedsShape("the size of X");
    return grid;
  }
  const bool corners = l.GetInt("align_corners") != 0;
  std::vector<Var*> parts;
  for (int i = 0; i < rank - 2; ++i) {
    const std::vector<Lowering::Operand> all = {{"Input", grid}};
    Var* at = l.Op("slice", all, {{"axes", Ints{rank - 1}}, {"starts", Ints{i}}, {"ends", Ints{i + 1}}});
    CubicAxis axis;
    axis.size = static_cast<double>(x->type.dims[rank - 1 - i]);
    Var* up = Scaled(l, PointOf(l, at, axis.size, corners), 1, 0.5);
    Var* whole = l.Op("floor", {{"X", up}});
    Var* tie = l.Cast(l.Op("equal", {{"X", up}, {"Y", whole}}), DType::kF32);
    Var* odd = l.Binary("elementwise_mod", whole, l.ConstScalar(2, DType::kF32));
    axis.low = l.Binary("elementwise_sub", whole, l.Binary("elementwise_mul", tie, odd));
    parts.push_back(CoordinateOf(l, axis, 0, corners));
  }
  return l.Op("concat", {{"X", parts}}, {{"axis", int32_t{rank - 1}}});
}

// The weighted sum of 4 x 4 nearest neighbours, each of which the padding mode finds by itself.
Var* SampleCubic(Lowering& l, Var* x, Var* grid) {
  if (l.Rank(x) != 4) {
    l.Unsupported("cubic sampling of volumes cannot be executed");
    return x;
  }
  const int64_t h = x->type.dims[2], w = x->type.dims[3];
  if (!IsKnown(h) || !IsKnown(w)) {
    l.NeedsShape("the size of X");
    return x;
  }
  const bool corners = l.GetInt("align_corners") != 0;
  Var* const low = l.Cast(x, DType::kF32);
  grid = l.Cast(grid, DType::kF32);
  const auto part = [&](int i) {
    return l.Op("slice", {{"Input", grid}}, {{"axes", Ints{3}}, {"starts", Ints{i}}, {"ends", Ints{i + 1}}});
  };
  const CubicAxis across = MakeCubicAxis(l, part(0), w, corners), down = MakeCubicAxis(l, part(1), h, corners);
  Var* sum = nullptr;
  for (int i = 0; i < 4; ++i) {
    Var* row = nullptr;
    Var* y = CoordinateOf(l, down, i - 1, corners);
    for (int j = 0; j < 4; ++j) {
      Var* at = l.Op("concat", {{"X", {CoordinateOf(l, across, j - 1, corners), y}}}, {{"axis", int32_t{3}}});
      Var* weight = l.Transpose(across.weight[j], {0, 3, 1, 2});
      Var* tap = l.Binary("elementwise_mul", Sample(l, low, at, "nearest"), weight);
      row = row == nullptr ? tap : l.Binary("elementwise_add", row, tap);
    }
    Var* part_of_sum = l.Binary("elementwise_mul", row, l.Transpose(down.weight[i], {0, 3, 1, 2}));
    sum = sum == nullptr ? part_of_sum : l.Binary("elementwise_add", sum, part_of_sum);
  }
  return l.Cast(sum, x->type.dtype);
}

void LowerGridSample(Lowering& l) {
  Var *x = l.In("X"), *grid = l.In("grid");
  const std::string mode = l.GetString("mode");
  if (mode == "bicubic" || mode == "cubic") return l.Result("Y", SampleCubic(l, x, grid));
  if (mode != "bilinear" && mode != "linear" && mode != "nearest") return Wrong(l, absl::StrCat("mode is '", mode, "'"));
  const DType wide = x->type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (mode == "nearest") return l.Result("Y", Sample(l, x, l.Cast(ToPositions(l, x, l.Cast(grid, DType::kF32)), wide), mode));
  l.Result("Y", Sample(l, x, l.Cast(grid, wide), "bilinear"));
}

void LowerAffineGrid(Lowering& l) {
  const std::vector<Lowering::Operand> operands = {{"Theta", l.In("theta")}, {"OutputShape", l.In("size")}};
  l.Result("grid", l.Op("affine_grid", operands, {{"align_corners", l.GetInt("align_corners") != 0}}, "Output"));
}

// By the native op `type`, which has the boxes of one image after those of another: they are sorted by image, and the results put back.
Var* PoolRegions(Lowering& l, absl::string_view type, Var* x, Var* boxes, Var* image, int64_t images, const Lowering::Attrs& attrs) {
  if (!l.CanHold(DType::kI64, {images})) return x;
  std::vector<int64_t> numbers(images);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  Var* of_image = l.Op("equal", {{"X", l.Unsqueeze(image, {1})}, {"Y", l.Const(numbers)}});
  Var* counts = l.Op("reduce_sum", {{"X", l.Cast(of_image, DType::kI64)}}, {{"dim", Ints{0}}});
  if (images == 1) return l.Op(type, {{"X", x}, {"ROIs", boxes}, {"RoisNum", counts}}, attrs);
  Var* order = l.Ops("argsort", {{"X", image}}, {{"axis", int32_t{0}}}, {"Out", "Indices"})[1];
  Var* sorted = l.Op("gather", {{"X", boxes}, {"Index", order}}, {{"axis", int32_t{0}}});
  Var* pooled = l.Op(type, {{"X", x}, {"ROIs", sorted}, {"RoisNum", counts}}, attrs);
  Var* back = l.Ops("argsort", {{"X", order}}, {{"axis", int32_t{0}}}, {"Out", "Indices"})[1];
  return l.Op("gather", {{"X", pooled}, {"Index", back}}, {{"axis", int32_t{0}}});
}

void LowerRoiAlign(Lowering& l) {
  Var *x = l.In("X"), *rois = l.In("rois"), *image = l.In("batch_indices");
  const std::string mode = l.GetString("mode");
  if (mode != "avg" && mode != "max") return Wrong(l, absl::StrCat("mode is '", mode, "', needs avg or max"));
  if (l.Rank(x) < 1) return;
  const int64_t images = x->type.dims[0];
  if (!IsKnown(images)) return l.NeedsShape("the number of images");
  const bool aligned = l.since() >= 16 && l.GetString("coordinate_transformation_mode") == "half_pixel";
  Lowering::Attrs attrs = {{"pooled_height", WholeNumber(l.GetInt("output_height"))},
                           {"pooled_width", WholeNumber(l.GetInt("output_width"))},
                           {"spatial_scale", static_cast<float>(l.GetFloat("spatial_scale"))},
                           {"sampling_ratio", WholeNumber(l.GetInt("sampling_ratio"))},
                           {"aligned", aligned}};
  if (mode == "max") attrs.push_back({"mode", mode});
  l.Result("Y", PoolRegions(l, "roi_align", x, l.Cast(rois, DType::kF32), image, images, attrs));
}

// The first number of each row is the box's image.
void LowerMaxRoiPool(Lowering& l) {
  Var *x = l.In("X"), *rois = l.In("rois");
  const std::optional<std::vector<int64_t>> dims = l.Shape(rois);
  if (l.Rank(x) < 1 || !dims.has_value()) return;
  const int64_t images = x->type.dims[0];
  if (!IsKnown(images)) return l.NeedsShape("the number of images");
  if (dims->size() != 2 || (*dims)[1] != 5) return Wrong(l, "rois needs five numbers for each box");
  const std::vector<int64_t> pooled = l.GetInts("pooled_shape");
  if (pooled.size() != 2) return Wrong(l, absl::StrCat("pooled_shape has ", pooled.size(), " numbers, needs 2"));
  const auto columns = [&](int32_t first, int32_t last) {
    return l.Op("slice", {{"Input", rois}}, {{"axes", Ints{1}}, {"starts", Ints{first}}, {"ends", Ints{last}}});
  };
  const Lowering::Attrs attrs = {{"pooled_height", WholeNumber(pooled[0])},
                                 {"pooled_width", WholeNumber(pooled[1])},
                                 {"spatial_scale", static_cast<float>(l.GetFloat("spatial_scale"))}};
  Var* image = l.Cast(l.Squeeze(columns(0, 1), {1}), DType::kI64);
  l.Result("Y", PoolRegions(l, "roi_pool", x, l.Cast(columns(1, 5), DType::kF32), image, images, attrs));
}

// Both sizes at once: what is too long is cut, what is too short is padded with zeros.
void LowerCenterCropPad(Lowering& l) {
  Var* x = l.In("input_data");
  const auto want = l.NeedInts(l.In("shape")), dims = l.Shape(x);
  if (!want || !dims) return;
  const int rank = static_cast<int>(dims->size());
  std::vector<int64_t> axes = l.GetInts("axes");
  if (axes.empty()) {
    axes.resize(want->size());
    std::iota(axes.begin(), axes.end(), int64_t{0});
  }
  if (axes.size() != want->size()) return Wrong(l, absl::StrCat("shape has ", want->size(), " numbers, needs ", axes.size()));
  std::vector<int64_t> cut, starts, ends, paddings(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = Axis(l, axes[i], rank);
    if (!l.ok()) return;
    const int64_t have = (*dims)[axis], size = (*want)[i];
    if (size < 0) return Wrong(l, absl::StrCat("shape has ", size, ", needs sizes"));
    if (size < have) {
      cut.push_back(axis);
      starts.push_back((have - size) / 2);
      ends.push_back((have - size) / 2 + size);
    }
    if (size <= have) continue;
    paddings[2 * axis] = (size - have) / 2;
    paddings[2 * axis + 1] = size - have - paddings[2 * axis];
  }
  if (!cut.empty())
    x = l.Op("slice", {{"Input", x}}, {{"axes", WholeNumbers(cut)}, {"starts", WholeNumbers(starts)}, {"ends", WholeNumbers(ends)}});
  l.Result("output_data", l.Op("pad", {{"X", x}}, {{"paddings", WholeNumbers(paddings)}}));
}

}  // namespace

void AddSample(OnnxOps& ops) {
  ops.Add("GridSample").Like("grid_sampler").Lower(&LowerGridSample).Fp32({"grid"});
  ops.Add("AffineGrid").Like("affine_grid").Lower(&LowerAffineGrid);
  ops.Add("RoiAlign")
      .Amp(AmpClass::kDeny, "its boxes have the type of X, and an f16 coordinate above 2048 loses whole pixels")
      .Traits({OpTrait::kSampler})
      .Lower(&LowerRoiAlign);
  ops.Add("MaxRoiPool")
      .Amp(AmpClass::kDeny, "its boxes have the type of X, and an f16 coordinate above 2048 loses whole pixels")
      .Traits({OpTrait::kSampler})
      .Lower(&LowerMaxRoiPool);
  ops.Add("CenterCropPad").Like("pad").Lower(&LowerCenterCropPad);
}

}  // namespace ampc::onnx
