#include "kernels/device/emulated/emulated_conv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "graph/base/error.h"
#include "kernels/cuda/launch/launch_host.h"
#include "kernels/cuda/launch/value.h"
#include "kernels/device/device.h"

namespace ampc {
namespace {

using Three = std::array<int64_t, 3>;

// Spatial numbers as three, outermost first, filled in front.
Three AsThree(const std::vector<int64_t>& dims, size_t skip, int64_t fill) {
  Three three{fill, fill, fill};
  for (size_t i = skip; i < dims.size(); ++i) three[3 - (dims.size() - i)] = dims[i];
  return three;
}

struct Tensor {
  int64_t n = 0, c = 0;
  Three size{};
  std::vector<double> values;  // row-major [n, c, size]
  int64_t spatial() const { return size[0] * size[1] * size[2]; }
  double* Plane(int64_t i, int64_t j) { return values.data() + (i * c + j) * spatial(); }
};

Tensor Shaped(const std::vector<int64_t>& dims) {
  Tensor t{dims[0], dims[1], AsThree(dims, 2, 1), {}};
  t.values.assign(static_cast<size_t>(t.n * t.c * t.spatial()), 0.0);
  return t;
}

// f(index in memory, value) for each.
template <class F>
void ForEachValue(Tensor& t, bool channels_last, F f) {
  for (int64_t n = 0; n < t.n; ++n) {
    for (int64_t c = 0; c < t.c; ++c) {
      double* const plane = t.Plane(n, c);
      const int64_t first = channels_last ? n * t.c * t.spatial() + c : (n * t.c + c) * t.spatial(), step = channels_last ? t.c : 1;
      for (int64_t i = 0; i < t.spatial(); ++i) f(first + i * step, plane[i]);
    }
  }
}

void Read(DType type, bool channels_last, const void* from, Tensor& t) {
  cuda::VisitFloat(type, [&](auto tag) {
    const auto* data = static_cast<const typename decltype(tag)::Type*>(from);
    ForEachValue(t, channels_last, [data](int64_t at, double& value) { value = static_cast<double>(cuda::Load(data[at])); });
    return 0;
  });
}

void Write(DType type, bool channels_last, Tensor& t, void* to) {
  cuda::VisitFloat(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    auto* data = static_cast<T*>(to);
    ForEachValue(t, channels_last, [data](int64_t at, double value) { cuda::Store(data[at], static_cast<cuda::ComputeType<T>>(value)); });
    return 0;
  });
}

// The positions [first, last) of y whose tap lies inside x.
std::pair<int64_t, int64_t> Inside(int64_t x, int64_t y, int64_t offset, int64_t stride) {
  const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t last = x - 1 - offset < 0 ? 0 : std::min(y, (x - 1 - offset) / stride + 1);
  return {first, std::max(first, last)};
}

struct Geometry {
  Three before, stride, dilation;
};

// row(x row, y row, count, step in x) for each pair of rows that one tap connects in one pair of planes.
template <class F>
void ForTap(const Geometry& g, const Tensor& x, const Tensor& y, const Three& tap, F row) {
  Three offset;
  std::array<std::pair<int64_t, int64_t>, 3> range;
  for (int a = 0; a < 3; ++a) {
    offset[a] = tap[a] * g.dilation[a] - g.before[a];
    range[a] = Inside(x.size[a], y.size[a], offset[a], g.stride[a]);
  }
  for (int64_t d = range[0].first; d < range[0].second; ++d) {
    for (int64_t h = range[1].first; h < range[1].second; ++h) {
      const int64_t w = range[2].first;
      const int64_t at_x =
          ((d * g.stride[0] + offset[0]) * x.size[1] + h * g.stride[1] + offset[1]) * x.size[2] + w * g.stride[2] + offset[2];
      row(at_x, (d * y.size[1] + h) * y.size[2] + w, range[2].second - w, g.stride[2]);
    }
  }
}

// Adds to the tensor that `kind` writes; the others are read.
void Accumulate(ConvKind kind, const Geometry& g, int64_t groups, Tensor& x, Tensor& w, Tensor& y) {
  const int64_t out = w.n / groups;
  for (int64_t pair = 0; pair < y.n * w.n * w.c; ++pair) {
    const int64_t n = pair / (w.n * w.c), o = pair / w.c % w.n, i = pair % w.c;
    double *const xp = x.Plane(n, o / out * w.c + i), *const yp = y.Plane(n, o), *const wp = w.Plane(o, i);
    for (int64_t k = 0; k < w.spatial(); ++k) {
      const Three tap{k / (w.size[1] * w.size[2]), k / w.size[2] % w.size[1], k % w.size[2]};
      ForTap(g, x, y, tap, [=](int64_t at_x, int64_t at_y, int64_t count, int64_t step) {
        if (kind == ConvKind::kForward) {
          for (int64_t p = 0; p < count; ++p) yp[at_y + p] += wp[k] * xp[at_x + p * step];
        } else if (kind == ConvKind::kInputGradient) {
          for (int64_t p = 0; p < count; ++p) xp[at_x + p * step] += wp[k] * yp[at_y + p];
        } else {
          for (int64_t p = 0; p < count; ++p) wp[k] += xp[at_x + p * step] * yp[at_y + p];
        }
      });
    }
  }
}

double Activate(const ConvDesc& d, double v) {
  switch (d.activation) {
    case ConvActivation::kNone: break;
    case ConvActivation::kRelu: return v < 0 ? 0 : v;
    case ConvActivation::kClip: return v < d.lower ? d.lower : v > d.upper ? d.upper : v;
    case ConvActivation::kSwish: return v / (1 + std::exp(-v));
  }
  return v;
}

void Finish(const ConvDesc& d, const ConvArgs& args, Tensor& y) {
  Tensor bias = Shaped({1, y.c}), residual = Shaped(d.residual ? d.y : std::vector<int64_t>{0, 0});
  if (d.bias) Read(d.bias_type, false, args.bias, bias);
  if (d.residual) Read(d.type, d.channels_last, args.residual, residual);
  for (int64_t plane = 0; plane < y.n * y.c; ++plane) {
    for (int64_t i = plane * y.spatial(); i < (plane + 1) * y.spatial(); ++i) {
      y.values[i] = Activate(d, y.values[i] + bias.values[plane % y.c] + (d.residual ? residual.values[i] : 0));
    }
  }
}

void Run(const ConvDesc& d, const ConvArgs& args) {
  Tensor x = Shaped(d.x), w = Shaped(d.w), y = Shaped(d.y);
  const Geometry g{AsThree(d.pads_begin, 0, 0), AsThree(d.strides, 0, 1), AsThree(d.dilations, 0, 1)};
  if (d.kind != ConvKind::kInputGradient) Read(d.type, d.channels_last, args.x, x);
  if (d.kind != ConvKind::kFilterGradient) Read(d.type, d.filter_channels_last, args.w, w);
  if (d.kind != ConvKind::kForward) Read(d.type, d.channels_last, args.y, y);
  Accumulate(d.kind, g, d.groups, x, w, y);
  const DType result = d.f32_result ? DType::kF32 : d.type;
  switch (d.kind) {
    case ConvKind::kForward: Finish(d, args, y); return Write(result, d.channels_last, y, args.y);
    case ConvKind::kInputGradient: return Write(result, d.channels_last, x, args.x);
    case ConvKind::kFilterGradient: return Write(result, d.filter_channels_last, w, args.w);
  }
}

class EmulatedConvPlan : public ConvPlan {
 public:
  explicit EmulatedConvPlan(const ConvDesc& desc) : desc_(desc) {}
  int64_t workspace_bytes() const override { return 0; }
  absl::Status Run(Stream& stream, const ConvArgs& args) const override {
    cuda::EnqueueEmulated(stream.native(), [desc = desc_, args] { ampc::Run(desc, args); });
    return absl::OkStatus();
  }
  std::string implementation() const override { return "emulated:conv"; }

