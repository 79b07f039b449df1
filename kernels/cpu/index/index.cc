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
#include "kernels/spec/index/index_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrainBytes = 1 << 16;

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(NdIndexSpec read, ReadNdIndex(view, "Index", x.dims));
  NdIndex index(Describe(view.op()), std::move(read));
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
  AlongAxisSpec spec;

  int64_t results() const { return spec.outer * spec.count * spec.inner; }
  absl::Status Check(const void* index) const {
    for (int64_t i = 0; i < results(); ++i) {
      const int64_t v = ReadAsInt(index, spec.type, i);
      if (PositionIn(v, spec.slots, spec.from_end) < 0) return BadIndex(name, i, v, spec.slots, spec.from_end);
    }
    return absl::OkStatus();
  }

  template <typename T>
  void Copy(const KernelArgs& args) const {
    const T* x = static_cast<const T*>(args.inputs[spec.table]);
    T* out = static_cast<T*>(args.outputs[0]);
    ParallelFor(args.threads, results(), kGrainBytes / sizeof(T), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t v = PositionIn(ReadAsInt(args.inputs[spec.flat], spec.type, i), spec.slots, spec.from_end);
        out[i] = x[(i / (spec.count * spec.inner) * spec.slots + v) * spec.inner + i % spec.inner];
      }
    });
  }
};

struct Wide {
  uint64_t words[2];
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeAlongAxis(const KernelSpec& spec) {
  const SpecView view(spec);
  AlongAxis a{Describe(view.op()), {}};
  AMPC_ASSIGN_OR_RETURN(a.spec, ReadAlongAxis(view));
  const int64_t size = ElementSize(spec.inputs[a.spec.table].dtype);
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [a = std::move(a), size](const KernelArgs& args) -> absl::Status {
    AMPC_RETURN_IF_ERROR(a.Check(args.inputs[a.spec.flat]));
    size == 1   ? a.Copy<uint8_t>(args)
    : size == 2 ? a.Copy<uint16_t>(args)
    : size == 4 ? a.Copy<uint32_t>(args)
    : size == 8 ? a.Copy<uint64_t>(args)
                : a.Copy<Wide>(args);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterIndex(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"gather_nd", &MakeGatherNd, MovableTypes()}));
  AMPC_RETURN_IF_ERROR(registry->Add({"index_sample", &MakeAlongAxis, MovableTypes()}));
  return registry->Add({"take_along_axis", &MakeAlongAxis, MovableTypes()});
}

}  // namespace ampc
