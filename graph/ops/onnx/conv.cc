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

// Padding that makes the result as large as asked for. What is missing then is added to `extra`, positions after the end, where `may_add`.
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
  if (n == 1) strides = With(1, strides), dilations = With(1, dilations);
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

}  // namespace

Var* Convolved(Lowering& l, Var* x, Var* filter, Var* bias) {
  const auto kernel = Kernel(l, filter);
  if (!kernel) return x;
  const auto w = ReadOnnxWindows(l, x, *kernel, true);
  return w ? Emit(l, "", x, filter, bias, *w, {}) : x;
}

void AddConv(OnnxOps& ops) {
  ops.Add("Conv").Like("conv2d").Lower(&LowerConv);
  ops.Add("ConvTranspose").Like("conv2d_transpose").Lower(&LowerConvTranspose);
  ops.Add("com.microsoft.ConvTransposeWithDynamicPads").Like("conv2d_transpose").Lower(&LowerConvTranspose);
  ops.Add("Col2Im")
      .Amp(AmpClass::kDeny, "adds up as many values as blocks overlap: a sum of ones in f16 stops at 2048")
      .Lower(&LowerCol2Im);
}

}  // namespace ampc::onnx
