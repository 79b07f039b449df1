// window_pool: pools over any number of spatial dims, with dilations and with the positions of the largest values. Without these it runs
// the loops of pool2d and pool3d.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "graph/base/size.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/pool_loops.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using PooledTypes = Reals::With<uint8_t, int8_t>;

struct WindowPool {
  enum class Mode : uint8_t { kMax, kAvg, kLp } mode = Mode::kMax;
  ops::Windows windows;
  std::vector<int64_t> in, out;                // spatial sizes
  std::vector<int64_t> step, number;           // per dim: elements to the next position, and what Indices counts for it
  int64_t planes = 0, plane = 1, results = 1;  // channels of all images; elements of one of X and of Out
  int64_t channels_in = 1, channels_out = 1;   // neighbours of an element, where channels lie last; else 1
  bool exclusive = true;
  double p = 2;
};

// The positions of one window along a dim: those inside X are [begin, end), `padded` of them lie in front of the end of the padding.
struct Extent {
  int64_t begin, end, padded;
};

Extent ExtentOf(const ops::Window& w, int64_t first, int64_t in) {
  const auto in_front_of = [&](int64_t i) { return i <= first ? 0 : std::min(w.kernel, (i - first + w.dilation - 1) / w.dilation); };
  return {in_front_of(0), in_front_of(in), in_front_of(in + w.after)};
}

// Calls visit(offset, number) for the elements of one window inside X and returns how many a mean divides by.
template <typename F>
int64_t ForEachInWindow(const WindowPool& w, const std::vector<int64_t>& first, F visit) {
  const size_t rank = w.in.size();
  absl::InlinedVector<Extent, 4> extents(rank);
  absl::InlinedVector<int64_t, 4> at(rank);
  int64_t inside = 1, padded = 1;
  for (size_t d = 0; d < rank; ++d) {
    extents[d] = ExtentOf(w.windows[d], first[d], w.in[d]);
    at[d] = extents[d].begin;
    inside *= extents[d].end - extents[d].begin;
    padded = SatMul(padded, extents[d].padded);
  }
  for (int64_t left = inside; left > 0; --left) {
    int64_t offset = 0, number = 0;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t i = first[d] + at[d] * w.windows[d].dilation;
      offset += i * w.step[d];
      number += i * w.number[d];
    }
    visit(offset, number);
    for (size_t d = rank; d-- > 0 && ++at[d] == extents[d].end;) at[d] = extents[d].begin;
  }
  return w.exclusive ? inside : padded;
}

template <typename T>
struct Best {
  T value = std::numeric_limits<T>::lowest();
  int64_t number = 0;
  bool none = true;
};

template <typename T>
T Pooled(const WindowPool& w, const T* x, const std::vector<int64_t>& first, int64_t* index) {
  if (w.mode == WindowPool::Mode::kMax) {
    Best<T> best;
    ForEachInWindow(w, first, [&](int64_t offset, int64_t number) {
      if (best.none || x[offset] > best.value || (x[offset] != x[offset] && best.value == best.value)) best = {x[offset], number, false};
    });
    *index = best.number;
    return best.value;
  }
  double sum = 0;
  const bool mean = w.mode == WindowPool::Mode::kAvg;
  const int64_t count = ForEachInWindow(w, first, [&](int64_t offset, int64_t) {
    const double v = static_cast<double>(x[offset]);
    sum += mean ? v : w.p == 1 ? std::abs(v) : w.p == 2 ? v * v : std::pow(std::abs(v), w.p);
  });
  if (mean) return static_cast<T>(count == 0 ? 0.0 : sum / static_cast<double>(count));
  return static_cast<T>(w.p == 1 ? sum : w.p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / w.p));
}

template <typename T>
void Run(const WindowPool& w, const KernelArgs& args, int indices) {
  const size_t rank = w.in.size();
  ParallelFor(args.threads, w.planes * w.results, 256, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> first(rank);
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i % w.results, index = 0;
      for (size_t d = rank; d-- > 0; rest /= w.out[d]) first[d] = rest % w.out[d] * w.windows[d].stride - w.windows[d].before;
      const int64_t plane = i / w.results, result = i % w.results;
      // The first element of the plane: that of its image, and its channel.
      const auto start = [plane](int64_t channels, int64_t size) { return plane / channels * channels * size + plane % channels; };
      const T value = Pooled(w, static_cast<const T*>(args.inputs[0]) + start(w.channels_in, w.plane), first, &index);
      static_cast<T*>(args.outputs[0])[start(w.channels_out, w.results) + result * w.channels_out] = value;
      if (indices >= 0) static_cast<int64_t*>(args.outputs[indices])[i] = plane * w.plane + index;
    }
  });
}

