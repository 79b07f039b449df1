// Convolutions. A line is an image of one row.
#include "graph/ops/onnx/conv.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"
#include "graph/ops/onnx/window_util.h"

namespace ampc::onnx {
namespace {

// The window's sizes from the filter, or from the attribute where the filter's are not known.
std::optional<std::vector<int64_t>> Kernel(Lowering& l, const Var* w) {
  const int rank = l.Rank(w);
  if (rank < 0) return std::nullopt;
  if (rank < 3) {
    Wrong(l, absl::StrCat("W has rank ", rank, ", needs at least 3"));
    return std::nullopt;
  }
  std::vector<int64_t> kernel(w->type.dims.begin() + 2, w->type.dims.end());
  const std::vector<int64_t> given = l.GetInts("kernel_shape");
  if (!given.empty() && given.size() != kernel.size()) {
    Wrong(l, absl::StrCat("kernel_shape has ", given.size(), " numbers, needs ", kernel.size()));
    return std::nullopt;
  }
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (IsKnown(kernel[i]) && !given.empty() && given[i] != kernel[i]) {
      Wrong(l, absl::StrCat("kernel_shape has ", given[i], " where W has ", kernel[i]));
      return std::nullopt;
    }
    if (!IsKnown(kernel[i]) && given.size() == kernel.size()) kernel[i] = given[i];
    if (!IsKnown(kernel[i])) {
      l.NeedsShape("the filter's size");
      return std::nullopt;
    }
  }
  return kernel;
}

// The native op of `type` over two or three dims, with lists of one number lengthened for a line. A null bias is none.
Var* Emit(Lowering& l, const std::string& type, Var* x, Var* filter, Var* bias, OnnxWindows w, Lowering::Attrs attrs) {
  const size_t n = w.kernel.size();
  if (n > 3) {
    l.Unsupported(absl::StrCat("convolution over ", n, " dims cannot be executed"));
    return x;
  }
  if (n == 1) {
    x = l.Unsqueeze(x, {2});
    filter = l.Unsqueeze(filter, {2});
    w.strides = With(1, w.strides);
    w.dilations = With(1, w.dilations);
    w.pads = With(0, With(0, w.pads));
  }
  std::vector<Lowering::Operand> operands = {{"Input", x}, {"Filter", filter}};
  if (bias != nullptr) operands.push_back({"Bias", bias});
  attrs.push_back({"strides", WholeNumbers(w.strides)});
  attrs.push_back({"dilations", WholeNumbers(w.dilations)});
  attrs.push_back({"groups", WholeNumber(l.GetInt("group"))});
  w.same ? attrs.push_back({"padding_algorithm", std::string("SAME")}) : attrs.push_back({"paddings", WholeNumbers(w.pads)});
  Var* y = l.Op(absl::StrCat(n == 3 ? "conv3d" : "conv2d", type), operands, attrs, "Output");
  return n == 1 ? l.Squeeze(y, {2}) : y;
}

// The operand B, null where there is none.
Var* Bias(Lowering& l) { return l.Has("B") ? l.In("B") : nullptr; }

void LowerConv(Lowering& l) { l.Result("Y", Convolved(l, l.In("X"), l.In("W"), Bias(l))); }

// Padding that makes the result as large as asked for. With `may_add`, `extra` gets the positions after the end that are missing then.
void FitResult(const std::vector<int64_t>& in, const std::vector<int64_t>& want, bool upper, bool may_add, OnnxWindows* w,
               std::vector<int64_t>* extra) {
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t reach = SatAdd(SatMul(w->kernel[i] - 1, w->dilations[i]), 1);
    const int64_t total = SatSub(SatAdd(SatAdd(SatMul(w->strides[i], in[i] - 1), (*extra)[i]), reach), want[i]);
    if (total < 0 && may_add) (*extra)[i] = SatSub((*extra)[i], total);
    const int64_t pad = std::max<int64_t>(total, 0);
    w->pads[2 * i] = upper ? pad / 2 : pad - pad / 2;
    w->pads[2 * i + 1] = pad - w->pads[2 * i];
  }
}

