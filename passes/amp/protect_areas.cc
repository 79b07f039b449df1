// Areas: the width of a box times its height leaves the range where neither of them does.
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {

int Protector::OriginOf(const Var& var) const {
  const int id = roots_.Root(var).id();
  return origins_[id] >= 0 ? origins_[id] : id;
}

int Protector::OriginOfResult(const Op& op) const {
  const bool keeps = ClassOf(op) == AmpClass::kClear || Is(op, OpKind::kArithmetic) || Is(op, OpKind::kSelection) || Is(op, OpKind::kRectifier) ||
                     Is(op, OpKind::kExp) || IsCast(op);
  if (!keeps) return -1;
  int origin = -1;
  for (const Var* var : op.inputs()) {
    if (!var->type.IsFloat() || IsFixed(*var)) continue;
    if (origin >= 0 && OriginOf(*var) != origin) return -1;
    origin = OriginOf(*var);
  }
  return origin;
}

// Extents: differences of pieces of one tensor (x2 - x1 of boxes), and exponentials, by which detectors scale their anchors. Functions of a network
// are neither: a gate times a value, both pieces of one tensor, is no area.
void Protector::FollowAreas(const Op& op) {
  if (low_ != DType::kF16 || op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  const bool pair = op.inputs().size() == 2;
  const bool product = pair && Is(op, OpKind::kProduct) && Has(*op.inputs()[0], kExtent) && Has(*op.inputs()[1], kExtent);
  int origin = OriginOfResult(op);
  if (product && origin >= 0) {
    if (InRange(*op.outputs()[0])) return;
    Because(op, "protect.area: a width times a height, which may be beyond the range where they are not");
    Set(op, kSummed);
    return;
  }
  if (product) origin = OriginOf(*op.inputs()[0]);  // the factors of an anchor, its size
  if (origin < 0) return;
  const bool difference = pair && onnx::NativeName(op.def()) == "elementwise_sub" && !IsFixed(*op.inputs()[0]) && !IsFixed(*op.inputs()[1]);
  const bool extent = difference || Is(op, OpKind::kExp) || Reads(op, kExtent);
  for (const Var* out : op.outputs()) {
    origins_[out->id()] = origin;
    if (extent) flags_[out->id()] |= kExtent;
  }
}

}  // namespace ampc
