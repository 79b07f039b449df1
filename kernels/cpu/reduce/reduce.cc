// reduce_{sum,mean,max,min,prod,any,all} and mean.
#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/reduce/partials.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/spec/reduce_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 15;

// One tile of results: up to kChunkColumns neighbouring columns of one kept index. Its operands are `chunks` chunks.
template <typename Acc>
struct Reducer {
  ReducePlan plan;
  Reduction op;
  PartialFn<Acc> partial;
  DType from, to;  // storage types
  int64_t tile_columns, tiles_per_row, tiles, chunk_rows, chunks_per_unit, chunks, count;
  bool split_chunks;  // few tiles of many chunks: threads share the chunks, whose results go to the workspace

  int64_t WorkspaceBytes() const { return split_chunks ? tiles * chunks * tile_columns * static_cast<int64_t>(sizeof(Acc)) : 0; }

  int64_t ColumnsOf(int64_t tile) const { return std::min(tile_columns, plan.columns - tile % tiles_per_row * tile_columns); }

  void Chunk(const char* x, int64_t tile, int64_t chunk, Acc* out) const {
    const int64_t unit = chunk / chunks_per_unit, row = chunk % chunks_per_unit * chunk_rows;
    const int64_t offset = OffsetOf(tile / tiles_per_row, plan.kept, plan.kept_stride) + OffsetOf(unit, plan.reduced, plan.reduced_stride) +
                           row * plan.columns + tile % tiles_per_row * tile_columns;
    partial(x + offset * static_cast<int64_t>(SizeOf(from)), std::min(chunk_rows, plan.rows - row), plan.columns, ColumnsOf(tile), out);
  }

  void Store(int64_t tile, const Acc* acc, void* out) const {
    const int64_t first = tile / tiles_per_row * plan.columns + tile % tiles_per_row * tile_columns;
    for (int64_t c = 0; c < ColumnsOf(tile); ++c) {
      Acc v = acc[c];
      if (op == Reduction::kMean) v = std::is_integral_v<Acc> && count == 0 ? 0 : static_cast<Acc>(v / static_cast<Acc>(count));
      Select<NumbersAndBool>(to, [&](auto tag) {
        using T = typename decltype(tag)::type;
        T value = static_cast<T>(std::is_same_v<T, bool> ? v != 0 : v);
        if (count == 0 && op == Reduction::kMax && std::is_integral_v<T>) value = std::numeric_limits<T>::lowest();
        if (count == 0 && op == Reduction::kMin && std::is_integral_v<T>) value = std::numeric_limits<T>::max();
        static_cast<T*>(out)[first + c] = value;
      });
    }
  }

  // Combines the chunks of a tile in order; `part(chunk)` points to the result of one.
  template <typename Part>
  void Finish(int64_t tile, void* out, Part part) const {
    Acc acc[kChunkColumns];
    std::fill(acc, acc + kChunkColumns, StartOf<Acc>(op));
    for (int64_t k = 0; k < chunks; ++k) {
      const Acc* p = part(k);
      for (int64_t c = 0; c < ColumnsOf(tile); ++c) acc[c] = Combine(op, acc[c], p[c]);
    }
    Store(tile, acc, out);
  }

  void Run(const KernelArgs& args) const {
    const char* x = static_cast<const char*>(args.inputs[0]);
    void* out = args.outputs[0];
    const int64_t chunk_cost = std::max<int64_t>(1, std::min(chunk_rows, plan.rows) * tile_columns);
    if (tiles_per_row == 1 && chunks == 1) {  // short rows: no more than one call for each
      const int64_t size = static_cast<int64_t>(SizeOf(from));
      ParallelFor(args.threads, tiles, std::max<int64_t>(1, kGrain / chunk_cost), [&](int64_t first, int64_t last) {
        Acc acc[kChunkColumns];
        for (int64_t t = first; t < last; ++t) {
          partial(x + OffsetOf(t, plan.kept, plan.kept_stride) * size, plan.rows, plan.columns, plan.columns, acc);
          Store(t, acc, out);
        }
      });
      return;
    }
    if (!split_chunks) {
      ParallelFor(args.threads, tiles, std::max<int64_t>(1, kGrain / (chunk_cost * std::max<int64_t>(1, chunks))),
                  [&](int64_t first, int64_t last) {
                    Acc one[kChunkColumns];
                    for (int64_t t = first; t < last; ++t) {
                      Finish(t, out, [&](int64_t chunk) {
                        Chunk(x, t, chunk, one);
                        return one;
                      });
                    }
                  });
      return;
    }
    Acc* parts = static_cast<Acc*>(args.workspace);
    ParallelFor(args.threads, tiles * chunks, std::max<int64_t>(1, kGrain / chunk_cost), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) Chunk(x, i / chunks, i % chunks, parts + i * tile_columns);
    });
    for (int64_t t = 0; t < tiles; ++t) Finish(t, out, [&](int64_t chunk) { return parts + (t * chunks + chunk) * tile_columns; });
  }
};