void LowerConvTranspose(Lowering& l) {
  const auto kernel = Kernel(l, l.In("W"));
  if (!kernel) return;
  const size_t n = kernel->size();
  OnnxWindows w{*kernel, IntsOr(l, "strides", n, 1), IntsOr(l, "dilations", n, 1), {}};
  std::vector<int64_t> pads = IntsOr(l, "pads", 2 * n, 0);
  if (l.Has("Pads")) {  // ONNX Runtime's, as an operand
    const auto given = l.NeedInts(l.In("Pads"));
    if (!given) return;
    if (given->size() != 2 * n) return Wrong(l, absl::StrCat("Pads has ", given->size(), " numbers, needs ", 2 * n));
    pads = *given;
  }
  std::vector<int64_t> extra = IntsOr(l, "output_padding", n, 0), want = l.GetInts("output_shape");
  const std::string automatic = l.GetString("auto_pad");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (!l.ok()) return;
  for (size_t i = 0; i < n; ++i) {
    w.pads.push_back(automatic == "VALID" ? 0 : pads[i]);
    w.pads.push_back(automatic == "VALID" ? 0 : pads[n + i]);
  }
  if (want.size() == n + 2) want.erase(want.begin(), want.begin() + 2);
  if (!want.empty() && want.size() != n) return Wrong(l, absl::StrCat("output_shape has ", want.size(), " numbers, needs ", n));
  std::vector<int64_t> in = SpatialDims(l.In("X"), n);
  if (!want.empty()) {
    if (!std::all_of(in.begin(), in.end(), IsKnown)) return l.NeedsShape("the size of X");
    FitResult(in, want, automatic == "SAME_UPPER", true, &w, &extra);
  } else if (same) {  // stride times as large, or less where the window is smaller than the stride: the padding does not depend on the size
    FitResult(std::vector<int64_t>(n, 1), w.strides, automatic == "SAME_UPPER", false, &w, &extra);
  }
  if (n == 1) extra = With(0, extra);
  Lowering::Attrs attrs;
  if (std::any_of(extra.begin(), extra.end(), [](int64_t p) { return p != 0; })) attrs.push_back({"output_padding", WholeNumbers(extra)});
  l.Result("Y", Emit(l, "_transpose", l.In("X"), l.In("W"), Bias(l), w, attrs));
}

// Blocks of columns are what a transposed convolution with one-hot filters adds up, one channel per group.
void LowerCol2Im(Lowering& l) {
  Var* x = l.In("input");
  const auto image = l.NeedInts(l.In("image_shape")), block = l.NeedInts(l.In("block_shape"));
  if (!image || !block || !l.Shape(x)) return;
  const size_t n = block->size();
  if (n < 1 || n > 3 || image->size() != n || x->type.rank() != 3) return l.Unsupported("only one to three dims can be executed");
  std::vector<int64_t> strides = IntsOr(l, "strides", n, 1), dilations = IntsOr(l, "dilations", n, 1);
  const std::vector<int64_t> pads = IntsOr(l, "pads", 2 * n, 0);
  std::vector<int64_t> dims = {0, x->type.dims[1]}, filter = {x->type.dims[1], 1}, paddings, extra;
  int64_t size = 1;
  if (n == 1) dims.push_back(1), filter.push_back(1), paddings = {0, 0}, extra = {0};
  for (size_t i = 0; i < n; ++i) {
    if ((*block)[i] < 1 || strides[i] < 1 || dilations[i] < 1) return Wrong(l, "block_shape, strides and dilations need positive numbers");
    const int64_t reach = SatAdd(SatMul((*block)[i] - 1, dilations[i]), 1);
    const int64_t room = SatSub(SatAdd((*image)[i], SatAdd(pads[i], pads[n + i])), reach);
    if (room < 0) return Wrong(l, "a block does not fit the image");
    dims.push_back(room / strides[i] + 1);
    filter.push_back((*block)[i]);
    extra.push_back(room % strides[i]);
    paddings.insert(paddings.end(), {pads[i], pads[n + i]});
    size = SatMul(size, (*block)[i]);
  }
  if (n == 1) {
    strides = With(1, strides);
    dilations = With(1, dilations);
  }
  if (!l.CanHold(DType::kF32, filter)) return;
  absl::StatusOr<HostTensor> one_hot = HostTensor::Create(DType::kF32, filter);
  if (!one_hot.ok()) return l.Fail(one_hot.status());
  for (int64_t c = 0; c < filter[0]; ++c) one_hot->mutable_values<float>()[c * size + c % size] = 1;
  const std::vector<Lowering::Operand> operands = {{"Input", l.Reshape(x, dims)},
                                                   {"Filter", l.Cast(l.Const(*std::move(one_hot)), x->type.dtype)}};
  Var* y = l.Op(n == 3 ? "conv3d_transpose" : "conv2d_transpose", operands,
                {{"strides", WholeNumbers(strides)},
                 {"dilations", WholeNumbers(dilations)},
                 {"paddings", WholeNumbers(paddings)},
                 {"output_padding", WholeNumbers(extra)},
                 {"groups", WholeNumber(filter[0] / size)}},
                "Output");
  l.Result("output", n == 1 ? l.Squeeze(y, {2}) : y);
}

