// {linear,bilinear,trilinear,bicubic,nearest}_interp_v2 and their gradients. Source positions and weights of each axis are tables made
// before the run; positions are computed as the framework does, with ratios in float32.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/move.h"
#include "kernels/cpu/simd/blend.h"
#include "kernels/halves.h"
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

// Rows of a plane, where they start, and their weights, from which a result row is made.
template <typename T>
struct Rows {
  int count = 0;
  std::array<int64_t, 4> at;
  std::array<T, 4> weight;
};

template <typename T, int kTaps>
void SumRow(const T* plane, const Rows<T>& rows, const Axis<T>& w, int64_t channels, T* out) {
  for (int64_t x = 0; x < w.out; ++x, out += channels) {
    const int64_t* at = w.at.data() + x * kTaps;
    const T* weight = w.weight.data() + x * kTaps;
    for (int64_t c = 0; c < channels; ++c) {
      T sum = 0;
      for (int r = 0; r < rows.count; ++r) {
        const T* row = plane + rows.at[r] + c;
        T part = row[at[0] * channels] * weight[0];
        for (int k = 1; k < kTaps; ++k) part += row[at[k] * channels] * weight[k];
        sum += part * rows.weight[r];
      }
      out[c] = sum;
    }
  }
}

// The rows that make result row (z, y) of a plane.
template <typename T>
Rows<T> RowsOf(const Resize<T>& g, int64_t z, int64_t y) {
  const int64_t row = g.w.in * g.channels;
  Rows<T> rows;
  for (size_t i = 0; i < g.d.at.size() / g.d.out; ++i) {
    for (size_t j = 0; j < g.h.at.size() / g.h.out; ++j) {
      const size_t a = z * (g.d.at.size() / g.d.out) + i, b = y * (g.h.at.size() / g.h.out) + j;
      rows.at[rows.count] = (g.d.at[a] * g.h.in + g.h.at[b]) * row;
      rows.weight[rows.count++] = g.d.weight[a] * g.h.weight[b];
    }
  }
  return rows;
}

void ResizeDoubles(const Resize<double>& g, const KernelArgs& args) {
  const int64_t in_plane = g.d.in * g.h.in * g.w.in * g.channels, out_row = g.w.out * g.channels, rows = g.d.out * g.h.out;
  ParallelFor(args.threads, g.planes * rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, out_row)),
              [&](int64_t first, int64_t last) {
                for (int64_t r = first; r < last; ++r) {
                  const double* plane = static_cast<const double*>(args.inputs[0]) + r / rows * in_plane;
                  const Rows<double> from = RowsOf(g, r % rows / g.h.out, r % g.h.out);
                  double* out = static_cast<double*>(args.outputs[0]) + r * out_row;
                  g.taps == 2 ? SumRow<double, 2>(plane, from, g.w, g.channels, out) : SumRow<double, 4>(plane, from, g.w, g.channels, out);
                }
              });
}

template <typename Word>
void CopyWords(const char* in, const std::vector<int64_t>& at, char* out) {
  for (size_t x = 0; x < at.size(); ++x) std::memcpy(out + x * sizeof(Word), in + at[x] * sizeof(Word), sizeof(Word));
}

// Pixels of `size` bytes.
void CopyPixels(const char* in, const std::vector<int64_t>& at, int64_t size, char* out) {
  if (size == 2) return CopyWords<uint16_t>(in, at, out);
  if (size == 4) return CopyWords<uint32_t>(in, at, out);
  for (size_t x = 0; x < at.size(); ++x) std::memcpy(out + static_cast<int64_t>(x) * size, in + at[x] * size, static_cast<size_t>(size));
}

