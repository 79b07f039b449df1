// Every op of MoveOps().
#include "kernels/cpu/move/move.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/spec/move/strided_axes.h"

namespace ampc {
namespace {

struct Part {
  int input, output;
  int64_t from, to;  // bytes
  StridedCopy copy;
};

// A batch of matrices, each transposed, from the start of an operand to the start of a result.
struct Matrices {
  int64_t batch = 1, rows = 1, cols = 1;
};

std::optional<Matrices> AsMatrices(const MoveSpec& move) {
  if (move.parts.size() != 1 || move.zeroed >= 0 || move.parts[0].from != 0 || move.parts[0].to != 0) return std::nullopt;
  const std::vector<StridedAxis> axes = JoinAxes(move.parts[0].dims, move.parts[0].from_strides, move.parts[0].to_strides);
  if (axes.size() != 2 && axes.size() != 3) return std::nullopt;
  const StridedAxis &col = axes[axes.size() - 2], &row = axes.back();
  if (col.from != 1 || col.to != row.size || row.from != col.size || row.to != 1) return std::nullopt;
  Matrices m{1, row.size, col.size};
  if (axes.size() == 2) return m;
  m.batch = axes[0].size;
  if (axes[0].from != m.rows * m.cols || axes[0].to != m.rows * m.cols) return std::nullopt;
  return m;
}

bool IsTransposed(DType storage) { return storage == DType::kF32 || IsLowPrecision(storage); }

std::unique_ptr<Kernel> MakeMatrixTranspose(const Matrices& m, const MovePart& part, DType storage) {
  KernelTraits traits;
  traits.implementation = "ampc:transpose";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [m, storage, in = part.input, out = part.output](const KernelArgs& args) {
    TransposeStored(args.threads, m.batch, m.rows, m.cols, args.inputs[in], storage, args.outputs[out], storage);
    return absl::OkStatus();
  });
}

void FillZeros(void* to, int64_t bytes, int threads) {
  ParallelFor(threads, bytes, 1 << 17,
              [to](int64_t first, int64_t last) { std::memset(static_cast<char*>(to) + first, 0, static_cast<size_t>(last - first)); });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  AMPC_ASSIGN_OR_RETURN(const MoveSpec move, ReadMove(spec));
  return MakeMove(spec, move);
}

}  // namespace

std::unique_ptr<Kernel> MakeMove(const KernelSpec& spec, const MoveSpec& move) {
  // Floats have a vector loop for the common permutations.
  if (const std::optional<Matrices> m = AsMatrices(move); m && IsTransposed(spec.inputs[move.parts[0].input].storage())) {
    return MakeMatrixTranspose(*m, move.parts[0], spec.inputs[move.parts[0].input].storage());
  }
  std::vector<Part> parts;
  for (const MovePart& p : move.parts) {
    const int64_t size = ElementSize(spec.inputs[p.input]);
    parts.push_back({p.input, p.output, p.from * size, p.to * size, StridedCopy(p.dims, p.from_strides, p.to_strides, size)});
  }
  KernelTraits traits;
  traits.alias_input = move.alias_input;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  const int64_t zeroed_bytes = move.zeroed < 0 ? 0 : spec.outputs[move.zeroed].StorageBytes();
  return MakeLambdaKernel(std::move(traits), [parts = std::move(parts), zeroed = move.zeroed, zeroed_bytes](const KernelArgs& args) {
    if (zeroed_bytes > 0) FillZeros(args.outputs[zeroed], zeroed_bytes, args.threads);
    for (const Part& p : parts) {
      p.copy.Run(static_cast<const char*>(args.inputs[p.input]) + p.from, static_cast<char*>(args.outputs[p.output]) + p.to, args.threads);
    }
    return absl::OkStatus();
  });
}

std::unique_ptr<Kernel> MakeAlias(const KernelSpec& spec, int input, int output) {
  return MakeMove(spec, {{{input, 0, output, 0, {spec.inputs[input].NumElements()}, {1}, {1}}}, input, -1});
}

absl::Status RegisterMove(KernelRegistry* registry) {
  for (const MoveOp& op : MoveOps())
    AMPC_RETURN_IF_ERROR(registry->Add({op.op, &Make, MovableTypes(), op.layouts, nullptr, HalfSupport::kMoves}));
  return absl::OkStatus();
}

}  // namespace ampc
