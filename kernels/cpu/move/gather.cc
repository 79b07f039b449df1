// gather, index_select, lookup_table and lookup_table_v2: slices of the operand by an index tensor. An index out of range is an error that
// names it.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

// `outer` times: result row i is the operand's row index[i] of `rows`, or zeros where the index is `padding`.
struct Gatherer {
  std::string name;
  int data = 0, indexes = 0;  // flat operands
  int64_t outer = 1, rows = 0, row_bytes = 0, count = 0;
  int64_t padding = -1;
  DType index_type = DType::kI64;

  absl::Status CheckIndexes(const void* index) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t v = ReadAsInt(index, index_type, i);
      if ((v < 0 || v >= rows) && (padding < 0 || v != padding)) {
        return UsageError(absl::StrCat(name, ": index ", i, " is ", v, ", needs 0 to ", rows - 1));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(const KernelArgs& args) const {
    const char* x = static_cast<const char*>(args.inputs[data]);
    const void* index = args.inputs[indexes];
    char* out = static_cast<char*>(args.outputs[0]);
    AMPC_RETURN_IF_ERROR(CheckIndexes(index));
    ParallelFor(args.threads, outer * count, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, row_bytes)),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) {
                    const int64_t v = ReadAsInt(index, index_type, i % count);
                    if (padding >= 0 && v == padding) {
                      std::memset(out + i * row_bytes, 0, row_bytes);
                    } else {
                      std::memcpy(out + i * row_bytes, x + (i / count * rows + v) * row_bytes, row_bytes);
                    }
                  }
                });
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherer(const SpecView& view, Gatherer g) {
  const int64_t bytes = g.outer * g.count * g.row_bytes;
  if (bytes != view.OutDesc("Out").StorageBytes()) return view.Internal("the gathered rows and the result differ in size");
  g.name = Describe(view.op());
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [g = std::move(g)](const KernelArgs& args) { return g.Run(args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGather(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &x = view.InDesc("X"), &index = view.InDesc("Index");
  AMPC_RETURN_IF_ERROR(view.CheckType(index.dtype, {DType::kI32, DType::kI64}));
  int64_t axis = view.op().GetInt(view.op().type() == "index_select" ? "dim" : "axis", 0);
  if (view.In("Axis") >= 0) {
    const auto value = view.Ints("Axis");
    if (!value || value->empty()) return view.Unsupported("Axis must be known before the run");
    axis = (*value)[0];
  }
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  axis = FromEnd(axis, rank);
  if (axis < 0 || axis >= rank) return view.Internal(absl::StrCat("axis ", axis, " lies outside rank ", rank));
  Gatherer g;
  g.data = view.In("X");
  g.indexes = view.In("Index");
  g.rows = x.dims[axis];
  g.row_bytes = ElementSize(x.dtype);
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) (d < axis ? g.outer : g.row_bytes) *= x.dims[d];
  }
  g.count = index.NumElements();
  g.index_type = index.dtype;
  return MakeGatherer(view, std::move(g));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLookup(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc &w = view.InDesc("W"), &ids = view.InDesc("Ids");
  AMPC_RETURN_IF_ERROR(view.CheckType(ids.dtype, {DType::kI32, DType::kI64}));
  if (w.dims.size() != 2) return view.Internal("W needs two dimensions");
  Gatherer g;
  g.data = view.In("W");
  g.indexes = view.In("Ids");
  g.rows = w.dims[0];
  g.row_bytes = ElementSize(w.dtype) * w.dims[1];
  g.count = ids.NumElements();
  g.padding = view.op().GetInt("padding_idx", -1);
  g.index_type = ids.dtype;
  return MakeGatherer(view, std::move(g));
}

}  // namespace

absl::Status RegisterGather(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"gather", &MakeGather, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"index_select", &MakeGather, MovableTypes()}));
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"lookup_table", &MakeLookup, types}));
  return registry->Add({"lookup_table_v2", &MakeLookup, types});
}

}  // namespace ampc
