// Gradients of gather, index_select, lookup_table, lookup_table_v2, gather_nd, scatter, scatter_nd_add, index_sample, take_along_axis,
// argsort, top_k, top_k_v2 and masked_select: slices go back to where they were taken from.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/index/nd_index.h"
#include "kernels/cpu/index/slices.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// The positions of `index` in the workspace, counted in slices.
absl::StatusOr<const int64_t*> Positions(const NdIndex& index, const KernelArgs& args) {
  AMPC_RETURN_IF_ERROR(index.Check(args));
  int64_t* const at = static_cast<int64_t*>(args.workspace);
  for (int64_t i = 0; i < index.rows(); ++i) at[i] = index.At(args, i);
  return at;
}

// A one-dimensional index into `slots` slices; a number equal to `padding` (from 0 on) names none.
struct FlatIndex {
  std::string name;
  int flat = 0;
  DType type = DType::kI64;
  int64_t count = 0, slots = 0, padding = -1;

  absl::StatusOr<const int64_t*> Positions(const KernelArgs& args) const {
    int64_t* const at = static_cast<int64_t*>(args.workspace);
    for (int64_t i = 0; i < count; ++i) {
      at[i] = ReadAsInt(args.inputs[flat], type, i);
      if (padding >= 0 && at[i] == padding) {
        at[i] = -1;
      } else if (at[i] < 0 || at[i] >= slots) {
        return BadIndex(name, i, at[i], slots);
      }
    }
    return at;
  }
};

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

