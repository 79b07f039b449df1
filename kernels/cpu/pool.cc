// pool2d and pool3d: windows are cut to the operand at plan time; a result element is reduced by vectors of channels where channels lie
// last, of columns where they do not.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// The positions [begin, end) of a window along one axis, and how many a mean divides by.
struct Range {
  int64_t begin, end;
  double count;
  int64_t size() const { return end - begin; }
};
using Ranges = std::vector<Range>;

struct Pool {
  int64_t batch, channels, in_d, in_h, in_w;
  Ranges d, h, w;  // one per result plane, row, column; an image is a volume of one plane
  bool max = false;
  bool in_last = false, out_last = false;  // channels lie last
  int64_t out_d() const { return static_cast<int64_t>(d.size()); }
  int64_t out_h() const { return static_cast<int64_t>(h.size()); }
  int64_t out_w() const { return static_cast<int64_t>(w.size()); }
  bool empty(const Range& z, const Range& r, const Range& c) const { return z.size() <= 0 || r.size() <= 0 || c.size() <= 0; }
  float factor(const Range& z, const Range& r, const Range& c) const { return static_cast<float>(1.0 / (z.count * r.count * c.count)); }
  // A window that lies in padding alone.
  float nothing() const { return max ? -FLT_MAX : 0.0f; }
};

// A mean counts the positions inside the operand when it is exclusive, else those inside the padded one.
Ranges SlidingRanges(const ops::Window& w, int64_t in, int64_t out, bool exclusive) {
  Ranges ranges;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * w.stride - w.before;
    const int64_t padded_end = std::min(begin + w.kernel, in + w.after);
    const int64_t first = std::max<int64_t>(begin, 0), last = std::min(padded_end, in);
    if (first >= last) {
      ranges.push_back({0, 0, 1});
      continue;
    }
    ranges.push_back({first, last, static_cast<double>(exclusive ? last - first : padded_end - begin)});
  }
  return ranges;
}

Ranges AdaptiveRanges(int64_t in, int64_t out) {
  Ranges ranges;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    ranges.push_back({begin, end, static_cast<double>(end - begin)});
  }
  return ranges;
}

// Blocks of channels of one result position.
constexpr int64_t kBlock = 64;

// Up to kBlock neighbouring channels of one window, plane after plane. T: as simd::Window's.
template <typename T>
void ReduceBlock(const Pool& p, const T* at, const Range& dep, const Range& row, const Range& col, int64_t count, float* to) {
  float plane[kBlock];
  for (int64_t z = 0; z < dep.size(); ++z, at += p.in_h * p.in_w * p.channels) {
    const simd::Window<T> window{at, row.size(), col.size(), p.in_w * p.channels, p.channels};
    float* const part = z == 0 ? to : plane;
    p.max ? simd::WindowMax(window, part, count) : simd::WindowSum(window, p.factor(dep, row, col), part, count);
    for (int64_t k = 0; z > 0 && k < count; ++k) {
      if (p.max) {
        to[k] = plane[k] > to[k] || plane[k] != plane[k] ? plane[k] : to[k];
      } else {
        to[k] += plane[k];
      }
    }
  }
}

void RunChannelsLast(const Pool& p, int threads, const void* x, DType from, void* out, DType stored) {
  const int64_t blocks = (p.channels + kBlock - 1) / kBlock;
  const int64_t positions = p.batch * p.out_d() * p.out_h() * p.out_w();
  const int64_t window = std::max<int64_t>(1, p.d[0].size() * p.h[0].size() * p.w[0].size());
  ParallelFor(threads, positions * blocks, std::max<int64_t>(1, (1 << 13) / (window * std::min(kBlock, p.channels))),
              [&](int64_t first, int64_t last) {
                for (int64_t i = first; i < last; ++i) {
                  const int64_t position = i / blocks, c = i % blocks * kBlock, plane = position / (p.out_h() * p.out_w());
                  const Range& dep = p.d[plane % p.out_d()];
                  const Range& row = p.h[position / p.out_w() % p.out_h()];
                  const Range& col = p.w[position % p.out_w()];
                  const int64_t count = std::min(kBlock, p.channels - c);
                  float room[kBlock];
                  float* const to = RoomAt(out, stored, position * p.channels + c, room);
                  if (p.empty(dep, row, col)) {
                    std::fill(to, to + count, p.nothing());
                  } else {
                    const int64_t at = ((plane / p.out_d() * p.in_d + dep.begin) * p.in_h + row.begin) * p.in_w + col.begin;
                    const auto reduce = [&](const auto* all) { ReduceBlock(p, all + at * p.channels + c, dep, row, col, count, to); };
                    from == DType::kF32 ? reduce(static_cast<const float*>(x)) : reduce(static_cast<const uint16_t*>(x));
                  }
                  StoreFloats(to, stored, position * p.channels + c, count, out);
                }
              });
}

