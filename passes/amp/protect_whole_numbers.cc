// Numbers that were integers: positions, lengths, identifiers, and sums of products of quantised values. The low type has the small ones alone.
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/protect_util.h"
#include "passes/amp/protector.h"
#include "passes/analysis/op_kinds.h"

namespace ampc {
namespace {

constexpr char kWholeNumbers[] = "protect.count: computed from integers alone, which may be too large to be exact";

// All integers up to here are exact.
double MostExact(DType low) { return low == DType::kF16 ? 2048 : 256; }

}  // namespace

// Arithmetic on them with constants only, up to what bounds it: the product of a mask with a network's values is the network's. A quotient is an
// exception, because no mask divides.
void Protector::FollowWholeNumbers(const Op& op) {
  if (onnx::TypeName(op.def()) == "DynamicQuantizeLinear" && op.outputs().size() > 1) {
    flags_[op.outputs()[1]->id()] |= kWhole;  // the scale, which takes sums of its integers back; a product of two is below the range
    return;
  }
  if (op.outputs().empty() || !op.outputs()[0]->type.IsFloat()) return;
  const bool large = !(bounds_.Of(*op.outputs()[0]).Magnitude() <= MostExact(low_));
  if (IsCast(op) && IsInteger(In(op, 0).type.dtype)) {
    if (large && !Has(*op.inputs()[0], kConstant)) Set(op, kWhole);
    return;
  }
  if (!Reads(op, kWhole) || ClassOf(op) == AmpClass::kAllow || (Is(op, OpKind::kBounded) && !Is(op, OpKind::kSelection))) return;
  bool alone = true;
  for (const Var* var : op.inputs()) alone = alone && (!var->type.IsFloat() || Has(*var, kWhole) || IsFixed(*var));
  const bool divides = Is(op, OpKind::kArithmetic) && Is(op, OpKind::kSteepAtZero) && op.inputs().size() == 2 && Has(*op.inputs()[1], kWhole);
  if (!alone && !divides) return;
  Because(op, alone ? kWholeNumbers : "protect.divisor: divides by what was an integer, which may be beyond the range");
  if (alone && large && HandsOn(op)) Set(op, kWhole);
}

}  // namespace ampc
