// pad3d: where each position of the three spatial dimensions comes from is a table per dimension, made before the run.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/elementwise/cast_loop.h"
#include "kernels/cpu/move/move.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

// Source position of each result position of a dimension; -1 for the constant.
absl::StatusOr<std::vector<int64_t>> Sources(const SpecView& view, int64_t in, int64_t before, int64_t out, const std::string& mode) {
  std::vector<int64_t> from(out);
  for (int64_t i = 0; i < out; ++i) {
    int64_t at = i - before;
    if (at < 0 || at >= in) {
      if (mode == "constant") {
        at = -1;
      } else if (in == 0) {
        return view.Unsupported(absl::StrCat("mode ", mode, " needs at least one position to copy"));
      } else if (mode == "replicate") {
        at = std::clamp<int64_t>(at, 0, in - 1);
      } else if (mode == "circular") {
        at = (at % in + in) % in;
      } else {  // reflect, without the edge itself
        at = at < 0 ? -at : 2 * (in - 1) - at;
        if (at < 0 || at >= in) return view.Internal("reflects more positions than there are");
      }
    }
    from[i] = at;
  }
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
  int64_t planes = 0, in_plane = 0;  // of n * c (or n) volumes; bytes of one in the operand
  std::vector<int64_t> depth, height;
  std::vector<Run> width;
  int64_t in_h = 0, in_row = 0, out_row = 0, unit = 0;  // bytes of a row; bytes of one position of the width
  std::vector<char> fill;                               // one row of the constant

  // Result row `r`, counted over planes, depth and height.
  void Row(const char* x, char* out, int64_t r) const {
    const int64_t h = height[r % height.size()], d = depth[r / height.size() % depth.size()], p = r / height.size() / depth.size();
    char* row = out + r * out_row;
    if (h < 0 || d < 0) {
      std::memcpy(row, fill.data(), out_row);
      return;
    }
    const char* in = x + p * in_plane + (d * in_h + h) * in_row;
    for (const Run& run : width) {
      const char* from = run.from < 0 ? fill.data() : in + run.from * unit;
      std::memcpy(row + run.out * unit, from, run.count * unit);
    }
  }
};

// One element of the constant in the declared type of the operand.
std::vector<char> ConstantOf(double value, DType dtype) {
  std::vector<char> bytes(ElementSize(dtype));
  CastLoop(DType::kF64, dtype).Run(&value, bytes.data(), 1, 1);
  return bytes;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &out = view.OutDesc("Out");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  std::vector<int64_t> pads = view.op().GetInts("paddings");
  if (view.In("Paddings") >= 0) {
    const auto value = view.Ints("Paddings");
    if (!value) return view.Unsupported("Paddings must be known before the run");
    pads = *value;
  }
  if (x.dims.size() != 5 || out.dims.size() != 5 || pads.size() != 6) return view.Internal("needs 5 dimensions and 6 paddings");
  const std::string mode = view.op().GetString("mode", "constant");
  const bool last = view.op().GetString("data_format", "NCDHW") == "NDHWC";
  const int first = last ? 1 : 2;  // the first spatial dimension
  Padder p;
  AMPC_ASSIGN_OR_RETURN(const std::vector<int64_t> w, Sources(view, x.dims[first + 2], pads[0], out.dims[first + 2], mode));
  AMPC_ASSIGN_OR_RETURN(p.height, Sources(view, x.dims[first + 1], pads[2], out.dims[first + 1], mode));
  AMPC_ASSIGN_OR_RETURN(p.depth, Sources(view, x.dims[first], pads[4], out.dims[first], mode));
  p.width = RunsOf(w);
  p.planes = last ? x.dims[0] : x.dims[0] * x.dims[1];
  p.unit = ElementSize(x.dtype) * (last ? x.dims[4] : 1);
  p.in_h = x.dims[first + 1];
  p.in_row = x.dims[first + 2] * p.unit;
  p.in_plane = x.dims[first] * p.in_h * p.in_row;
  p.out_row = out.dims[first + 2] * p.unit;
  const std::vector<char> constant = ConstantOf(view.op().GetFloat("value", 0), x.dtype);
  p.fill.resize(p.out_row);
  for (int64_t i = 0; i < p.out_row; ++i) p.fill[i] = constant[i % constant.size()];
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [p = std::move(p)](const KernelArgs& args) {
    const int64_t rows = p.planes * static_cast<int64_t>(p.depth.size() * p.height.size());
    if (p.out_row == 0) return absl::OkStatus();
    ParallelFor(args.threads, rows, std::max<int64_t>(1, kGrainBytes / p.out_row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) p.Row(static_cast<const char*>(args.inputs[0]), static_cast<char*>(args.outputs[0]), r);
    });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterPad3D(KernelRegistry* registry) {
  return registry->Add({"pad3d", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}});
}

}  // namespace ampc