// The nearest elements, of whatever they are.
std::unique_ptr<Kernel> MakeNearest(Resize<float> g, int64_t element) {
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [g = std::move(g), pixel = g.channels * element](const KernelArgs& args) {
    const int64_t in_row = g.w.in * pixel, out_row = g.w.out * pixel, rows = g.d.out * g.h.out;
    ParallelFor(args.threads, g.planes * rows, std::max<int64_t>(1, 4 * kGrain / out_row), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const int64_t z = g.d.at[r % rows / g.h.out], y = g.h.at[r % g.h.out];
        const char* in = static_cast<const char*>(args.inputs[0]) + ((r / rows * g.d.in + z) * g.h.in + y) * in_row;
        CopyPixels(in, g.w.at, pixel, static_cast<char*>(args.outputs[0]) + r * out_row);
      }
    });
    return absl::OkStatus();
  });
}

// Floats in any storage: the rows that make a result row are added up, then the pixels of what they give; or the other way round, where a
// row makes several and its pixels fill no vectors.
class BlendKernel final : public Kernel {
 public:
  BlendKernel(Resize<float> g, DType from, DType to, int threads)
      : g_(std::move(g)), from_(from), to_(to), in_row_(g_.w.in * g_.channels), out_row_(g_.w.out * g_.channels) {
    const int64_t rows = g_.planes * g_.d.out * g_.h.out;
    workers_ = std::clamp<int64_t>(rows * out_row_ / kGrain, 1, std::min<int64_t>(threads, rows));
    pixels_first_ = g_.d.in == 1 && g_.d.out == 1 && g_.h.out > g_.h.in && g_.channels % kVector != 0;
    for (int k = 0; k < g_.taps; ++k) {
      for (int64_t x = 0; x < g_.w.out; ++x) {
        at_.push_back(static_cast<int32_t>(g_.w.at[x * g_.taps + k]));
        weight_.push_back(g_.w.weight[x * g_.taps + k]);
      }
    }
  }

  int64_t workspace_bytes() const override { return workers_ * room() * static_cast<int64_t>(sizeof(float)); }
  std::string implementation() const override { return "ampc:simd"; }

