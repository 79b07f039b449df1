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

constexpr int64_t kTile = 256;  // slices whose positions are worked out at once

template <typename T>
void CopyElements(const char* from, const int64_t* positions, int64_t n, char* to) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), from + positions[i] * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

// Slices of `bytes` each.
void CopySlices(const char* from, const int64_t* positions, int64_t n, int64_t bytes, char* to) {
  switch (bytes) {
    case 1: return CopyElements<uint8_t>(from, positions, n, to);
    case 2: return CopyElements<uint16_t>(from, positions, n, to);
    case 4: return CopyElements<uint32_t>(from, positions, n, to);
    case 8: return CopyElements<uint64_t>(from, positions, n, to);
  }
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * bytes, from + positions[i] * bytes, bytes);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGatherNd(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_ASSIGN_OR_RETURN(NdIndexSpec read, ReadNdIndex(view, "Index", x.dims));
  NdIndex index(Describe(view.op()), std::move(read));
  const int64_t bytes = index.row_elements() * ElementSize(x);
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
      int64_t positions[kTile];
      for (int64_t i = first; i < last && bytes > 0; i += kTile) {  // an empty tensor has no address
        const int64_t end = std::min(last, i + kTile);
        index.Positions(args, i, end, positions);
        CopySlices(from, positions, end - i, bytes, to + i * bytes);
      }
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
  const int64_t size = ElementSize(spec.inputs[a.spec.table]);
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
  for (const char* op : {"index_sample", "take_along_axis"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeAlongAxis, MovableTypes(), LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves}));
  }
  return registry->Add({"gather_nd", &MakeGatherNd, MovableTypes(), LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves});
}

}  // namespace ampc
