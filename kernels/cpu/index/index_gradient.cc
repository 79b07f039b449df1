// Gradients of gather, index_select, lookup_table, lookup_table_v2, gather_nd, scatter, scatter_nd_add, index_sample, take_along_axis,
// argsort, top_k, top_k_v2 and masked_select: slices go back to where they were taken from.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/index/nd_index.h"
#include "kernels/cpu/index/slices.h"
#include "kernels/parallel.h"
#include "kernels/spec/index/index_spec.h"

namespace ampc {
namespace {

// The positions of `index` in the workspace, counted in slices.
absl::StatusOr<const int64_t*> Positions(const NdIndex& index, const KernelArgs& args) {
  AMPC_RETURN_IF_ERROR(index.Check(args));
  int64_t* const at = static_cast<int64_t*>(args.workspace);
  for (int64_t i = 0; i < index.rows(); ++i) at[i] = index.At(args, i);
  return at;
}

absl::StatusOr<const int64_t*> Positions(const SliceIndexSpec& s, const std::string& name, const KernelArgs& args) {
  int64_t* const at = static_cast<int64_t*>(args.workspace);
  for (int64_t i = 0; i < s.count; ++i) {
    const int64_t v = ReadAsInt(args.inputs[s.flat], s.type, i);
    at[i] = PositionIn(v, s.slots, s.from_end);
    if (s.padding >= 0 && v == s.padding) {
      at[i] = -1;
    } else if (at[i] < 0) {
      return BadIndex(name, i, v, s.slots, s.from_end);
    }
  }
  return at;
}

// `positions` is `absl::StatusOr<const int64_t*>(const KernelArgs&)`, whose workspace has room for them.
template <typename F>
std::unique_ptr<Kernel> MakeSliceSum(const SliceSum& sum, DType dtype, int in, int out, F positions) {
  KernelTraits traits;
  traits.workspace_bytes = sum.count * static_cast<int64_t>(sizeof(int64_t));
  return MakeLambdaKernel(
      std::move(traits), [=, wide = dtype == DType::kF64, positions = std::move(positions)](const KernelArgs& args) -> absl::Status {
        AMPC_ASSIGN_OR_RETURN(const int64_t* const at, positions(args));
        wide ? sum.Run(at, static_cast<const double*>(args.inputs[in]), static_cast<double*>(args.outputs[out]), args.threads)
             : sum.Run(at, static_cast<const float*>(args.inputs[in]), static_cast<float*>(args.outputs[out]), args.threads);
        return absl::OkStatus();
      });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSlices(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(const SliceIndexSpec s, ReadSliceIndex(view));
  const DType dtype = spec.outputs[s.table].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(dtype, {DType::kF32, DType::kF64}));
  return MakeSliceSum({s.outer, s.slots, s.count, s.width}, dtype, view.In("Out@GRAD"), s.table,
                      [s, name = Describe(view.op())](const KernelArgs& args) { return Positions(s, name, args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.OutDesc("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  AMPC_ASSIGN_OR_RETURN(NdIndexSpec read, ReadNdIndex(view, "Index", x.dims));
  const int64_t slots = read.row_elements == 0 ? 0 : read.slots();
  const NdIndex index(Describe(view.op()), std::move(read));
  return MakeSliceSum({1, slots, index.rows(), index.row_elements()}, x.dtype, view.In("Out@GRAD"), view.Out("X@GRAD"),
                      [index](const KernelArgs& args) { return Positions(index, args); });
}

// The updates' gradients are the slices that they went to; X's is the rest where the updates replaced it.
struct ScatterGradient {
  NdIndex index;
  int gradient = 0, x = -1, updates = -1;  // flat; -1: not wanted
  int64_t bytes = 0, row = 0, slots = 0;
  bool replaces = false;   // named slices of X count for nothing
  bool last_wins = false;  // of several updates of a slice only the last is seen

  absl::Status Run(const KernelArgs& args) const {
    AMPC_ASSIGN_OR_RETURN(const int64_t* const at, Positions(index, args));
    const char* from = static_cast<const char*>(args.inputs[gradient]);
    const int64_t n = index.rows();
    int64_t* const last = static_cast<int64_t*>(args.workspace) + n;
    for (int64_t i = 0; last_wins && i < n; ++i) last[at[i]] = i;
    if (x >= 0) {
      char* to = static_cast<char*>(args.outputs[x]);
      std::memcpy(to, from, static_cast<size_t>(bytes));
      for (int64_t i = 0; replaces && i < n; ++i) std::memset(to + at[i] * row, 0, static_cast<size_t>(row));
    }
    if (updates < 0) return absl::OkStatus();
    char* const to = static_cast<char*>(args.outputs[updates]);
    ParallelFor(args.threads, n, std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, row)), [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        if (last_wins && last[at[i]] != i) {
          std::memset(to + i * row, 0, static_cast<size_t>(row));
        } else {
          std::memcpy(to + i * row, from + at[i] * row, static_cast<size_t>(row));
        }
      }
    });
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatter(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(ScatterGradientSpec read, ReadScatterGradient(view));
  const TensorDesc& gradient = spec.inputs[read.gradient];
  ScatterGradient s{NdIndex(Describe(view.op()), std::move(read.index)), read.gradient, read.x, read.updates};
  s.replaces = read.replaces;
  s.last_wins = read.last_wins;
  s.bytes = gradient.StorageBytes();
  s.row = s.index.row_elements() * ElementSize(gradient.dtype);
  s.slots = s.row == 0 ? 0 : s.bytes / s.row;
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  traits.workspace_bytes = (s.index.rows() + (s.last_wins ? s.slots : 0)) * static_cast<int64_t>(sizeof(int64_t));
  if (s.row == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  return MakeLambdaKernel(std::move(traits), [s = std::move(s)](const KernelArgs& args) { return s.Run(args); });
}

// The number at [o, j, i] of the gradient is added at [o, index[o, j, i], i].
struct AlongAxis {
  std::string name;
  AlongAxisSpec spec;

  template <typename T>
  void Run(const KernelArgs& args) const {
    const AlongAxisSpec& s = spec;
    const void* const index = args.inputs[s.flat];
    const T* from = static_cast<const T*>(args.inputs[s.gradient]);
    T* to = static_cast<T*>(args.outputs[s.table]);
    const int64_t blocks = (s.inner + kBlock - 1) / kBlock, line = std::min(s.inner, kBlock) * (s.slots + s.count);
    const auto add_block = [&](int64_t o, int64_t first) {
      const int64_t last = std::min(s.inner, first + kBlock);
      for (int64_t j = 0; j < s.slots; ++j) {
        std::fill(to + (o * s.slots + j) * s.inner + first, to + (o * s.slots + j) * s.inner + last, T(0));
      }
      for (int64_t j = 0; j < s.count; ++j) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t at = (o * s.count + j) * s.inner + i;
          to[(o * s.slots + PositionIn(ReadAsInt(index, s.type, at), s.slots, s.from_end)) * s.inner + i] += from[at];
        }
      }
    };
    ParallelFor(args.threads, s.outer * blocks, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, line)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) add_block(b / blocks, b % blocks * kBlock);
                });
  }

