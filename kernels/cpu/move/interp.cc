// {linear,bilinear,trilinear,bicubic,nearest}_interp_v2 and their gradients. Source positions and weights of each axis are tables made
// before the run; positions are computed as the framework does, with ratios in float32.
#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/move.h"
#include "kernels/parallel.h"
#include "kernels/spec/move/interp_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;

// Of one spatial dimension: result position i is the sum over k < taps of weight[i * taps + k] times source position at[i * taps + k].
template <typename T>
struct Axis {
  int64_t in = 1, out = 1;
  std::vector<int64_t> at = {0};
  std::vector<T> weight = {1};
};

template <typename T>
Axis<T> MakeAxis(const InterpAxis& spec) {
  Axis<T> axis{spec.in, spec.out, {}, {}};
  std::array<T, kMaxTaps> weight;
  for (int64_t i = 0; i < spec.out; ++i) {
    const int64_t first = InterpTaps<T>(spec, i, weight.data());
    for (int k = 0; k < spec.taps; ++k) {
      axis.at.push_back(InterpPosition(spec, first + k));
      axis.weight.push_back(weight[k]);
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

template <typename T>
absl::StatusOr<Resize<T>> ReadResize(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  AMPC_ASSIGN_OR_RETURN(const InterpSpec s, ReadInterp(view, x, out));
  return Resize<T>{s.planes, s.channels, s.taps, MakeAxis<T>(s.axes[0]), MakeAxis<T>(s.axes[1]), MakeAxis<T>(s.axes[2])};
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