// Of a deformable convolution, whose filter reads X away from its places, each element by an offset of its own.
// Sizes: X [n, c, h, w], W [m, c / groups, kh, kw], the result [n, m, rows, columns].
struct Deformed {
  int64_t n = 0, c = 0, h = 0, w = 0, m = 0, rows = 0, columns = 0;
  int64_t groups = 1, parts = 1;  // parts: of the channels, each with offsets of its own
  int64_t taps = 0;               // kh * kw
  OnnxWindows windows = {};
};

// The operand has these dims; unknown ones are asked for.
bool HasDims(Lowering& l, absl::string_view formal, const std::vector<int64_t>& want) {
  const std::optional<std::vector<int64_t>> have = l.Shape(l.In(formal));
  if (have.has_value() && *have != want) Wrong(l, absl::StrCat(formal, " does not fit X, W and the attributes"));
  return l.ok();
}

std::optional<Deformed> ReadDeformed(Lowering& l) {
  const std::optional<std::vector<int64_t>> x = l.Shape(l.In("X")), w = l.Shape(l.In("W"));
  if (!x.has_value() || !w.has_value()) return std::nullopt;
  if (x->size() != 4) {
    l.Unsupported(absl::StrCat("X of rank ", x->size(), " cannot be executed, only images"));
    return std::nullopt;
  }
  const std::optional<std::vector<int64_t>> kernel = Kernel(l, l.In("W"));
  if (!kernel.has_value()) return std::nullopt;
  std::optional<OnnxWindows> windows = ReadOnnxWindows(l, l.In("X"), *kernel, false);
  if (!windows.has_value()) return std::nullopt;
  if (std::min({(*x)[0], (*x)[1], (*x)[2], (*x)[3], (*w)[0]}) < 1) {
    l.Unsupported("X or W without elements");
    return std::nullopt;
  }
  Deformed d{
      .n = (*x)[0], .c = (*x)[1], .h = (*x)[2], .w = (*x)[3], .m = (*w)[0], .groups = l.GetInt("group"), .parts = l.GetInt("offset_group")};
  if (d.groups < 1 || d.c % d.groups != 0 || d.m % d.groups != 0 || (*w)[1] != d.c / d.groups) {
    Wrong(l, absl::StrCat("W of ", d.m, " times ", (*w)[1], " channels does not fit ", d.c, " channels in ", d.groups, " groups"));
    return std::nullopt;
  }
  if (d.parts < 1 || d.c % d.parts != 0) {
    Wrong(l, absl::StrCat("offset_group is ", d.parts, " for ", d.c, " channels"));
    return std::nullopt;
  }
  int64_t out[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = SatAdd(SatMul(windows->kernel[i] - 1, windows->dilations[i]), 1);
    const int64_t room = SatSub(SatAdd((*x)[2 + i], SatAdd(windows->pads[2 * i], windows->pads[2 * i + 1])), reach);
    if (room < 0) {
      Wrong(l, "the filter does not fit X");
      return std::nullopt;
    }
    out[i] = room / windows->strides[i] + 1;
  }
  d.rows = out[0];
  d.columns = out[1];
  d.taps = SatMul(windows->kernel[0], windows->kernel[1]);
  d.windows = *std::move(windows);
  return d;
}

