#include "kernels/spec/move/move_spec.h"

#include "kernels/spec/move/readers.h"

namespace ampc {
namespace {

using namespace moves;  // NOLINT: the readers, nothing else

constexpr MoveOp kMoveOps[] = {
    {"assign", &ReadAssign, LayoutSupport::kElementwise},
    {"concat", &ReadConcat, LayoutSupport::kFollows},
    {"concat_grad", &ReadConcatGradient},
    {"expand_as_v2", &ReadExpandMove},
    {"expand_v2", &ReadExpandMove},
    {"feed", &ReadSameBytes},
    {"fetch", &ReadSameBytes},
    {"flatten", &ReadSameBytes},
    {"flatten2", &ReadSameBytes},
    {"flatten2_grad", &ReadReshapeGradient},
    {"flatten_contiguous_range", &ReadSameBytes},
    {"flatten_contiguous_range_grad", &ReadReshapeGradient},
    {"flatten_grad", &ReadReshapeGradient},
    {"flip", &ReadFlipMove},
    {"memcpy", &ReadSameBytes},
    {"meshgrid", &ReadMeshgrid},
    {"pixel_shuffle", &ReadPixelShuffle},
    {"pixel_shuffle_grad", &ReadPixelShuffleGradient},
    {"reshape", &ReadSameBytes},
    {"reshape2", &ReadSameBytes},
    {"reshape2_grad", &ReadReshapeGradient},
    {"reshape_grad", &ReadReshapeGradient},
    {"roll", &ReadRollMove},
    {"roll_grad", &ReadRollGradient},
    {"slice", &ReadSliceMove, LayoutSupport::kFollows},
    {"slice_grad", &ReadSliceGradient},
    {"split", &ReadSplit, LayoutSupport::kFollows},
    {"squeeze", &ReadSameBytes},
    {"squeeze2", &ReadSameBytes},
    {"squeeze2_grad", &ReadReshapeGradient},
    {"squeeze_grad", &ReadReshapeGradient},
    {"stack", &ReadStack},
    {"stack_grad", &ReadStackGradient},
    {"strided_slice", &ReadSliceMove, LayoutSupport::kFollows},
    {"strided_slice_grad", &ReadSliceGradient},
    {"tile", &ReadTileMove},
    {"transpose", &ReadTransposeMove, LayoutSupport::kAware},
    {"transpose2", &ReadTransposeMove, LayoutSupport::kAware},
    {"transpose2_grad", &ReadTransposeGradient},
    {"transpose_grad", &ReadTransposeGradient},
    {"unbind", &ReadUnstack},
    {"unsqueeze", &ReadSameBytes},
    {"unsqueeze2", &ReadSameBytes},
    {"unsqueeze2_grad", &ReadReshapeGradient},
    {"unsqueeze_grad", &ReadReshapeGradient},
    {"unstack", &ReadUnstack},
};

}  // namespace

absl::Span<const MoveOp> MoveOps() { return kMoveOps; }

absl::StatusOr<MoveSpec> ReadMove(const KernelSpec& spec) {
  const SpecView view(spec);
  for (const MoveOp& op : kMoveOps) {
    if (spec.op->type() != op.op) continue;
    absl::StatusOr<MoveSpec> move = op.read(view);
    for (size_t i = 0; move.ok() && i < move->parts.size(); ++i) {
      const DType from = spec.inputs[move->parts[i].input].dtype, to = spec.outputs[move->parts[i].output].dtype;
      if (StorageType(from) != StorageType(to)) return view.Internal("an operand has another type than its result");
    }
    return move;
  }
  return view.Internal("the op is no move");
}

}  // namespace ampc
