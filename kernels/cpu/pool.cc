// pool2d and pool3d, and their gradients.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/aligned.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/pool_loops.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// Neighbouring channels whose gradients are spread at once.
constexpr int64_t kBlock = 64;

// Of the spatial dimensions, outermost first, into d, h, w.
absl::Status ReadRanges(const SpecView& view, absl::Span<const int64_t> in, absl::Span<const int64_t> out, Pool* p) {
  const Op& op = view.op();
  Ranges* const axes[] = {&p->d, &p->h, &p->w};
  const size_t skip = 3 - in.size();
  if (skip > 0) p->d = {{0, 1, 1}};
  if (op.GetBool("global_pooling") || op.GetBool("adaptive")) {
    for (size_t i = 0; i < in.size(); ++i) *axes[skip + i] = AdaptiveRanges(in[i], out[i]);
    return absl::OkStatus();
  }
  const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(op, in, op.GetInts("ksize"));
  if (!windows.ok()) return view.Internal(windows.status().message());
  const bool exclusive = op.GetBool("exclusive", true);
  for (size_t i = 0; i < in.size(); ++i) *axes[skip + i] = SlidingRanges((*windows)[i], in[i], out[i], exclusive);
  p->columns = windows->back();
  return absl::OkStatus();
}

absl::StatusOr<Pool> ReadPool(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  const bool nhwc = ops::ChannelsLast(view.op().GetString("data_format"));
  const size_t spatial = x.dims.size() - 2;
  const auto sizes = [&](const Dims& dims) { return absl::MakeConstSpan(dims).subspan(nhwc ? 1 : 2, spatial); };
  const auto in = sizes(x.dims);
  Pool p{.batch = x.dims[0],
         .channels = nhwc ? x.dims.back() : x.dims[1],
         .in_d = spatial == 3 ? in[0] : 1,
         .in_h = in[spatial - 2],
         .in_w = in[spatial - 1],
         .d = {},
         .h = {},
         .w = {}};
  p.max = view.op().GetString("pooling_type") == "max";
  AMPC_RETURN_IF_ERROR(ReadRanges(view, in, sizes(out.dims), &p));
  p.in_last = nhwc || x.layout == Layout::kChannelsLast;
  p.out_last = nhwc || out.layout == Layout::kChannelsLast;
  if (p.out_d() * p.out_h() * p.out_w() == 1) p.out_last = p.in_last;  // the same bytes
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(Pool p, ReadPool(view, spec.inputs[0], spec.outputs[0]));
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  const int64_t total = spec.outputs[0].NumElements();
  if (total == 0) return MakeLambdaKernel(traits, [](const KernelArgs&) { return absl::OkStatus(); });
  const DType from = spec.inputs[0].storage(), stored = spec.outputs[0].storage();
  if (HasHalves(spec) && (!p.in_last || !p.out_last || from == DType::kF16)) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
    return MakeWidened(std::move(kernel), spec);
  }
  PrepareRows(&p);
  if (p.in_last != p.out_last) traits.workspace_bytes = spec.outputs[0].StorageBytes();
  return MakeLambdaKernel(traits, [p = std::move(p), from, stored](const KernelArgs& args) {
    RunPool(p, args.threads, args.inputs[0], from, args.outputs[0], stored, args.workspace);
    return absl::OkStatus();
  });
}

// Channels of one image: one that lies by itself, or up to kBlock neighbours where channels lie last; `step` elements from position to
// position of the operand and of the result.
struct Channels {
  const float *x, *out, *gradient;  // out: null for a mean
  float* to;
  int64_t step, count;
};

// The gradient of a window's largest value goes to the first position that holds it; NaN is held by none.
void SpreadLargest(const Pool& p, const Channels& c, int64_t at, const Range& dep, const Range& row, const Range& col) {
  uint32_t rest[kBlock];  // the bits of the gradient until it is given; no branches, which could not be predicted
  std::memcpy(rest, c.gradient + at, c.count * sizeof(float));
  for (int64_t z = dep.begin; z < dep.end; ++z) {
    for (int64_t y = row.begin; y < row.end; ++y) {
      for (int64_t x = col.begin; x < col.end; ++x) {
        const int64_t i = ((z * p.in_h + y) * p.in_w + x) * c.step;
        for (int64_t k = 0; k < c.count; ++k) {
          const uint32_t holds = 0 - static_cast<uint32_t>(c.x[i + k] == c.out[at + k]);
          c.to[i + k] += std::bit_cast<float>(rest[k] & holds);
          rest[k] &= ~holds;
        }
      }
    }
  }
}

// The most common window, 2 x 2 of one channel. Which value is the largest cannot be predicted, so there are no branches.
void SpreadLargestOfFour(const float* x, float* to, int64_t row, float largest, float gradient) {
  const uint32_t a = x[0] == largest, b = (a ^ 1) & static_cast<uint32_t>(x[1] == largest);
  const uint32_t c = ((a | b) ^ 1) & static_cast<uint32_t>(x[row] == largest);
  const uint32_t d = ((a | b | c) ^ 1) & static_cast<uint32_t>(x[row + 1] == largest);
  const auto part = [bits = std::bit_cast<uint32_t>(gradient)](uint32_t holds) { return std::bit_cast<float>(bits & (0 - holds)); };
  to[0] += part(a);
  to[1] += part(b);
  to[row] += part(c);
  to[row + 1] += part(d);
}

