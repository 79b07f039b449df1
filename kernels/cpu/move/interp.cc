// nearest_interp_v2 and bilinear_interp_v2. Positions and weights are float32, as the framework computes them, in tables made before
// the run.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;

struct Sampling {
  bool align_corners = true;
  bool half_pixel = false;  // align_mode 0: pixel centres lie at i + 0.5
};

// Source positions per result position of one dimension: low, high = low + 1 inside the operand, and the weight of high.
struct Table {
  std::vector<int64_t> low, high;
  std::vector<float> weight;
};

float Ratio(int64_t in, int64_t out, float scale, bool align_corners) {
  if (out <= 1) return 0;
  if (align_corners) return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  return scale > 0 ? 1 / scale : static_cast<float>(in) / static_cast<float>(out);
}

Table NearestTable(int64_t in, int64_t out, float scale, const Sampling& s) {
  Table t;
  const float ratio = Ratio(in, out, scale, s.align_corners);
  for (int64_t i = 0; i < out; ++i) {
    const float at = ratio * static_cast<float>(i) + (s.align_corners ? 0.5f : 0);
    t.low.push_back(std::min(static_cast<int64_t>(at), in - 1));
  }
  return t;
}

Table LinearTable(int64_t in, int64_t out, float scale, const Sampling& s) {
  Table t;
  const float ratio = Ratio(in, out, scale, s.align_corners);
  for (int64_t i = 0; i < out; ++i) {
    const float raw = s.half_pixel ? ratio * (static_cast<float>(i) + 0.5f) - 0.5f : ratio * static_cast<float>(i);
    const float at = std::max(raw, 0.0f);
    const int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    t.low.push_back(low);
    t.high.push_back(std::min(low + 1, in - 1));
    t.weight.push_back(at - static_cast<float>(low));
  }
  return t;
}

// Element strides of a 4-D tensor and of its result; `c` is 1 for channels last.
struct Geometry {
  int64_t planes = 0, channels = 0;  // loops: planes (n, or n * c) x rows x columns x channels (1 or c)
  int64_t in_h = 0, in_w = 0, out_h = 0, out_w = 0;
};

template <typename T>
void NearestRow(const T* in, T* out, const Geometry& g, const Table& w) {
  for (int64_t x = 0; x < g.out_w; ++x) {
    const T* from = in + w.low[x] * g.channels;
    if (g.channels == 1) {
      out[x] = *from;
    } else {
      std::memcpy(out + x * g.channels, from, g.channels * sizeof(T));
    }
  }
}

template <typename T>
void LinearRow(const T* top, const T* bottom, T down, T* out, const Geometry& g, const Table& w) {
  for (int64_t x = 0; x < g.out_w; ++x) {
    const int64_t a = w.low[x] * g.channels, b = w.high[x] * g.channels;
    const T right = static_cast<T>(w.weight[x]), left = 1 - right, up = 1 - down;
    for (int64_t c = 0; c < g.channels; ++c) {
      out[x * g.channels + c] =
          top[a + c] * up * left + bottom[a + c] * down * left + top[b + c] * up * right + bottom[b + c] * down * right;
    }
  }
}

template <typename T>
void Run(const Geometry& g, const Table& h, const Table& w, bool linear, const KernelArgs& args) {
  const int64_t in_row = g.in_w * g.channels, out_row = g.out_w * g.channels;
  ParallelFor(args.threads, g.planes * g.out_h, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, out_row)),
              [&](int64_t first, int64_t last) {
                for (int64_t r = first; r < last; ++r) {
                  const int64_t y = r % g.out_h;
                  const T* plane = static_cast<const T*>(args.inputs[0]) + r / g.out_h * g.in_h * in_row;
                  T* out = static_cast<T*>(args.outputs[0]) + r * out_row;
                  if (linear) {
                    LinearRow<T>(plane + h.low[y] * in_row, plane + h.high[y] * in_row, static_cast<T>(h.weight[y]), out, g, w);
                  } else {
                    NearestRow<T>(plane + h.low[y] * in_row, out, g, w);
                  }
                }
              });
}

// The factors of height and width, 0 where the size was given instead.
absl::StatusOr<std::pair<float, float>> Scales(const SpecView& view) {
  if (view.NumIn("SizeTensor") > 0) return std::pair<float, float>(0, 0);
  std::vector<double> scale = view.op().GetFloats("scale");
  if (const int flat = view.In("Scale"); flat >= 0) {
    const HostTensor* value = view.spec().values[flat];
    scale.clear();
    for (int64_t i = 0; value != nullptr && i < value->num_elements(); ++i) scale.push_back(ReadAsDouble(value->data(), value->dtype(), i));
  }
  if (scale.empty()) return std::pair<float, float>(0, 0);
  if (scale.size() > 2) return view.Internal("scale has more than two numbers");
  return std::pair<float, float>(static_cast<float>(scale[0]), static_cast<float>(scale.back()));
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (x.dims.size() != 4 || out.dims.size() != 4) return view.Internal("needs 4 dimensions");
  const bool linear = view.op().type() == "bilinear_interp_v2";
  const bool last = view.op().GetString("data_layout", "NCHW") == "NHWC";
  const int first = last ? 1 : 2;
  Geometry g;
  g.planes = last ? x.dims[0] : x.dims[0] * x.dims[1];
  g.channels = last ? x.dims[3] : 1;
  g.in_h = x.dims[first];
  g.in_w = x.dims[first + 1];
  g.out_h = out.dims[first];
  g.out_w = out.dims[first + 1];
  if ((g.in_h == 0 || g.in_w == 0) && out.NumElements() > 0) return view.Unsupported("there is no position to sample");
  Sampling s;
  s.align_corners = view.op().GetBool("align_corners", true);
  s.half_pixel = !s.align_corners && view.op().GetInt("align_mode", 1) == 0;
  AMPC_ASSIGN_OR_RETURN(const auto scales, Scales(view));
  const auto table = linear ? &LinearTable : &NearestTable;
  Table h = table(g.in_h, g.out_h, scales.first, s), w = table(g.in_w, g.out_w, scales.second, s);
  KernelTraits traits;
  traits.rounds_results = !linear;
  return MakeLambdaKernel(std::move(traits),
                          [g, linear, h = std::move(h), w = std::move(w), dbl = x.dtype == DType::kF64](const KernelArgs& args) {
                            if (dbl) {
                              Run<double>(g, h, w, linear, args);
                            } else {
                              Run<float>(g, h, w, linear, args);
                            }
                            return absl::OkStatus();
                          });
}

}  // namespace

absl::Status RegisterInterp(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"bilinear_interp_v2", &Make, types}));
  return registry->Add({"nearest_interp_v2", &Make, types});
}

}  // namespace ampc
