// pad, pad2d, pad3d and their gradients: where each position of a dimension comes from is a table per dimension, made before the run.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/elementwise/cast_loop.h"
#include "kernels/halves.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/spec/move/fill_spec.h"
#include "kernels/spec/move/pad_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

// Source position of each result position of a dimension; -1 for the constant.
std::vector<int64_t> Sources(PadMode mode, int64_t in, int64_t before, int64_t out) {
  std::vector<int64_t> from(out);
  for (int64_t i = 0; i < out; ++i) from[i] = PadSource(mode, i, in, before);
  return from;
}

// Positions that are consecutive in the source, or all the constant.
struct Run {
  int64_t out, from, count;  // from -1: the constant
};

std::vector<Run> RunsOf(const std::vector<int64_t>& from) {
  std::vector<Run> runs;
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i) {
    if (!runs.empty()) {
      Run& last = runs.back();
      if (from[i] == (last.from < 0 ? -1 : last.from + last.count)) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({i, from[i], 1});
  }
  return runs;
}

struct Padder {
  struct Dim {
    std::vector<int64_t> from;
    int64_t step;  // bytes of the operand from one position to the next
  };
  std::vector<Dim> outer;  // all but the innermost padded one, outermost first
  std::vector<Run> inner;
  int64_t rows = 1, row = 0, unit = 0;  // rows of the result; bytes of one; bytes of one position of `inner`
  std::vector<char> fill;               // one row of the constant

  void CopyRow(const char* x, char* out, int64_t r) const {
    out += r * row;
    for (auto dim = outer.rbegin(); dim != outer.rend(); ++dim) {
      const int64_t size = static_cast<int64_t>(dim->from.size()), from = dim->from[r % size];
      if (from < 0) {
        std::memcpy(out, fill.data(), row);
        return;
      }
      x += from * dim->step;
      r /= size;
    }
    for (const Run& run : inner) {
      const char* from = run.from < 0 ? fill.data() : x + run.from * unit;
      std::memcpy(out + run.out * unit, from, run.count * unit);
    }
  }
};

// One element of the constant, rounded to the declared type of the operand, as that is stored.
std::vector<char> ConstantOf(double value, const TensorDesc& like) {
  if (IsComplex(like.dtype)) return StoredElement({.number = value}, like.dtype);
  std::vector<char> bytes(ElementSize(like.dtype)), stored(ElementSize(like));
  CastLoop(DType::kF64, like.dtype).Run(&value, bytes.data(), 1, 1);
  if (!like.half) return bytes;
  ConvertStored(bytes.data(), DType::kF32, stored.data(), like.dtype, 1, 1);
  return stored;
}

// A tensor as rows of memory.
TensorDesc InMemory(TensorDesc t) {
  const std::vector<int64_t> dims = DimsInMemory(t);
  t.dims.assign(dims.begin(), dims.end());
  t.layout = Layout::kPlain;
  return t;
}

// Dimensions without padding become bytes of a position (the last ones) or one dimension of those around them.
Padder MakePadder(const TensorDesc& x, const TensorDesc& out, const PadSpec& padding) {
  const auto is_padded = [&](size_t i) { return padding.before[i] != 0 || x.dims[i] != out.dims[i]; };
  Padder p;
  p.unit = ElementSize(x);
  size_t last = x.dims.size();
  while (last > 1 && !is_padded(last - 1)) p.unit *= x.dims[--last];
  p.inner = RunsOf(Sources(padding.mode, x.dims[last - 1], padding.before[last - 1], out.dims[last - 1]));
  p.row = out.dims[last - 1] * p.unit;
  int64_t step = x.dims[last - 1] * p.unit;
  for (size_t i = last - 1; i-- > 0;) {
    int64_t in = x.dims[i], size = out.dims[i];
    const bool padded = is_padded(i);
    for (; !padded && i > 0 && !is_padded(i - 1); --i) {
      in *= x.dims[i - 1];
      size *= out.dims[i - 1];
    }
    p.outer.insert(p.outer.begin(), {Sources(padding.mode, in, padding.before[i], size), step});
    p.rows *= size;
    step *= in;
  }
  const std::vector<char> constant = ConstantOf(padding.value, x);
  p.fill.resize(p.row);
  for (int64_t i = 0; i < p.row; ++i) p.fill[i] = constant[i % constant.size()];
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  if (x.dims.empty() || view.OutDesc("Out").dims.size() != x.dims.size()) return view.Internal("needs the result in the rank of X");
  AMPC_ASSIGN_OR_RETURN(PadSpec padding, ReadPadding(view, x.dims, view.OutDesc("Out").dims));
  const std::vector<int64_t> before = padding.before;
  for (size_t i = 0; i < before.size(); ++i) padding.before[AxisInMemory(x, static_cast<int64_t>(i))] = before[i];
  Padder p = MakePadder(InMemory(x), InMemory(view.OutDesc("Out")), padding);
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [p = std::move(p)](const KernelArgs& args) {
    if (p.row == 0) return absl::OkStatus();
    ParallelFor(args.threads, p.rows, std::max<int64_t>(1, kGrainBytes / p.row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) p.CopyRow(static_cast<const char*>(args.inputs[0]), static_cast<char*>(args.outputs[0]), r);
    });
    return absl::OkStatus();
  });
}

