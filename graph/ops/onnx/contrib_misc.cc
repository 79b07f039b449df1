// Further operators of ONNX Runtime.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// By cofactors: n * n determinants, which the native op finds with pivots.
void LowerInverse(Lowering& l) {
  constexpr int64_t kMost = 16;
  Var* x = l.In("X");
  const int rank = l.Rank(x);
  if (rank < 0) return;
  if (rank < 2) return Wrong(l, absl::StrCat("X has rank ", rank, ", needs at least 2"));
  const int64_t n = DimOf(l, x, rank - 1);
  if (!l.ok()) return;
  if (n > kMost) return l.Unsupported(absl::StrCat("matrices of ", n, " rows; at most ", kMost, " are supported"));
  const auto without = [&](Var* v, int64_t index, int axis) {
    return TakeConst(
        l, v, n - 1, [index](int64_t i) { return i < index ? i : i + 1; }, axis);
  };
  const auto determinant = [&](Var* v) { return l.Op("determinant", {{"Input", v}}); };
  Var* wide = Widened(l, x);
  Var* whole = l.Unsqueeze(determinant(wide), {rank - 2});
  if (n == 1) return l.Result("Y", l.Cast(Map(l, "reciprocal", wide), TypeOf(l, x)));
  std::vector<Var*> cofactors;
  for (int64_t column = 0; column < n; ++column) {  // of x; a row of the result
    Var* some = without(wide, column, rank - 1);
    for (int64_t row = 0; row < n; ++row) {
      Var* minor = l.Unsqueeze(determinant(without(some, row, rank - 2)), {rank - 2});
      cofactors.push_back((row + column) % 2 == 0 ? minor : WithNumber(l, "elementwise_mul", minor, -1));
    }
  }
  Var* all = l.Op("concat", {{"X", std::move(cofactors)}}, {{"axis", static_cast<int32_t>(rank - 2)}});
  Var* y = l.Binary("elementwise_div", all, whole);
  std::vector<int64_t> dims(rank - 2, 0);
  dims.insert(dims.end(), {n, n});
  l.Result("Y", l.Cast(l.Reshape(y, dims), TypeOf(l, x)));
}

struct Line {
  Var* at;      // in pixels, [boxes, count]
  Var* inside;  // 1 where the pixel is in the image, else 0
  Var* grid;    // from -1 to 1
};

// The positions of `count` samples of each box along a dim of `size` pixels: from column `first` of the boxes to column first + 2.
Line Samples(Lowering& l, Var* boxes, int32_t first, int64_t size, int64_t count, bool nearest) {
  const auto column = [&](int32_t i) {
    return l.Op("slice", {{"Input", boxes}}, {{"axes", Ints{1}}, {"starts", Ints{i}}, {"ends", Ints{i + 1}}});
  };
  const double last = static_cast<double>(size - 1);
  Var *begin = column(first), *end = column(first + 2);
  Var* at = nullptr;
  if (count > 1) {
    if (!l.CanHold(DType::kF32, {count})) return {begin, begin, begin};
    std::vector<float> steps(count);
    for (int64_t i = 0; i < count; ++i) steps[i] = static_cast<float>(i);
    Var* step = WithNumber(l, "elementwise_mul", l.Binary("elementwise_sub", end, begin), last / static_cast<double>(count - 1));
    const int64_t dims[] = {1, count};
    at = l.Binary("elementwise_add", WithNumber(l, "elementwise_mul", begin, last),
                  l.Binary("elementwise_mul", step, l.Const(HostTensor::FromValues<float>(dims, steps))));
  } else {
    at = WithNumber(l, "elementwise_mul", l.Binary("elementwise_add", begin, end), last / 2);
  }
  Var* inside = l.Binary("logical_and", WithNumber(l, "greater_equal", at, 0), WithNumber(l, "less_equal", at, last));
  if (nearest) at = Map(l, "round", at);
  Var* grid = WithNumber(l, "elementwise_sub", WithNumber(l, "elementwise_mul", at, 2 / std::max(last, 1.0)), 1);
  return {at, l.Cast(inside, DType::kF32), grid};
}

