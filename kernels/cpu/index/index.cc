// gather_nd, index_sample and take_along_axis: elements and slices at positions that an index tensor gives. An index out of range is an
// error that names it.
#include <algorithm>
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/index/nd_index.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(NdIndex index, NdIndex::Make(view, "Index", x.dims));
  const int64_t bytes = index.row_elements() * ElementSize(x.dtype);
  if (index.rows() * bytes != view.OutDesc("Out").StorageBytes()) return view.Internal("the gathered slices and the result differ in size");
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [index = std::move(index), bytes, x = view.In("X")](const KernelArgs& args) -> absl::Status {
    const char* from = static_cast<const char*>(args.inputs[x]);
    char* to = static_cast<char*>(args.outputs[0]);
    AMPC_RETURN_IF_ERROR(index.Check(args));
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, bytes));
    ParallelFor(args.threads, index.rows(), grain, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) std::memcpy(to + i * bytes, from + index.At(args, i) * bytes, bytes);
    });
    return absl::OkStatus();
  });
}

// The result at [o, j, i] is x at [o, index[o, j, i], i].
struct AlongAxis {
  std::string name;
  int data = 0, indexes = 0;  // flat operands
  int64_t outer = 1, from = 0, to = 0, inner = 1;
  DType index_type = DType::kI64;

  absl::Status Check(const void* index) const {
    for (int64_t i = 0; i < outer * to * inner; ++i) {
      const int64_t v = ReadAsInt(index, index_type, i);
      if (v < 0 || v >= from) return BadIndex(name, i, v, from);
    }
    return absl::OkStatus();
  }

  template <typename T>
  void Copy(const KernelArgs& args) const {
    const T* x = static_cast<const T*>(args.inputs[data]);
    T* out = static_cast<T*>(args.outputs[0]);
    ParallelFor(args.threads, outer * to * inner, kGrainBytes / sizeof(T), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t v = ReadAsInt(args.inputs[indexes], index_type, i);
        out[i] = x[(i / (to * inner) * from + v) * inner + i % inner];
      }
    });
  }
};

struct Wide {
  uint64_t words[2];
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const SpecView& view, absl::string_view slot, int64_t axis) {
  const TensorDesc &x = view.InDesc(slot), &index = view.InDesc("Index");
  AMPC_RETURN_IF_ERROR(view.CheckType(index.dtype, {DType::kI32, DType::kI64}));
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  axis = FromEnd(axis, rank);
  if (axis < 0 || axis >= rank || index.dims.size() != x.dims.size())
    return view.Internal("the axis or the rank of the index does not fit");
  AlongAxis a{.name = Describe(view.op()), .data = view.In(slot), .indexes = view.In("Index"), .index_type = index.dtype};
  a.from = x.dims[axis];
  a.to = index.dims[axis];
  for (int64_t d = 0; d < rank; ++d) {
    if (d == axis) continue;
    (d < axis ? a.outer : a.inner) *= x.dims[d];
    if (index.dims[d] != x.dims[d]) return view.Internal("the index and the operand differ beside the axis");
  }
  if (view.spec().outputs[0].NumElements() != index.NumElements()) return view.Internal("the index and the result differ in size");
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [a = std::move(a), size = ElementSize(x.dtype)](const KernelArgs& args) -> absl::Status {
    AMPC_RETURN_IF_ERROR(a.Check(args.inputs[a.indexes]));
    size == 1   ? a.Copy<uint8_t>(args)
    : size == 2 ? a.Copy<uint16_t>(args)
    : size == 4 ? a.Copy<uint32_t>(args)
    : size == 8 ? a.Copy<uint64_t>(args)
                : a.Copy<Wide>(args);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeIndexSample(const KernelSpec& spec) { return MakeAlongAxis(SpecView(spec), "X", 1); }

absl::StatusOr<std::unique_ptr<Kernel>> MakeTakeAlongAxis(const KernelSpec& spec) {
  return MakeAlongAxis(SpecView(spec), "Input", spec.op->GetInt("Axis"));
}

}  // namespace

absl::Status RegisterIndex(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"gather_nd", &MakeGatherNd, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"index_sample", &MakeIndexSample, MovableTypes()}));
  return registry->Add({"take_along_axis", &MakeTakeAlongAxis, MovableTypes()});
}

}  // namespace ampc