// Of one coordinate (0: row, 1: column) of every element that is read, from -1 to 1 across X: [n * parts, taps, rows, columns].
Var* Coordinate(Lowering& l, const Deformed& d, Var* offsets, int i) {
  const double size = static_cast<double>(i == 0 ? d.h : d.w);
  Var* moved =
      l.Op("slice", {{"Input", offsets}}, {{"axes", Ints{2}}, {"starts", Ints{i}}, {"ends", Ints{i + 1}}, {"decrease_axis", Ints{2}}});
  const int64_t dims[] = {d.taps, i == 0 ? d.rows : 1, i == 0 ? 1 : d.columns};
  if (!l.CanHold(DType::kF32, dims)) return moved;
  std::vector<float> places;
  for (int64_t tap = 0; tap < d.taps; ++tap) {
    const int64_t inside = i == 0 ? tap / d.windows.kernel[1] : tap % d.windows.kernel[1];
    for (int64_t o = 0; o < dims[1] * dims[2]; ++o) {
      const int64_t at = o * d.windows.strides[i] - d.windows.pads[2 * i] + inside * d.windows.dilations[i];
      places.push_back(static_cast<float>((2.0 * static_cast<double>(at) + 1) / size - 1));
    }
  }
  return l.Binary("elementwise_add", WithNumber(l, "elementwise_mul", moved, 2 / size),
                  l.Const(HostTensor::FromValues<float>(dims, places)));
}

// The values that every element of the filter reads, times the mask: columns [n, groups, c / groups * taps, rows * columns].
Var* Columns(Lowering& l, const Deformed& d) {
  Var* offsets = l.Reshape(l.Cast(l.In("offset"), DType::kF32), {d.n * d.parts, d.taps, 2, d.rows, d.columns});
  Var* row = Coordinate(l, d, offsets, 0);
  Var* column = Coordinate(l, d, offsets, 1);
  Var* grid = l.Reshape(l.Op("stack", {{"X", {column, row}}}, {{"axis", 4}}, "Y"), {d.n * d.parts, d.taps * d.rows, d.columns, 2});
  Var* x = l.Reshape(l.In("X"), {d.n * d.parts, d.c / d.parts, d.h, d.w});
  Var* read = l.Op("grid_sampler", {{"X", x}, {"Grid", grid}}, {{"mode", "bilinear"}, {"padding_mode", "zeros"}, {"align_corners", false}},
                   "Output");
  if (l.Has("mask")) read = l.Binary("elementwise_mul", read, l.Reshape(l.In("mask"), {d.n * d.parts, 1, d.taps * d.rows, d.columns}));
  return l.Reshape(read, {d.n, d.groups, d.c / d.groups * d.taps, d.rows * d.columns});
}

void LowerDeformConv(Lowering& l) {
  const std::optional<Deformed> d = ReadDeformed(l);
  if (!d.has_value()) return;
  if (TypeOf(l, l.In("X")) == DType::kF64) return l.Unsupported("there is no cpu kernel for f64");
  const int64_t reads = SatMul(d->parts, d->taps);
  if (!HasDims(l, "offset", {d->n, SatMul(2, reads), d->rows, d->columns})) return;
  if (l.Has("mask") && !HasDims(l, "mask", {d->n, reads, d->rows, d->columns})) return;
  if (l.Has("B") && !HasDims(l, "B", {d->m})) return;
  Var* filter = l.Reshape(l.In("W"), {1, d->groups, d->m / d->groups, d->c / d->groups * d->taps});
  Var* y = l.Reshape(l.Op("matmul_v2", {{"X", filter}, {"Y", Columns(l, *d)}}), {d->n, d->m, d->rows, d->columns});
  if (l.Has("B")) y = l.Binary("elementwise_add", y, l.Reshape(l.In("B"), {1, d->m, 1, 1}));
  l.Result("Y", y);
}

}  // namespace

Var* Convolved(Lowering& l, Var* x, Var* filter, Var* bias) {
  const auto kernel = Kernel(l, filter);
  if (!kernel) return x;
  const auto w = ReadOnnxWindows(l, x, *kernel, true);
  return w ? Emit(l, "", x, filter, bias, *w, {}) : x;
}

void AddConv(OnnxOps& ops) {
  ops.Add("Conv").Like("conv2d").Weights(WeightUse::kConv).Lower(&LowerConv);
  ops.Add("ConvTranspose").Like("conv2d_transpose").Weights(WeightUse::kConvTransposed).Lower(&LowerConvTranspose);
  ops.Add("com.microsoft.ConvTransposeWithDynamicPads").Like("conv2d_transpose").Lower(&LowerConvTranspose);
  ops.Add("DeformConv")
      .Amp(AmpClass::kDeny, "its offsets have the type of X, and an f16 coordinate above 2048 loses whole pixels")
      .Lower(&LowerDeformConv);
  ops.Add("Col2Im")
      .Amp(AmpClass::kDeny, "adds up as many values as blocks overlap: a sum of ones in f16 stops at 2048")
      .Lower(&LowerCol2Im);
}

}  // namespace ampc::onnx