void LowerCropAndResize(Lowering& l) {
  const std::optional<std::vector<int64_t>> crop = l.NeedInts(l.In("crop_size"));
  if (!crop.has_value()) return;
  if (crop->size() != 2 || (*crop)[0] <= 0 || (*crop)[1] <= 0) return Wrong(l, "crop_size needs two positive numbers");
  Var* x = l.In("X");
  const DType dtype = TypeOf(l, x);
  if (dtype == DType::kF64) return l.Unsupported("there is no cpu kernel for f64");
  const int64_t height = DimOf(l, x, 2), width = DimOf(l, x, 3);
  if (!l.ok()) return;
  const bool nearest = l.GetString("mode") == "nearest";
  Var* boxes = Widened(l, l.In("rois"));
  const Line rows = Samples(l, boxes, 0, height, (*crop)[0], nearest), columns = Samples(l, boxes, 1, width, (*crop)[1], nearest);
  // [boxes, rows, columns]
  const auto over = [&](Var* of_rows, Var* of_columns, const char* op) {
    return l.Binary(op, l.Unsqueeze(of_rows, {2}), l.Unsqueeze(of_columns, {1}));
  };
  const auto none = [&](Var* v) { return WithNumber(l, "elementwise_mul", v, 0); };
  Var* grid = l.Op(
      "stack", {{"X", {over(none(rows.grid), columns.grid, "elementwise_add"), over(rows.grid, none(columns.grid), "elementwise_add")}}},
      {{"axis", 3}}, "Y");
  Var* images = Widened(l, Take(l, x, {l.In("batch_indices")}, 0));
  Var* y = l.Op("grid_sampler", {{"X", images}, {"Grid", grid}},
                {{"mode", "bilinear"}, {"padding_mode", "border"}, {"align_corners", true}}, "Output");
  Var* inside = l.Unsqueeze(over(rows.inside, columns.inside, "elementwise_mul"), {1});
  Var* outside = WithNumber(l, "elementwise_mul", WithNumber(l, "elementwise_sub", inside, 1), -l.GetFloat("extrapolation_value"));
  l.Result("Y", l.Cast(l.Binary("elementwise_add", l.Binary("elementwise_mul", y, inside), outside), dtype));
}

// Windows along a dim, which lie in a new last dim.
void LowerUnfoldTensor(Lowering& l) {
  Var* x = l.In("input");
  const int axis = AxisAttr(l, "dim", x);
  const int64_t size = l.GetInt("size"), step = l.GetInt("step"), n = l.ok() ? DimOf(l, x, axis) : 0;
  if (!l.ok()) return;
  if (size <= 0 || step <= 0 || size > n)
    return Wrong(l, absl::StrCat("windows of ", size, " every ", step, " do not fit ", n, " elements"));
  const int64_t count = (n - size) / step + 1;
  const int rank = l.Rank(x);
  std::vector<int64_t> dims;
  std::vector<int> perm;
  const std::optional<std::vector<int64_t>> shape = l.Shape(x);
  if (!shape.has_value()) return;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(i == axis ? count : (*shape)[i]);
    if (i == axis) dims.push_back(size);
    perm.push_back(i <= axis ? i : i + 1);
  }
  perm.push_back(axis + 1);
  l.Result("output",
           l.Transpose(l.Reshape(TakeConst(
                                     l, x, SatMul(count, size), [size, step](int64_t i) { return i / size * step + i % size; }, axis),
                                 dims),
                       perm));
}

void LowerExpandDims(Lowering& l) {
  Var* x = l.In("X");
  const std::optional<std::vector<int64_t>> axis = l.NeedInts(l.In("axis"));
  const int rank = l.Rank(x);
  if (!axis.has_value() || rank < 0) return;
  if (axis->size() != 1) return Wrong(l, "axis needs one number");
  l.Result("Y", l.Unsqueeze(x, {Axis(l, (*axis)[0], rank + 1)}));
}

void LowerMicrosoftRange(Lowering& l) {
  Var* start = l.Reshape(l.In("start"), {1});
  const DType dtype = TypeOf(l, start);
  const DType wide = dtype == DType::kI16 ? DType::kI32 : dtype;
  const auto number = [&](Var* v) { return l.Cast(l.Reshape(v, {1}), wide); };
  Var* step = l.Has("delta") ? number(l.In("delta")) : number(l.ConstScalar(1, wide));
  l.Result("Y", l.Cast(l.Op("range", {{"Start", number(start)}, {"End", number(l.In("limit"))}, {"Step", step}}), dtype));
}

}  // namespace

void AddContribMisc(OnnxOps& ops) {
  ops.Add("com.microsoft.Inverse")
      .Amp(AmpClass::kDeny, "determinants are products of many elements")
      .Lower(&LowerInverse)
      .Infer(&InferSameType);
  ops.Add("com.microsoft.CropAndResize")
      .Amp(AmpClass::kDeny, "its boxes have the type of X, and an f16 coordinate loses pixels")
      .Lower(&LowerCropAndResize);
  ops.Add("com.microsoft.UnfoldTensor").Amp(AmpClass::kClear, "moves values without arithmetic").Lower(&LowerUnfoldTensor);
  ops.Add("com.microsoft.ExpandDims").Like("unsqueeze2").Lower(&LowerExpandDims);
  ops.Add("com.microsoft.Range").Like("range").Lower(&LowerMicrosoftRange);
}

}  // namespace ampc::onnx
