// Fourier transforms as products with constant matrices, windows and mel weights as constants.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

// A larger matrix would take more memory than a model that means it is likely to have.
constexpr int64_t kMostElements = int64_t{1} << 27;

// A constant of `dtype` from doubles.
Var* Table(Lowering& l, const std::vector<int64_t>& dims, DType dtype, const std::function<double(int64_t)>& value) {
  absl::StatusOr<HostTensor> out = HostTensor::Create(dtype == DType::kF64 ? DType::kF64 : DType::kF32, dims);
  if (!out.ok()) {
    l.Fail(out.status());
    return l.Const(HostTensor());
  }
  const auto fill = [&value](auto values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = value(static_cast<int64_t>(i));
  };
  fill(out->mutable_values<float>());
  fill(out->mutable_values<double>());
  return l.Cast(l.Const(*std::move(out)), dtype);
}

// Row `x`, column `k` of an n-point transform: the part `out` (0 real, 1 imaginary) that the part `in` of an element gives.
class Transform {
 public:
  // half_spectrum: rows are n / 2 + 1 bins, which stand for their conjugates, too.
  explicit Transform(int64_t n, bool inverse = false, bool half_spectrum = false) : n_(n), half_spectrum_(half_spectrum) {
    const double scale = inverse ? 1 / static_cast<double>(n) : 1;
    for (int64_t i = 0; i < n; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
      cos_.push_back(scale * std::cos(angle));
      sin_.push_back((inverse ? scale : -scale) * std::sin(angle));
    }
  }

  double At(int64_t x, int64_t in, int64_t k, int64_t out) const {
    const int64_t angle = x * k % n_;
    const double value = in == out ? cos_[angle] : in == 0 ? sin_[angle] : -sin_[angle];
    return half_spectrum_ && x != 0 && 2 * x != n_ ? 2 * value : value;
  }

 private:
  const int64_t n_;
  const bool half_spectrum_;
  std::vector<double> cos_, sin_;
};

// One integer, -1 where it is not known.
int64_t NeedInt(Lowering& l, const char* formal) {
  const std::optional<std::vector<int64_t>> value = l.NeedInts(l.In(formal));
  return value.has_value() && value->size() == 1 ? (*value)[0] : -1;
}