  absl::Status Check(const KernelArgs& args) const {
    for (int64_t i = 0; i < spec.outer * spec.count * spec.inner; ++i) {
      const int64_t v = ReadAsInt(args.inputs[spec.flat], spec.type, i);
      if (PositionIn(v, spec.slots, spec.from_end) < 0) return BadIndex(name, i, v, spec.slots, spec.from_end);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 64;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const KernelSpec& spec) {
  const SpecView view(spec);
  AlongAxis a{Describe(view.op()), {}};
  AMPC_ASSIGN_OR_RETURN(a.spec, ReadAlongAxis(view));
  const DType dtype = spec.outputs[a.spec.table].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType(dtype, {DType::kF32, DType::kF64}));
  return MakeLambdaKernel({}, [a = std::move(a), wide = dtype == DType::kF64](const KernelArgs& args) -> absl::Status {
    AMPC_RETURN_IF_ERROR(a.Check(args));
    wide ? a.Run<double>(args) : a.Run<float>(args);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status Unselect(const KernelArgs& args, const std::string& name, int mask, DType mask_type, int in, int out, int64_t n,
                      int64_t count) {
  const T* from = static_cast<const T*>(args.inputs[in]);
  T* to = static_cast<T*>(args.outputs[out]);
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool chosen = ReadAsDouble(args.inputs[mask], mask_type, i) != 0;
    if (chosen && next == count)
      return UsageError(absl::StrCat(name, ": the mask chooses more elements than the ", count, " that have a gradient"));
    to[i] = chosen ? from[next++] : T(0);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaskedSelect(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.OutDesc("X@GRAD"), &mask = view.InDesc("Mask"), &gradient = view.InDesc("Y@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  if (mask.NumElements() != x.NumElements()) return view.Unsupported("the cpu kernel needs Mask in the shape of X");
  KernelTraits traits;
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [name = Describe(view.op()), n = x.NumElements(), count = gradient.NumElements(),
                                              wide = x.dtype == DType::kF64, type = StorageType(mask.dtype), in_mask = view.In("Mask"),
                                              in = view.In("Y@GRAD"), out = view.Out("X@GRAD")](const KernelArgs& args) {
    return wide ? Unselect<double>(args, name, in_mask, type, in, out, n, count)
                : Unselect<float>(args, name, in_mask, type, in, out, n, count);
  });
}

}  // namespace

absl::Status RegisterIndexGradient(KernelRegistry* registry) {
  const std::pair<const char*, MakeKernelFn> kernels[] = {
      {"argsort_grad", &MakeAlongAxis},         {"gather_grad", &MakeSlices},
      {"gather_nd_grad", &MakeGatherNd},        {"index_sample_grad", &MakeAlongAxis},
      {"index_select_grad", &MakeSlices},       {"lookup_table_grad", &MakeSlices},
      {"lookup_table_v2_grad", &MakeSlices},    {"masked_select_grad", &MakeMaskedSelect},
      {"scatter_grad", &MakeScatter},           {"scatter_nd_add_grad", &MakeScatter},
      {"take_along_axis_grad", &MakeAlongAxis}, {"top_k_grad", &MakeAlongAxis},
      {"top_k_v2_grad", &MakeAlongAxis},
  };
  for (const auto& [op, make] : kernels) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