// A window of a row-major channel.
float ReduceWindow(const Pool& p, const float* channel, const Range& dep, const Range& row, const Range& col) {
  const bool whole_rows = col.size() == p.in_w;
  const int64_t runs = whole_rows ? 1 : row.size(), length = whole_rows ? row.size() * p.in_w : col.size();
  float max = -std::numeric_limits<float>::infinity();
  double sum = 0;
  for (int64_t z = dep.begin; z < dep.end; ++z) {
    const float* at = channel + (z * p.in_h + row.begin) * p.in_w + col.begin;
    for (int64_t r = 0; r < runs; ++r, at += p.in_w) {
      if (!p.max) {
        sum += simd::SumRow(at, length);
        continue;
      }
      const float v = simd::MaxRow(at, length);
      max = v > max || v != v ? v : max;
    }
  }
  return p.max ? max : static_cast<float>(sum / (dep.count * row.count * col.count));
}

// One result row of a plane with narrow windows: columns of `kSpan` operand positions are reduced by vectors, then the windows in them.
constexpr int64_t kSpan = 512;

void ReduceRow(const Pool& p, const float* plane, const Range& row, float* out) {
  float span[kSpan];
  for (int64_t first = 0; first < p.out_w();) {
    const int64_t begin = p.w[first].begin;
    int64_t last = first, end = begin;
    while (last < p.out_w() && p.w[last].end - begin <= kSpan) end = std::max(end, p.w[last++].end);
    const simd::Window<float> columns{plane + row.begin * p.in_w + begin, row.size(), 1, p.in_w, 0};
    if (row.size() > 0 && end > begin)
      p.max ? simd::WindowMax(columns, span, end - begin) : simd::WindowSum(columns, 1.0f, span, end - begin);
    for (int64_t i = first; i < last; ++i) {
      const Range& col = p.w[i];
      if (p.empty(p.d[0], row, col)) {
        out[i] = p.nothing();
        continue;
      }
      const float* at = span + (col.begin - begin);
      float v = at[0];
      for (int64_t k = 1; k < col.size(); ++k) {
        if (p.max) {
          v = at[k] > v || at[k] != at[k] ? at[k] : v;
        } else {
          v += at[k];
        }
      }
      out[i] = p.max ? v : v * p.factor(p.d[0], row, col);
    }
    first = last;
  }
}

void RunPlain(const Pool& p, int threads, const float* x, float* out) {
  int64_t widest = 0;
  for (const Range& r : p.w) widest = std::max(widest, r.size());
  const bool narrow = widest <= kSpan / 4 && p.in_d == 1 && p.out_d() == 1;
  const int64_t rows = p.batch * p.channels * p.out_d() * p.out_h();
  const int64_t work = std::max<int64_t>(1, p.d[0].size() * p.h[0].size() * std::max(p.in_w, p.out_w()));
  ParallelFor(threads, rows, std::max<int64_t>(1, (1 << 13) / work), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t plane = i / p.out_h();
      const float* channel = x + plane / p.out_d() * p.in_d * p.in_h * p.in_w;
      const Range &dep = p.d[plane % p.out_d()], &row = p.h[i % p.out_h()];
      float* to = out + i * p.out_w();
      if (narrow && p.out_w() > 1) {
        ReduceRow(p, channel, row, to);
        continue;
      }
      for (int64_t c = 0; c < p.out_w(); ++c) {
        to[c] = p.empty(dep, row, p.w[c]) ? p.nothing() : ReduceWindow(p, channel, dep, row, p.w[c]);
      }
    }
  });
}

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
  return absl::OkStatus();
}

absl::StatusOr<Pool> ReadPool(const SpecView& view, const TensorDesc& x, const TensorDesc& out) {
  const bool nhwc = ops::ChannelsLast(view.op().GetString("data_format"));
  const size_t spatial = x.dims.size() - 2;
  const auto sizes = [&](const Dims& dims) { return absl::MakeConstSpan(dims).subspan(nhwc ? 1 : 2, spatial); };
  const auto in = sizes(x.dims);
  Pool p{x.dims[0], nhwc ? x.dims.back() : x.dims[1], spatial == 3 ? in[0] : 1, in[spatial - 2], in[spatial - 1], {}, {}, {}};
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
  if (p.in_last != p.out_last) traits.workspace_bytes = spec.outputs[0].StorageBytes();
  return MakeLambdaKernel(traits, [p = std::move(p), from, stored](const KernelArgs& args) {
    const void* x = args.inputs[0];
    void* const out = args.outputs[0];
    void* const to = p.in_last == p.out_last ? out : args.workspace;
    p.in_last ? RunChannelsLast(p, args.threads, x, from, to, stored)
              : RunPlain(p, args.threads, static_cast<const float*>(x), static_cast<float*>(to));
    if (to != out) {
      const int64_t spatial = p.out_d() * p.out_h() * p.out_w();
      Transpose2D(args.threads, p.batch, p.in_last ? spatial : p.channels, p.in_last ? p.channels : spatial, static_cast<float*>(to),
                  static_cast<float*>(out));
    }
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
    traits.workspace_bytes += (t.StorageBytes() + 63) / 64 * 64;
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
  AMPC_RETURN_IF_ERROR(registry->Add({"pool2d", &Make, types, LayoutSupport::kAware, nullptr, HalfSupport::kEach}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pool3d", &Make, types}));
  AMPC_RETURN_IF_ERROR(registry->Add({"pool2d_grad", &MakeGradient, types, LayoutSupport::kAware}));
  return registry->Add({"pool3d_grad", &MakeGradient, types});
}

}  // namespace ampc