 private:
  ConvDesc desc_;
};

class EmulatedConv : public ConvLibrary {
 public:
  absl::StatusOr<std::shared_ptr<const ConvPlan>> Plan(const ConvDesc& d, int64_t) override {
    const size_t spatial = d.x.size() - 2;
    const bool fits = d.x.size() >= 3 && d.x.size() <= 5 && d.w.size() == d.x.size() && d.y.size() == d.x.size() &&
                      d.pads_begin.size() == spatial && d.pads_end.size() == spatial && d.strides.size() == spatial &&
                      d.dilations.size() == spatial && d.x[0] == d.y[0] && d.y[1] == d.w[0] && d.x[1] == d.w[1] * d.groups;
    if (!fits || d.w[0] % d.groups != 0) return InternalError("emulated device: the sizes of a convolution do not fit each other");
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t room = d.x[2 + i] + d.pads_begin[i] + d.pads_end[i] - (d.w[2 + i] - 1) * d.dilations[i] - 1;
      if (room < 0 || room / d.strides[i] + 1 != d.y[2 + i] || d.pads_begin[i] < 0 || d.pads_end[i] < 0) {
        return UnsupportedError("emulated device: a convolution whose result has another size than its operand and padding give");
      }
    }
    return std::make_shared<const EmulatedConvPlan>(d);
  }
};

}  // namespace

std::unique_ptr<ConvLibrary> NewEmulatedConv() { return std::make_unique<EmulatedConv>(); }

}  // namespace ampc
