// {linear,bilinear,trilinear,bicubic,nearest}_interp_v2 and their gradients. Source positions and weights of each axis are tables made
// before the run; positions are computed as the framework does, with ratios in float32.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/move.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;

struct Sampling {
  int taps = 1;  // neighbours along an axis: 1 nearest, 2 linear, 4 cubic
  bool align_corners = true;
  bool half_pixel = false;  // pixel centres lie at i + 0.5
};

// Of one spatial dimension: result position i is the sum over k < taps of weight[i * taps + k] times source position at[i * taps + k].
template <typename T>
struct Axis {
  int64_t in = 1, out = 1;
  std::vector<int64_t> at = {0};
  std::vector<T> weight = {1};
};

float Ratio(int64_t in, int64_t out, float scale, bool align_corners) {
  if (out <= 1) return 0;
  if (align_corners) return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  return scale > 0 ? 1 / scale : static_cast<float>(in) / static_cast<float>(out);
}

// Weights of the positions -1, 0, 1, 2 for a point at `t` in [0, 1), by cubic convolution with a = -0.75.
template <typename T>
std::array<T, 4> CubicWeights(T t) {
  constexpr T a = -0.75;
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

template <typename T>
Axis<T> MakeAxis(int64_t in, int64_t out, float scale, const Sampling& s) {
  Axis<T> axis{in, out, {}, {}};
  const float ratio = Ratio(in, out, scale, s.align_corners);
  const auto add = [&](int64_t at, T weight) {
    axis.at.push_back(std::clamp<int64_t>(at, 0, in - 1));
    axis.weight.push_back(weight);
  };
  for (int64_t i = 0; i < out; ++i) {
    const double plain = ratio * static_cast<float>(i);
    const double point = s.half_pixel ? ratio * (static_cast<double>(i) + 0.5) - 0.5 : plain;
    if (s.taps == 1) {
      add(static_cast<int64_t>(plain + (s.align_corners ? 0.5 : 0.0)), 1);
    } else if (s.taps == 2) {
      const double inside = std::max(point, 0.0);
      const int64_t low = std::min(static_cast<int64_t>(inside), in - 1);
      const T high = static_cast<T>(static_cast<float>(inside) - static_cast<float>(low));
      add(low, 1 - high);
      add(low + 1, high);
    } else {
      const T at = static_cast<T>(point);
      const T low = std::floor(at);
      const std::array<T, 4> weights = CubicWeights<T>(at - low);
      for (int k = 0; k < 4; ++k) add(static_cast<int64_t>(low) - 1 + k, weights[k]);
    }
  }
  return axis;
}

template <typename T>
struct Resize {
  int64_t planes = 0, channels = 0;  // n * c planes of 1 channel, or n of c where the channels lie last
  int taps = 1;
  Axis<T> d, h, w;
};

// Rows of the operand and their weights, from which a result row is made.
template <typename T>
struct Rows {
  int count = 0;
  std::array<const T*, 4> at;
  std::array<T, 4> weight;
};

template <typename T, int kTaps>
void SumRow(const Rows<T>& rows, const Axis<T>& w, int64_t channels, T* out) {
  for (int64_t x = 0; x < w.out; ++x, out += channels) {
    const int64_t* at = w.at.data() + x * kTaps;
    const T* weight = w.weight.data() + x * kTaps;
    for (int64_t c = 0; c < channels; ++c) {
      T sum = 0;
      for (int r = 0; r < rows.count; ++r) {
        const T* row = rows.at[r] + c;
        T part = row[at[0] * channels] * weight[0];
        for (int k = 1; k < kTaps; ++k) part += row[at[k] * channels] * weight[k];
        sum += part * rows.weight[r];
      }
      out[c] = sum;
    }
  }
}

template <typename T>
void CopyRow(const T* in, const Axis<T>& w, int64_t channels, T* out) {
  for (int64_t x = 0; x < w.out; ++x) {
    if (channels == 1) {
      out[x] = in[w.at[x]];
    } else {
      std::memcpy(out + x * channels, in + w.at[x] * channels, channels * sizeof(T));
    }
  }
}

template <typename T>
void ResizeRow(const Resize<T>& g, const T* plane, int64_t z, int64_t y, T* out) {
  const int64_t row = g.w.in * g.channels;
  Rows<T> rows;
  for (size_t i = 0; i < g.d.at.size() / g.d.out; ++i) {
    for (size_t j = 0; j < g.h.at.size() / g.h.out; ++j) {
      const size_t a = z * (g.d.at.size() / g.d.out) + i, b = y * (g.h.at.size() / g.h.out) + j;
      rows.at[rows.count] = plane + (g.d.at[a] * g.h.in + g.h.at[b]) * row;
      rows.weight[rows.count++] = g.d.weight[a] * g.h.weight[b];
    }
  }
  if (g.taps == 1) return CopyRow(rows.at[0], g.w, g.channels, out);
  g.taps == 2 ? SumRow<T, 2>(rows, g.w, g.channels, out) : SumRow<T, 4>(rows, g.w, g.channels, out);
}

template <typename T>
void Run(const Resize<T>& g, const KernelArgs& args) {
  const int64_t in_plane = g.d.in * g.h.in * g.w.in * g.channels, out_row = g.w.out * g.channels, rows = g.d.out * g.h.out;
  ParallelFor(args.threads, g.planes * rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, out_row)),
              [&](int64_t first, int64_t last) {
                for (int64_t r = first; r < last; ++r) {
                  const T* plane = static_cast<const T*>(args.inputs[0]) + r / rows * in_plane;
                  ResizeRow(g, plane, r % rows / g.h.out, r % g.h.out, static_cast<T*>(args.outputs[0]) + r * out_row);
                }
              });
}

