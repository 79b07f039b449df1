// The readers that MoveOps() lists; by the file that has them.
#pragma once

#include "kernels/spec/move/move_spec.h"

namespace ampc::moves {

using Result = absl::StatusOr<MoveSpec>;

// same.cc: results that have the operand's bytes.
Result ReadSameBytes(const SpecView& view);
Result ReadAssign(const SpecView& view);
Result ReadReshapeGradient(const SpecView& view);

// join.cc: dense blocks side by side along one dimension.
Result ReadConcat(const SpecView& view);
Result ReadSplit(const SpecView& view);
Result ReadConcatGradient(const SpecView& view);
Result ReadStack(const SpecView& view);
Result ReadUnstack(const SpecView& view);
Result ReadStackGradient(const SpecView& view);
Result ReadMeshgrid(const SpecView& view);

// view.cc: strided views made dense.
Result ReadTransposeMove(const SpecView& view);
Result ReadSliceMove(const SpecView& view);
Result ReadExpandMove(const SpecView& view);
Result ReadFlipMove(const SpecView& view);
Result ReadTileMove(const SpecView& view);
Result ReadRollMove(const SpecView& view);
Result ReadPixelShuffle(const SpecView& view);

// view_gradient.cc: back to where the view took it from.
Result ReadTransposeGradient(const SpecView& view);
Result ReadSliceGradient(const SpecView& view);
Result ReadRollGradient(const SpecView& view);
Result ReadPixelShuffleGradient(const SpecView& view);

}  // namespace ampc::moves