template <typename Acc>
absl::StatusOr<std::unique_ptr<Kernel>> MakeReducer(const KernelSpec& spec, Reduction op, const Dims& dims,
                                                    const std::vector<bool>& reduce) {
  Reducer<Acc> r;
  r.plan = PlanReduce(dims, reduce);
  r.op = op;
  r.from = StorageType(spec.inputs[0].dtype);
  r.to = StorageType(spec.outputs[0].dtype);
  const bool contiguous = r.plan.columns == 1;
  r.partial = FindPartial<Acc>(op, r.from, contiguous);
  r.tile_columns = std::min(kChunkColumns, r.plan.columns);
  r.tiles_per_row = r.plan.columns == 0 ? 0 : (r.plan.columns + kChunkColumns - 1) / kChunkColumns;
  r.tiles = r.plan.NumKept() * r.tiles_per_row;
  r.chunk_rows = contiguous ? kChunkRun : kChunkRows;
  r.chunks_per_unit = (r.plan.rows + r.chunk_rows - 1) / r.chunk_rows;
  r.chunks = r.plan.NumReduced() * r.chunks_per_unit;
  r.count = r.plan.NumReduced() * r.plan.rows;
  r.split_chunks = spec.threads > 1 && r.tiles < 2 * spec.threads && r.tiles > 0 && r.chunks > 8;
  KernelTraits traits;
  if (r.from == DType::kF32) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  traits.rounds_results = (op == Reduction::kMax || op == Reduction::kMin) && spec.inputs[0].dtype == spec.outputs[0].dtype;
  traits.workspace_bytes = r.WorkspaceBytes();
  return MakeLambdaKernel(std::move(traits), [r](const KernelArgs& args) {
    r.Run(args);
    return absl::OkStatus();
  });
}

template <Reduction op>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const DType from = spec.inputs[0].dtype;
  AMPC_RETURN_IF_ERROR(view.CheckType<NumbersAndBool>(from));
  AMPC_RETURN_IF_ERROR(view.CheckType<NumbersAndBool>(spec.outputs[0].dtype));
  AMPC_ASSIGN_OR_RETURN(std::vector<bool> reduce, ReadReducedDims(view));
  Dims dims = spec.inputs[0].dims;
  if (spec.inputs[0].layout == Layout::kChannelsLast) {
    if (spec.outputs[0].dims.size() != dims.size()) return view.Unsupported("channels last need a result that keeps its dims");
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());  // as they lie
    std::rotate(reduce.begin() + 1, reduce.begin() + 2, reduce.end());
  }
  if (from == DType::kU64) return MakeReducer<uint64_t>(spec, op, dims, reduce);
  return IsFloat(from) ? MakeReducer<double>(spec, op, dims, reduce) : MakeReducer<int64_t>(spec, op, dims, reduce);
}

}  // namespace

absl::Status RegisterReduce(KernelRegistry* registry) {
  const std::vector<DType> types = DeclaredTypes<NumbersAndBool>();
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_sum", &Make<Reduction::kSum>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_mean", &Make<Reduction::kMean>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_max", &Make<Reduction::kMax>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_min", &Make<Reduction::kMin>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_prod", &Make<Reduction::kProd>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_any", &Make<Reduction::kAny>, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"reduce_all", &Make<Reduction::kAll>, types, LayoutSupport::kFollows}));
  return registry->Add({"mean", &Make<Reduction::kMean>, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