// The factor of each spatial dimension, 0 where the size was given instead.
absl::StatusOr<std::vector<float>> Scales(const SpecView& view, size_t spatial) {
  std::vector<double> scale;
  if (const int flat = view.In("Scale"); flat >= 0 && view.NumIn("SizeTensor") == 0) {
    const HostTensor* value = view.spec().values[flat];
    for (int64_t i = 0; value != nullptr && i < value->num_elements(); ++i) scale.push_back(ReadAsDouble(value->data(), value->dtype(), i));
  } else if (view.NumIn("SizeTensor") == 0) {
    scale = view.op().GetFloats("scale");
  }
  if (scale.empty()) scale = {0};
  if (scale.size() == 1) scale.resize(spatial, scale[0]);
  if (scale.size() != spatial) return view.Internal("scale has neither one number nor one per spatial dimension");
  return std::vector<float>(scale.begin(), scale.end());
}

Sampling ReadSampling(const Op& op) {
  Sampling s;
  s.taps = absl::StartsWith(op.type(), "nearest") ? 1 : absl::StartsWith(op.type(), "bicubic") ? 4 : 2;
  s.align_corners = op.GetBool("align_corners", true);
  s.half_pixel = !s.align_corners && (s.taps == 4 || op.GetInt("align_mode", 1) == 0);
  return s;
}

template <typename T>
absl::StatusOr<Resize<T>> ReadResize(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  const bool last = ops::ChannelsLast(view.op().GetString("data_layout")) || x.layout == Layout::kChannelsLast;
  const bool last_dims = ops::ChannelsLast(view.op().GetString("data_layout"));
  const size_t spatial = x.dims.size() - 2, first = last_dims ? 1 : 2;
  const int64_t channels = last_dims ? x.dims.back() : x.dims[1];
  AMPC_ASSIGN_OR_RETURN(const std::vector<float> scales, Scales(view, spatial));
  const Sampling s = ReadSampling(view.op());
  Resize<T> g{last ? x.dims[0] : x.dims[0] * channels, last ? channels : 1, s.taps, {}, {}, {}};
  const std::array<Axis<T>*, 3> axes = {&g.d, &g.h, &g.w};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t in = x.dims[first + i];
    if (in == 0) return view.Unsupported("there is no position to sample");
    *axes[3 - spatial + i] = MakeAxis<T>(in, out.dims[first + i], scales[i], s);
  }
  return g;
}