void LowerDft(Lowering& l) {
  Var* x = l.In("input");
  const int rank = l.Rank(x);
  const int64_t given = l.since() < 20 ? l.GetInt("axis") : l.Has("axis") ? NeedInt(l, "axis") : -2;
  const int64_t length = l.Has("dft_length") ? NeedInt(l, "dft_length") : 0;
  if (!l.ok()) return;
  const int64_t axis = given < 0 ? given + rank : given;
  if (rank < 2 || axis < 0 || axis > rank - 2) return l.Unsupported(absl::StrCat("axis ", given, " does not fit rank ", rank));
  const int64_t parts = x->type.dims[rank - 1], size = x->type.dims[axis];
  if (!IsKnown(parts) || !IsKnown(size)) return l.NeedsShape("the length of the signal");
  const bool inverse = l.GetInt("inverse") != 0, onesided = l.GetInt("onesided") != 0;
  const bool to_real = inverse && onesided;
  const int64_t n = length > 0 ? length : to_real ? 2 * (size - 1) : size;
  const int64_t rows = std::min(size, to_real ? n / 2 + 1 : n), columns = onesided && !inverse ? n / 2 + 1 : n, outs = to_real ? 1 : 2;
  if (n <= 0 || parts < 1 || parts > 2) return l.Unsupported(absl::StrCat(n, " points of ", parts, " parts"));
  if (SatMul(SatMul(std::max<int64_t>(rows, 1), parts), SatMul(columns, outs)) > kMostElements)
    return l.Unsupported(absl::StrCat("a transform of ", n, " points is too long"));
  // The axis goes next to the parts, so that one product does both.
  std::vector<int> swap;
  for (int i = 0; i < rank; ++i) swap.push_back(i);
  std::swap(swap[axis], swap[rank - 2]);
  if (axis != rank - 2) x = l.Transpose(x, swap);
  if (rows < size) {
    x = l.Op("slice", {{"Input", x}},
             {{"axes", std::vector<int64_t>{rank - 2}}, {"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{rows}}});
  }
  const Transform t(n, inverse, to_real);
  Var* const matrix = Table(l, {rows * parts, columns * outs}, x->type.dtype, [&](int64_t i) {
    const int64_t row = i / (columns * outs), column = i % (columns * outs);
    return t.At(row / parts, row % parts, column / outs, column % outs);
  });
  std::vector<int64_t> flat(rank - 2, 0), result(rank - 2, 0);
  flat.push_back(rows * parts);
  result.insert(result.end(), {columns, outs});
  Var* y = l.Op("matmul_v2", {{"X", l.Reshape(x, flat)}, {"Y", matrix}});
  y = l.Reshape(y, result);
  l.Result("output", axis != rank - 2 ? l.Transpose(y, swap) : y);
}

// A convolution over the signal, whose filters are the rows of the transform times the window.
void LowerStft(Lowering& l) {
  Var* const signal = l.In("signal");
  const int rank = l.Rank(signal);
  const int64_t step = NeedInt(l, "frame_step");
  int64_t n = l.Has("frame_length") ? NeedInt(l, "frame_length") : 0;
  if (!l.ok()) return;
  if (n == 0 && l.Has("window")) {
    const TensorType& window = l.In("window")->type;
    n = window.has_rank && window.rank() == 1 && IsKnown(window.dims[0]) ? window.dims[0] : 0;
  }
  if (n == 0) return l.NeedsShape("the length of a frame");
  if (rank < 2 || rank > 3) return l.Unsupported(absl::StrCat("a signal of rank ", rank));
  const int64_t parts = rank == 2 ? 1 : signal->type.dims[2];
  if (!IsKnown(parts)) return l.NeedsShape("whether the signal is complex");
  const int64_t bins = l.GetInt("onesided") != 0 ? n / 2 + 1 : n;
  if (n < 0 || step <= 0 || parts < 1 || parts > 2)
    return l.Unsupported(absl::StrCat("frames of ", n, " every ", step, ", of ", parts, " parts"));
  if (SatMul(SatMul(2, bins), SatMul(n, parts)) > kMostElements)
    return l.Unsupported(absl::StrCat("a transform of ", n, " points is too long"));
  const Transform t(n);
  Var* filter = Table(l, {2 * bins, parts, 1, n}, signal->type.dtype,
                      [&](int64_t i) { return t.At(i % n, i / n % parts, i / (n * parts) / 2, i / (n * parts) % 2); });
  if (l.Has("window")) filter = l.Binary("elementwise_mul", filter, l.In("window"));
  Var* x = rank == 2 ? l.Unsqueeze(signal, {1, 2}) : l.Unsqueeze(l.Transpose(signal, {0, 2, 1}), {2});
  Var* y = l.Op("conv2d", {{"Input", x}, {"Filter", filter}}, {{"strides", std::vector<int64_t>{1, step}}}, "Output");
  y = l.Transpose(l.Squeeze(y, {2}), {0, 2, 1});
  l.Result("output", l.Reshape(y, {0, 0, bins, 2}));
}

// a - b cos(x) + c cos(2x) over one period.
template <int kA, int kB, int kC, int kScale>
void LowerWindow(Lowering& l) {
  const int64_t size = NeedInt(l, "size");
  if (!l.ok()) return;
  if (size < 0 || size > kMostElements) return l.Unsupported(absl::StrCat("a window of ", size, " points"));
  const int64_t period = std::max<int64_t>(l.GetInt("periodic") != 0 ? size : size - 1, 1);
  l.Result("output", Table(l, {size}, l.GetDType("output_datatype", DType::kF32), [&](int64_t i) {
             const double x = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period);
             return (kA - kB * std::cos(x) + kC * std::cos(2 * x)) / kScale;
           }));
}

// Triangles over the bins of a spectrum, evenly spaced on the mel scale.
void LowerMelWeightMatrix(Lowering& l) {
  const int64_t mels = NeedInt(l, "num_mel_bins"), n = NeedInt(l, "dft_length"), rate = NeedInt(l, "sample_rate");
  const std::optional<double> low = l.Float(l.In("lower_edge_hertz")), high = l.Float(l.In("upper_edge_hertz"));
  if (!low.has_value() || !high.has_value()) l.NeedsShape("the edges");
  if (!l.ok()) return;
  const int64_t bins = n / 2 + 1;
  if (mels <= 0 || n <= 0 || rate <= 0 || bins > kMostElements / mels)
    return l.Unsupported(absl::StrCat(mels, " mel bins of ", n, " points at ", rate, " Hz"));
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double from = to_mel(*low), step = (to_mel(*high) - from) / static_cast<double>(mels + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < mels + 2; ++i) {
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(i) * step + from) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(n + 1) * hertz / static_cast<double>(rate))));
  }
  l.Result("output", Table(l, {bins, mels}, l.GetDType("output_datatype", DType::kF32), [&](int64_t i) {
             const int64_t bin = i / mels, left = edges[i % mels], center = edges[i % mels + 1], right = edges[i % mels + 2];
             if (bin == center && (left == center || center < right)) return 1.0;
             if (bin >= left && bin <= center) return static_cast<double>(bin - left) / static_cast<double>(center - left);
             return bin > center && bin < right ? static_cast<double>(right - bin) / static_cast<double>(right - center) : 0.0;
           }));
}

}  // namespace

void AddSignal(OnnxOps& ops) {
  const char* spectrum = "sums of many terms that cancel: what is small in a spectrum, which a logarithm makes large again, is lost";
  ops.Add("DFT").Amp(AmpClass::kDeny, spectrum).Lower(&LowerDft);
  ops.Add("STFT").Amp(AmpClass::kDeny, spectrum).Lower(&LowerStft);
  const char* table = "makes a table of the type that the model asks for";
  ops.Add("HannWindow").Amp(AmpClass::kNever, table).Lower(&LowerWindow<1, 1, 0, 2>);
  ops.Add("HammingWindow").Amp(AmpClass::kNever, table).Lower(&LowerWindow<25, 21, 0, 46>);
  ops.Add("BlackmanWindow").Amp(AmpClass::kNever, table).Lower(&LowerWindow<42, 50, 8, 100>);
  ops.Add("MelWeightMatrix").Amp(AmpClass::kNever, table).Lower(&LowerMelWeightMatrix);
}

}  // namespace ampc::onnx