  absl::Status Run(const KernelArgs& args) const override {
    const int64_t rows = g_.planes * g_.d.out * g_.h.out;
    ParallelFor(args.threads, workers_, 1, [&](int64_t first, int64_t last) {
      for (int64_t w = first; w < last; ++w) {
        float* const room = static_cast<float*>(args.workspace) + w * this->room();
        Wide wide = {room + Aligned(in_row_) * (from_ == DType::kF32 ? 0 : 1), {-1, -1, -1, -1}};
        for (int64_t r = rows * w / workers_; r < rows * (w + 1) / workers_; ++r) {
          pixels_first_ ? RunRowOfPixels(args, r, room, &wide) : RunRow(args, r, room);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kVector = 16, kMostRows = 4;

  // Rows of X of the width of a result row, one behind the other, by the last bits of their number.
  struct Wide {
    float* rows;
    std::array<int64_t, kMostRows> number;  // of all planes; -1: none yet
  };

  static int64_t Aligned(int64_t floats) { return (floats + kVector - 1) / kVector * kVector; }
  // Floats of a worker: the sum of rows, or four wide ones; rows that are widened; a result row that is rounded.
  int64_t room() const {
    const bool halves = from_ != DType::kF32;
    const int64_t rounded = to_ == DType::kF32 ? 0 : Aligned(out_row_);
    if (pixels_first_) return kMostRows * Aligned(out_row_) + (halves ? Aligned(in_row_) : 0) + rounded;
    return Aligned(in_row_) * (halves ? 1 + kMostRows : 1) + rounded;
  }

  void RunRow(const KernelArgs& args, int64_t r, float* room) const {
    const int64_t rows = g_.d.out * g_.h.out, plane = r / rows * g_.d.in * g_.h.in * in_row_;
    const Rows<float> from = RowsOf(g_, r % rows / g_.h.out, r % g_.h.out);
    std::array<const float*, kMostRows> widened;
    for (int i = 0; i < from.count; ++i) {
      widened[i] = FloatsAt(args.inputs[0], from_, plane + from.at[i], in_row_, room + (i + 1) * Aligned(in_row_));
    }
    simd::BlendRows(widened.data(), from.weight.data(), from.count, room, in_row_);
    float* const out = RoomAt(args.outputs[0], to_, r * out_row_, room + this->room() - Aligned(out_row_));
    simd::BlendPixels(room, {g_.taps, g_.w.out, at_.data(), weight_.data()}, g_.channels, out);
    StoreFloats(out, to_, r * out_row_, out_row_, args.outputs[0]);
  }

  // The rows that make result row `r`, of its width already.
  void RunRowOfPixels(const KernelArgs& args, int64_t r, float* room, Wide* wide) const {
    const Rows<float> from = RowsOf(g_, 0, r % g_.h.out);
    std::array<const float*, kMostRows> rows;
    for (int i = 0; i < from.count; ++i) {
      const int64_t number = r / g_.h.out * g_.h.in + from.at[i] / in_row_;
      const size_t slot = static_cast<size_t>(number % kMostRows);
      float* const row = wide->rows + static_cast<int64_t>(slot) * Aligned(out_row_);
      if (wide->number[slot] != number) {
        const float* const in = FloatsAt(args.inputs[0], from_, number * in_row_, in_row_, room);
        simd::BlendPixels(in, {g_.taps, g_.w.out, at_.data(), weight_.data()}, g_.channels, row);
        wide->number[slot] = number;
      }
      rows[i] = row;
    }
    float* const out = RoomAt(args.outputs[0], to_, r * out_row_, room + this->room() - Aligned(out_row_));
    simd::BlendRows(rows.data(), from.weight.data(), from.count, out, out_row_);
    StoreFloats(out, to_, r * out_row_, out_row_, args.outputs[0]);
  }

  const Resize<float> g_;
  const DType from_, to_;
  const int64_t in_row_, out_row_;
  bool pixels_first_ = false;
  int64_t workers_ = 1;
  std::vector<int32_t> at_;  // of the last axis, tap by tap
  std::vector<float> weight_;
};

template <typename T>
absl::StatusOr<Resize<T>> ReadResize(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  AMPC_ASSIGN_OR_RETURN(const InterpSpec s, ReadInterp(view, x, out));
  return Resize<T>{s.planes, s.channels, s.taps, MakeAxis<T>(s.axes[0]), MakeAxis<T>(s.axes[1]), MakeAxis<T>(s.axes[2])};
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFor(const SpecView& view) {
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  AMPC_ASSIGN_OR_RETURN(Resize<float> g, ReadResize<float>(view, x, out));
  if (g.taps == 1) return MakeNearest(std::move(g), static_cast<int64_t>(SizeOf(x.storage())));
  if (x.dtype == DType::kF64) {
    AMPC_ASSIGN_OR_RETURN(Resize<double> d, ReadResize<double>(view, x, out));
    return MakeLambdaKernel({}, [d = std::move(d)](const KernelArgs& args) { return ResizeDoubles(d, args), absl::OkStatus(); });
  }
  if (g.w.in > std::numeric_limits<int32_t>::max()) return view.Unsupported("a row has more than 2^31 positions");
  return std::make_unique<BlendKernel>(std::move(g), x.storage(), out.storage(), view.spec().threads);
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
  if (out.dims == x.dims && out.storage() == x.storage()) {  // a copy, whatever the scale
    return MakeAlias(spec, 0, 0);
  }
  return MakeFor(view);
}

}  // namespace

absl::Status RegisterInterp(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  for (const char* op : {"bicubic_interp_v2", "bilinear_interp_v2", "linear_interp_v2", "nearest_interp_v2", "trilinear_interp_v2"}) {
    const HalfSupport halves = absl::StartsWith(op, "nearest") ? HalfSupport::kMoves : HalfSupport::kEach;
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kFollows, nullptr, halves}));
    AMPC_RETURN_IF_ERROR(registry->Add({absl::StrCat(op, "_grad"), &MakeGradient, types}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
