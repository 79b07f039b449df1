#include "kernels/spec/move/readers.h"

namespace ampc::moves {
namespace {

Result SameBytes(const SpecView& view, int in, int out, bool alias) {
  const int64_t n = view.spec().inputs[in].NumElements();
  if (view.spec().outputs[out].NumElements() != n) return view.Internal("the operand and the result differ in size");
  return MoveSpec{{{in, 0, out, 0, {n}, {1}, {1}}}, alias ? in : -1, -1};
}

}  // namespace

// The result is operand 0; XShape has no elements.
Result ReadSameBytes(const SpecView& view) { return SameBytes(view, 0, 0, true); }

// Assignments to state must not share memory: the state outlives the operand.
Result ReadAssign(const SpecView& view) { return SameBytes(view, 0, 0, !view.op().Overwrites(0)); }

Result ReadReshapeGradient(const SpecView& view) { return SameBytes(view, view.In("Out@GRAD"), view.Out("X@GRAD"), true); }

}  // namespace ampc::moves