absl::StatusOr<std::unique_ptr<Kernel>> MakeFlat(const SpecView& view, absl::string_view table, absl::string_view ids, int64_t axis) {
  const std::string slot = absl::StrCat(table, "@GRAD");
  const TensorDesc &x = view.OutDesc(slot), &index = view.InDesc(ids);
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(index.dtype, {DType::kI32, DType::kI64}));
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  axis = FromEnd(axis, rank);
  if (axis < 0 || axis >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  SliceSum sum{1, x.dims[axis], index.NumElements(), 1};
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) (d < axis ? sum.outer : sum.width) *= x.dims[d];
  }
  if (sum.outer * sum.count * sum.width != view.InDesc("Out@GRAD").NumElements())
    return view.Internal("the gradient does not fit the index");
  FlatIndex flat{Describe(view.op()), view.In(ids), index.dtype, sum.count, sum.slots, -1};
  if (table == "W") flat.padding = view.op().GetInt("padding_idx", -1);
  return MakeSliceSum(sum, x.dtype, view.In("Out@GRAD"), view.Out(slot), [flat](const KernelArgs& args) { return flat.Positions(args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGather(const KernelSpec& spec) {
  const SpecView view(spec);
  int64_t axis = view.op().GetInt(absl::StartsWith(view.op().type(), "index_select") ? "dim" : "axis", 0);
  if (view.In("Axis") >= 0) {
    const auto value = view.Ints("Axis");
    if (!value || value->empty()) return view.Unsupported("Axis must be known before the run");
    axis = (*value)[0];
  }
  return MakeFlat(view, "X", "Index", axis);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLookup(const KernelSpec& spec) { return MakeFlat(SpecView(spec), "W", "Ids", 0); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.OutDesc("X@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  AMPC_ASSIGN_OR_RETURN(const NdIndex index, NdIndex::Make(view, "Index", x.dims));
  const int64_t slots = index.row_elements() == 0 ? 0 : x.NumElements() / index.row_elements();
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

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatter(const SpecView& view, ScatterGradient s) {
  const TensorDesc& gradient = view.InDesc("Out@GRAD");
  s.gradient = view.In("Out@GRAD");
  s.x = view.Out("X@GRAD");
  s.updates = view.Out("Updates@GRAD");
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

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatterRows(const KernelSpec& spec) {
  const SpecView view(spec);
  KernelSpec column = spec;
  TensorDesc& ids = column.inputs[view.In("Ids")];
  if (ids.dims.size() != 2) ids.dims.push_back(1);
  ScatterGradient s;
  AMPC_ASSIGN_OR_RETURN(s.index, NdIndex::Make(SpecView(column), "Ids", view.InDesc("Out@GRAD").dims));
  s.replaces = true;
  s.last_wins = view.op().GetBool("overwrite");
  return MakeScatter(view, std::move(s));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeScatterNdAdd(const KernelSpec& spec) {
  const SpecView view(spec);
  ScatterGradient s;
  AMPC_ASSIGN_OR_RETURN(s.index, NdIndex::Make(view, "Index", view.InDesc("Out@GRAD").dims));
  return MakeScatter(view, std::move(s));
}

// What lies at [o, j, i] of the gradient is added at [o, index[o, j, i], i].
struct AlongAxis {
  std::string name;
  int gradient = 0, indexes = 0, out = 0;
  int64_t outer = 1, slots = 0, count = 0, inner = 1;
  DType index_type = DType::kI64;

  template <typename T>
  void Run(const KernelArgs& args) const {
    const T* from = static_cast<const T*>(args.inputs[gradient]);
    T* to = static_cast<T*>(args.outputs[out]);
    const int64_t blocks = (inner + kBlock - 1) / kBlock, line = std::min(inner, kBlock) * (slots + count);
    ParallelFor(args.threads, outer * blocks, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, line)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t b = begin; b < end; ++b) {
                    const int64_t o = b / blocks, first = b % blocks * kBlock, last = std::min(inner, first + kBlock);
                    for (int64_t j = 0; j < slots; ++j)
                      std::fill(to + (o * slots + j) * inner + first, to + (o * slots + j) * inner + last, T(0));
                    for (int64_t j = 0; j < count; ++j) {
                      for (int64_t i = first; i < last; ++i) {
                        const int64_t at = (o * count + j) * inner + i;
                        to[(o * slots + ReadAsInt(args.inputs[indexes], index_type, at)) * inner + i] += from[at];
                      }
                    }
                  }
                });
  }

  absl::Status Check(const KernelArgs& args) const {
    for (int64_t i = 0; i < outer * count * inner; ++i) {
      const int64_t v = ReadAsInt(args.inputs[indexes], index_type, i);
      if (v < 0 || v >= slots) return BadIndex(name, i, v, slots);
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kBlock = 64;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const SpecView& view, absl::string_view x, absl::string_view index,
                                                      absl::string_view out, int64_t axis) {
  const std::string slot = absl::StrCat(x, "@GRAD"), gradient = absl::StrCat(out, "@GRAD");
  const TensorDesc &to = view.OutDesc(slot), &indexes = view.InDesc(index);
  AMPC_RETURN_IF_ERROR(view.CheckType(to.dtype, {DType::kF32, DType::kF64}));
  AMPC_RETURN_IF_ERROR(view.CheckType(indexes.dtype, {DType::kI32, DType::kI64}));
  const int64_t rank = static_cast<int64_t>(to.dims.size());
  AlongAxis a{.name = Describe(view.op()), .gradient = view.In(gradient), .indexes = view.In(index), .out = view.Out(slot)};
  a.index_type = indexes.dtype;
  a.slots = a.count = 1;
  if (rank > 0) {
    axis = FromEnd(axis, rank);
    if (axis < 0 || axis >= rank || indexes.dims.size() != to.dims.size()) return view.Internal("the axis or the index does not fit");
    a.slots = to.dims[axis];
    a.count = indexes.dims[axis];
    for (int64_t d = 0; d < rank; ++d) {
      if (d == axis) continue;
      (d < axis ? a.outer : a.inner) *= to.dims[d];
      if (indexes.dims[d] != to.dims[d]) return view.Internal("the index and the operand differ beside the axis");
    }
  }
  if (view.InDesc(gradient).NumElements() != indexes.NumElements()) return view.Internal("the index and the gradient differ in size");
  return MakeLambdaKernel({}, [a = std::move(a), wide = to.dtype == DType::kF64](const KernelArgs& args) -> absl::Status {
    AMPC_RETURN_IF_ERROR(a.Check(args));
    wide ? a.Run<double>(args) : a.Run<float>(args);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIndexSample(const KernelSpec& spec) {
  return MakeAlongAxis(SpecView(spec), "X", "Index", "Out", 1);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeTakeAlongAxis(const KernelSpec& spec) {
  return MakeAlongAxis(SpecView(spec), "Input", "Index", "Result", spec.op->GetInt("Axis"));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSorted(const KernelSpec& spec) {
  const int64_t axis = spec.op->type() == "top_k_grad" ? -1 : spec.op->GetInt("axis", -1);
  return MakeAlongAxis(SpecView(spec), "X", "Indices", "Out", axis);
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
      {"argsort_grad", &MakeSorted},
      {"gather_grad", &MakeGather},
      {"gather_nd_grad", &MakeGatherNd},
      {"index_sample_grad", &MakeIndexSample},
      {"index_select_grad", &MakeGather},
      {"lookup_table_grad", &MakeLookup},
      {"lookup_table_v2_grad", &MakeLookup},
      {"masked_select_grad", &MakeMaskedSelect},
      {"scatter_grad", &MakeScatterRows},
      {"scatter_nd_add_grad", &MakeScatterNdAdd},
      {"take_along_axis_grad", &MakeTakeAlongAxis},
      {"top_k_grad", &MakeSorted},
      {"top_k_v2_grad", &MakeSorted},
  };
  for (const auto& [op, make] : kernels) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