template <typename T>
absl::StatusOr<std::unique_ptr<Kernel>> MakeFor(const SpecView& view) {
  AMPC_ASSIGN_OR_RETURN(Resize<T> g, ReadResize<T>(view, view.InDesc("X"), view.OutDesc("Out")));
  KernelTraits traits;
  traits.rounds_results = g.taps == 1;
  return MakeLambdaKernel(std::move(traits), [g = std::move(g)](const KernelArgs& args) { return Run(g, args), absl::OkStatus(); });
}

// A result row's gradient goes to the positions that it was made from.
template <typename T>
void SpreadRow(const Resize<T>& g, const T* gradient, int64_t z, int64_t y, T* plane) {
  const int64_t row = g.w.in * g.channels;
  const size_t deep = g.d.at.size() / g.d.out, high = g.h.at.size() / g.h.out, wide = g.w.at.size() / g.w.out;
  for (size_t i = z * deep; i < (z + 1) * deep; ++i) {
    for (size_t j = y * high; j < (y + 1) * high; ++j) {
      T* const to = plane + (g.d.at[i] * g.h.in + g.h.at[j]) * row;
      const T weight = g.d.weight[i] * g.h.weight[j];
      for (size_t k = 0; k < g.w.at.size(); ++k) {
        const T* from = gradient + static_cast<int64_t>(k / wide) * g.channels;
        T* const at = to + g.w.at[k] * g.channels;
        for (int64_t c = 0; c < g.channels; ++c) at[c] += from[c] * (weight * g.w.weight[k]);
      }
    }
  }
}

template <typename T>
absl::StatusOr<std::unique_ptr<Kernel>> MakeGradientFor(const SpecView& view) {
  const int in = view.In("Out@GRAD"), out = view.Out("X@GRAD");
  AMPC_ASSIGN_OR_RETURN(Resize<T> g, ReadResize<T>(view, view.spec().outputs[out], view.spec().inputs[in]));
  return MakeLambdaKernel({}, [g = std::move(g), in, out](const KernelArgs& args) {
    const int64_t size = g.d.in * g.h.in * g.w.in * g.channels, row = g.w.out * g.channels, rows = g.d.out * g.h.out;
    ParallelFor(args.threads, g.planes, std::max<int64_t>(1, kGrain / size), [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        T* const plane = static_cast<T*>(args.outputs[out]) + p * size;
        std::fill_n(plane, size, T(0));
        for (int64_t r = 0; r < rows; ++r) {
          SpreadRow(g, static_cast<const T*>(args.inputs[in]) + (p * rows + r) * row, r / g.h.out, r % g.h.out, plane);
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.OutDesc("X@GRAD"), &gradient = view.InDesc("Out@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (x.dims.size() < 3 || x.dims.size() > 5 || gradient.dims.size() != x.dims.size()) return view.Internal("needs 3 to 5 dimensions");
  if (x.NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (gradient.dims == x.dims) {
    return MakeAlias(spec, view.In("Out@GRAD"), view.Out("X@GRAD"));
  }
  return x.dtype == DType::kF64 ? MakeGradientFor<double>(view) : MakeGradientFor<float>(view);
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (x.dims.size() < 3 || x.dims.size() > 5 || out.dims.size() != x.dims.size()) return view.Internal("needs 3 to 5 dimensions");
  if (out.layout != x.layout) return view.Unsupported("the cpu kernel needs Out in the layout of X");
  if (out.NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (out.dims == x.dims) {  // a copy, whatever the scale
    return MakeAlias(spec, 0, 0);
  }
  return x.dtype == DType::kF64 ? MakeFor<double>(view) : MakeFor<float>(view);
}

}  // namespace

absl::Status RegisterInterp(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"bicubic_interp_v2", "bilinear_interp_v2", "linear_interp_v2", "nearest_interp_v2", "trilinear_interp_v2"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kFollows}));
    AMPC_RETURN_IF_ERROR(registry->Add({absl::StrCat(op, "_grad"), &MakeGradient, types}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