// The same for any window of one channel: searched from the end, without branches.
void SpreadLargestOfOne(const Pool& p, const Channels& c, int64_t at, const Range& dep, const Range& row, const Range& col) {
  const float largest = c.out[at];
  if (p.in_d == 1 && c.step == 1 && row.size() == 2 && col.size() == 2) {
    const int64_t i = row.begin * p.in_w + col.begin;
    return SpreadLargestOfFour(c.x + i, c.to + i, p.in_w, largest, c.gradient[at]);
  }
  int64_t found = -1;
  for (int64_t z = dep.end; z-- > dep.begin;) {
    for (int64_t y = row.end; y-- > row.begin;) {
      const float* line = c.x + (z * p.in_h + y) * p.in_w * c.step;
      for (int64_t x = col.end; x-- > col.begin;) found = line[x * c.step] == largest ? line + x * c.step - c.x : found;
    }
  }
  if (found >= 0) c.to[found] += c.gradient[at];
}

void SpreadMean(const Pool& p, const Channels& c, int64_t at, const Range& dep, const Range& row, const Range& col) {
  const float factor = p.factor(dep, row, col);
  for (int64_t z = dep.begin; z < dep.end; ++z) {
    for (int64_t y = row.begin; y < row.end; ++y) {
      float* line = c.to + (z * p.in_h + y) * p.in_w * c.step;
      for (int64_t x = col.begin; x < col.end; ++x) {
        for (int64_t k = 0; k < c.count; ++k) line[x * c.step + k] += c.gradient[at + k] * factor;
      }
    }
  }
}

// Windows in order, so that sums do not depend on threads.
void SpreadChannels(const Pool& p, const Channels& c) {
  const int64_t size = p.in_d * p.in_h * p.in_w, lines = c.step == c.count ? 1 : size;
  for (int64_t i = 0; i < lines; ++i) std::fill_n(c.to + i * c.step, size / lines * c.count, 0.0f);
  const auto spread = !p.max ? &SpreadMean : c.count == 1 ? &SpreadLargestOfOne : &SpreadLargest;
  int64_t at = 0;
  for (const Range& dep : p.d) {
    for (const Range& row : p.h) {
      for (const Range& col : p.w) {
        if (!p.empty(dep, row, col)) spread(p, c, at, dep, row, col);
        at += c.step;
      }
    }
  }
}

// All in one order of memory.
void RunGradient(const Pool& p, int threads, const float* x, const float* out, const float* gradient, float* to) {
  const int64_t in_size = p.in_d * p.in_h * p.in_w, out_size = p.out_d() * p.out_h() * p.out_w();
  const int64_t width = p.in_last ? std::min(kBlock, p.channels) : 1, blocks = (p.channels + width - 1) / width;
  ParallelFor(threads, p.batch * blocks, std::max<int64_t>(1, (1 << 12) / (in_size * width)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t n = i / blocks, c = i % blocks * width;
      const int64_t at = n * p.channels * in_size + (p.in_last ? c : c * in_size);
      const int64_t from = n * p.channels * out_size + (p.in_last ? c : c * out_size);
      SpreadChannels(
          p, {x + at, p.max ? out + from : nullptr, gradient + from, to + at, p.in_last ? p.channels : 1, std::min(width, p.channels - c)});
    }
  });
}

// Computes in the order of X; the others are brought to it in the workspace, and the result out of it.
absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const int x = view.In("X"), out = view.In("Out"), gradient = view.In("Out@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[x].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(Pool p, ReadPool(view, spec.inputs[x], spec.inputs[gradient]));
  if (p.max && out < 0) return view.Unsupported("the largest values of the windows are needed");
  if (spec.inputs[x].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const bool nhwc = ops::ChannelsLast(view.op().GetString("data_format"));
  KernelTraits traits;
  const auto room = [&](const TensorDesc& t) {  // the place of its copy in the order of X, in elements; -1 where it lies so
    if ((nhwc || t.layout == Layout::kChannelsLast) == p.in_last) return int64_t{-1};
    const int64_t at = traits.workspace_bytes / static_cast<int64_t>(sizeof(float));
    traits.workspace_bytes += Aligned(t.StorageBytes());
    return at;
  };
  const int64_t out_at = p.max ? room(spec.inputs[out]) : -1, gradient_at = room(spec.inputs[gradient]), to_at = room(spec.outputs[0]);
  return MakeLambdaKernel(traits, [=, p = std::move(p)](const KernelArgs& args) {
    const int64_t in_size = p.in_d * p.in_h * p.in_w, out_size = p.out_d() * p.out_h() * p.out_w();
    float* const ws = static_cast<float*>(args.workspace);
    const auto in = [&](int flat, int64_t at) {
      const float* from = static_cast<const float*>(args.inputs[flat]);
      if (at < 0) return from;
      Transpose2D(args.threads, p.batch, p.in_last ? p.channels : out_size, p.in_last ? out_size : p.channels, from, ws + at);
      return static_cast<const float*>(ws + at);
    };
    float *const result = static_cast<float*>(args.outputs[0]), *const to = to_at < 0 ? result : ws + to_at;
    RunGradient(p, args.threads, static_cast<const float*>(args.inputs[x]), p.max ? in(out, out_at) : nullptr, in(gradient, gradient_at),
                to);
    if (to_at >= 0) Transpose2D(args.threads, p.batch, p.in_last ? in_size : p.channels, p.in_last ? p.channels : in_size, to, result);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterPool(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  for (const char* op : {"pool2d", "pool3d"})
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kAware, nullptr, HalfSupport::kEach}));
  for (const char* op : {"pool2d_grad", "pool3d_grad"})
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeGradient, types, LayoutSupport::kAware}));
  return absl::OkStatus();
}

}  // namespace ampc
