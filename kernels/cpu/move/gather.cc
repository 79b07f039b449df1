// gather, index_select, lookup_table and lookup_table_v2: slices of the operand by an index tensor. An index out of range is an error that
// names it.
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

// `outer` times: result row i is the operand's row index[i] of `slots`, or zeros where the index is `padding`.
struct Gatherer {
  std::string name;
  SliceIndexSpec spec;
  int64_t row_bytes = 0;

  absl::Status CheckIndexes(const void* index) const {
    for (int64_t i = 0; i < spec.count; ++i) {
      const int64_t v = ReadAsInt(index, spec.type, i);
      if (spec.padding >= 0 && v == spec.padding) continue;
      if (PositionIn(v, spec.slots, spec.from_end) < 0) return BadIndex(name, i, v, spec.slots, spec.from_end);
    }
    return absl::OkStatus();
  }

  absl::Status Run(const KernelArgs& args) const {
    const char* x = static_cast<const char*>(args.inputs[spec.table]);
    const void* index = args.inputs[spec.flat];
    char* out = static_cast<char*>(args.outputs[0]);
    AMPC_RETURN_IF_ERROR(CheckIndexes(index));
    if (row_bytes == 0) return absl::OkStatus();  // an empty tensor has no address
    ParallelFor(args.threads, spec.outer * spec.count, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, row_bytes)),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) {
                    const int64_t v = ReadAsInt(index, spec.type, i % spec.count);
                    if (spec.padding >= 0 && v == spec.padding) {
                      std::memset(out + i * row_bytes, 0, row_bytes);
                    } else {
                      const int64_t at = i / spec.count * spec.slots + PositionIn(v, spec.slots, spec.from_end);
                      std::memcpy(out + i * row_bytes, x + at * row_bytes, row_bytes);
                    }
                  }
                });
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  Gatherer g;
  AMPC_ASSIGN_OR_RETURN(g.spec, ReadSliceIndex(view));
  g.row_bytes = g.spec.width * ElementSize(spec.inputs[g.spec.table]);
  g.name = Describe(view.op());
  KernelTraits traits;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [g = std::move(g)](const KernelArgs& args) { return g.Run(args); });
}

}  // namespace

absl::Status RegisterGather(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"gather", &Make, MovableTypes(), LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves}));
  AMPC_RETURN_IF_ERROR(registry->Add({"index_select", &Make, MovableTypes(), LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves}));
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"lookup_table", &Make, types, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves}));
  return registry->Add({"lookup_table_v2", &Make, types, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kMoves});
}

}  // namespace ampc