// The same pool as loops over rows of an image or a volume; nullopt where there are none for it. A line is an image of one row.
std::optional<Pool> AsPool(const WindowPool& w, const TensorDesc& x, const TensorDesc& out, bool indices) {
  const size_t rank = w.in.size();
  if (indices || StorageType(x.dtype) != DType::kF32 || w.mode == WindowPool::Mode::kLp || rank < 1 || rank > 3 || out.NumElements() == 0)
    return std::nullopt;
  Pool p{.batch = x.dims[0], .channels = x.dims[1], .in_d = 1, .in_h = 1, .in_w = w.in.back(), .d = {{0, 1, 1}}, .h = {{0, 1, 1}}, .w = {}};
  if (rank > 1) p.in_h = w.in[rank - 2];
  if (rank > 2) p.in_d = w.in[0];
  Ranges* const axes[] = {&p.d, &p.h, &p.w};
  for (size_t d = 0; d < rank; ++d) {
    if (w.windows[d].dilation != 1 && w.windows[d].kernel != 1) return std::nullopt;
    *axes[3 - rank + d] = SlidingRanges(w.windows[d], w.in[d], w.out[d], w.exclusive);
  }
  p.columns = w.windows[rank - 1];
  p.max = w.mode == WindowPool::Mode::kMax;
  p.in_last = x.layout == Layout::kChannelsLast;
  p.out_last = out.layout == Layout::kChannelsLast;
  if (w.results == 1) p.out_last = p.in_last;  // the same bytes
  PrepareRows(&p);
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op& op = view.op();
  const TensorDesc &x = spec.inputs[0], &out = spec.outputs[0];
  AMPC_RETURN_IF_ERROR(view.CheckType<PooledTypes>(x.dtype));
  WindowPool w;
  const std::string mode = op.GetString("mode");
  w.mode = mode == "max" ? WindowPool::Mode::kMax : mode == "avg" ? WindowPool::Mode::kAvg : WindowPool::Mode::kLp;
  w.in.assign(x.dims.begin() + 2, x.dims.end());
  w.out.assign(out.dims.begin() + 2, out.dims.end());
  const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(op, w.in, op.GetInts("ksize"));
  if (!windows.ok()) return view.Internal(windows.status().message());
  w.windows = *windows;
  w.planes = x.dims[0] * x.dims[1];
  w.step.resize(w.in.size());
  w.number.resize(w.in.size());
  for (size_t d = w.in.size(); d-- > 0; w.plane *= w.in[d]) w.step[d] = w.plane;
  w.number = w.step;
  if (op.GetBool("column_major")) {
    int64_t step = 1;
    for (size_t d = 0; d < w.in.size(); step *= w.in[d++]) w.number[d] = step;
  }
  for (int64_t n : w.out) w.results *= n;
  w.exclusive = op.GetBool("exclusive", true);
  w.p = static_cast<double>(op.GetInt("p", 2));
  KernelTraits traits;
  traits.rounds_results = w.mode == WindowPool::Mode::kMax;
  if (std::optional<Pool> pool = AsPool(w, x, out, view.Out("Indices") >= 0); pool.has_value()) {
    traits.implementation = "ampc:simd";
    if (pool->in_last != pool->out_last) traits.workspace_bytes = out.StorageBytes();
    return MakeLambdaKernel(traits, [p = *std::move(pool)](const KernelArgs& args) {
      RunPool(p, args.threads, args.inputs[0], DType::kF32, args.outputs[0], DType::kF32, args.workspace);
      return absl::OkStatus();
    });
  }
  if (x.layout == Layout::kChannelsLast) w.channels_in = x.dims[1];
  if (out.layout == Layout::kChannelsLast) w.channels_out = x.dims[1];
  for (int64_t& step : w.step) step *= w.channels_in;
  const DType storage = StorageType(x.dtype);
  const auto run = Select<PooledTypes>(storage, [](auto tag) { return &Run<typename decltype(tag)::type>; });
  return MakeLambdaKernel(traits, [w = std::move(w), run, indices = view.Out("Indices")](const KernelArgs& args) {
    run(w, args, indices);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterWindowPool(KernelRegistry* registry) {
  return registry->Add({"window_pool", &Make, DeclaredTypes<PooledTypes>(), LayoutSupport::kAware});
}

}  // namespace ampc