// The gradient of an element is the sum over the positions that show it: per dimension, those of each operand position.
struct PadGradient {
  struct Dim {
    std::vector<std::vector<int64_t>> shown;
    int64_t step;  // elements of the result from one position to the next
  };
  std::vector<Dim> outer;  // all but the last, outermost first
  std::vector<std::vector<int64_t>> inner;
  int64_t rows = 1;  // of the operand

  template <typename T>
  void AddRow(const T* gradient, T* out, int64_t r) const {
    out += r * static_cast<int64_t>(inner.size());
    std::vector<int64_t> starts = {0};  // rows of the result that show this one
    for (auto dim = outer.rbegin(); dim != outer.rend(); ++dim) {
      const int64_t size = static_cast<int64_t>(dim->shown.size());
      const std::vector<int64_t>& at = dim->shown[r % size];
      std::vector<int64_t> next;
      for (int64_t position : at) {
        for (int64_t start : starts) next.push_back(start + position * dim->step);
      }
      starts = std::move(next);
      r /= size;
    }
    for (size_t i = 0; i < inner.size(); ++i) {
      double sum = 0;
      for (int64_t start : starts) {
        for (int64_t position : inner[i]) sum += static_cast<double>(gradient[start + position]);
      }
      out[i] = static_cast<T>(sum);
    }
  }
  template <typename T>
  void Run(const KernelArgs& args, int in, int out) const {
    const int64_t grain = std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, static_cast<int64_t>(inner.size())));
    ParallelFor(args.threads, rows, grain, [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) AddRow(static_cast<const T*>(args.inputs[in]), static_cast<T*>(args.outputs[out]), r);
    });
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &gradient = view.InDesc("Out@GRAD"), &x = view.OutDesc("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (x.NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  AMPC_ASSIGN_OR_RETURN(const PadSpec padding, ReadPadding(view, x.dims, gradient.dims));
  PadGradient g;
  int64_t step = 1;
  for (size_t i = x.dims.size(); i-- > 0;) {
    const std::vector<int64_t> from = Sources(padding.mode, x.dims[i], padding.before[i], gradient.dims[i]);
    std::vector<std::vector<int64_t>> shown(x.dims[i]);
    for (size_t at = 0; at < from.size(); ++at) {
      if (from[at] >= 0) shown[from[at]].push_back(static_cast<int64_t>(at));
    }
    if (i + 1 == x.dims.size()) {
      g.inner = std::move(shown);
    } else {
      g.outer.insert(g.outer.begin(), {std::move(shown), step});
      g.rows *= x.dims[i];
    }
    step *= gradient.dims[i];
  }
  KernelTraits traits;
  return MakeLambdaKernel(std::move(traits), [g = std::move(g), wide = x.dtype == DType::kF64, in = view.In("Out@GRAD"),
                                              out = view.Out("X@GRAD")](const KernelArgs& args) {
    wide ? g.Run<double>(args, in, out) : g.Run<float>(args, in, out);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterPad(KernelRegistry* registry) {
  for (const char* op : {"pad", "pad2d", "pad3d"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, MovableTypes(), LayoutSupport::kFollows, nullptr, HalfSupport::kMoves}));
  }
  for (const char* op : {"pad_grad", "pad2d_grad", "pad3d_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
