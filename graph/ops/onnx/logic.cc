// Truth values, comparisons, bits, and Where.
#include <string>
#include <utility>
#include <vector>

#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// {operator, native op}: one meaning, operands in one order.
constexpr std::pair<const char*, const char*> kSameComparison[] = {
    {"And", "logical_and"},
    {"BitwiseAnd", "bitwise_and"},
    {"BitwiseNot", "bitwise_not"},
    {"BitwiseOr", "bitwise_or"},
    {"BitwiseXor", "bitwise_xor"},
    {"Greater", "greater_than"},
    {"GreaterOrEqual", "greater_equal"},
    {"IsNaN", "isnan_v2"},
    {"Less", "less_than"},
    {"LessOrEqual", "less_equal"},
    {"Not", "logical_not"},
    {"Or", "logical_or"},
    {"Xor", "logical_xor"},
};

// The native op takes floats closer than 1e-8 as equal.
void LowerEqual(Lowering& l) {
  Var* a = l.In("A");
  Var* b = l.AlongAxis(a, l.In("B"));
  if (!IsFloat(TypeOf(l, a))) return l.Result("C", l.Binary("equal", a, b));
  l.Result("C", l.Binary("logical_and", l.Binary("less_equal", a, b), l.Binary("greater_equal", a, b)));
}

void LowerIsInf(Lowering& l) {
  Var* x = l.In("X");
  const bool negative = l.GetInt("detect_negative") != 0, positive = l.GetInt("detect_positive") != 0;
  if (!negative && !positive) return l.Result("Y", Filled(l, x, 0, DType::kBool));
  Var* y = Map(l, "isinf_v2", x);
  if (!negative || !positive) y = l.Binary("logical_and", y, WithNumber(l, positive ? "greater_than" : "less_than", x, 0));
  l.Result("Y", y);
}

void LowerBitShift(Lowering& l) {
  Var* x = l.In("X");
  const std::string direction = l.GetString("direction");
  if (direction != "LEFT" && direction != "RIGHT") return l.Unsupported("direction is '" + direction + "', needs LEFT or RIGHT");
  // Of an amount that is no number of bits nothing is left but the sign. The bits right of the sign are shifted, as an unsigned number.
  const DType type = TypeOf(l, x);
  if (!l.ok()) return;
  const bool left = direction == "LEFT", has_sign = IsSignedInteger(type);
  Var* y = l.In("Y");
  Var* inside = WithNumber(l, "less_than", y, BitsOf(type));
  if (has_sign) inside = l.Binary("logical_and", inside, WithNumber(l, "greater_equal", y, 0));
  Var* bits = l.Cast(Select(l, inside, y, Filled(l, y, 0, type)), DType::kU64);
  Var* factor = l.Binary("elementwise_pow", Filled(l, bits, 2, DType::kU64), bits);
  // All ones for a negative number.
  Var* sign = has_sign && !left ? WithNumber(l, "elementwise_mul", l.Cast(WithNumber(l, "less_than", x, 0), type), -1) : nullptr;
  const auto turned = [&](Var* v) { return sign == nullptr ? v : l.Binary("bitwise_xor", v, sign); };
  Var* shifted = l.Binary(left ? "elementwise_mul" : "elementwise_floordiv", l.Cast(turned(x), DType::kU64), factor);
  l.Result("Z", turned(l.Cast(l.Binary("elementwise_mul", shifted, l.Cast(inside, DType::kU64)), type)));
}

// Whether `x` has the dims that all operands broadcast to: every other has no more dims and in each 1 or the same, known or by symbol.
bool HasWhole(const Var* x, const std::vector<Var*>& others) {
  if (!x->type.has_rank) return false;
  for (const Var* other : others) {
    const int lead = x->type.rank() - other->type.rank();
    if (!other->type.has_rank || lead < 0) return false;
    for (int i = 0; i < other->type.rank(); ++i) {
      const int64_t dim = other->type.dims[i];
      if (dim != 1 && (dim != x->type.dims[lead + i] || dim == kUnknownDim)) return false;
    }
  }
  return true;
}

bool SameDims(const Var* x, const Var* y) {
  if (!x->type.has_rank || !y->type.has_rank || x->type.dims != y->type.dims) return false;
  for (int64_t dim : x->type.dims) {
    if (dim == kUnknownDim) return false;
  }
  return true;
}

// False everywhere, with the shape of `x`.
Var* AllFalse(Lowering& l, Var* x) { return Filled(l, x, 0, DType::kBool); }

void LowerWhere(Lowering& l) {
  const std::vector<Var*> operands = {l.In("condition"), l.In("X"), l.In("Y")};
  Var* whole = nullptr;
  for (Var* operand : operands) {
    if (whole == nullptr && HasWhole(operand, operands)) whole = operand;
  }
  if (whole == nullptr) {
    whole = l.Binary("logical_or", l.Binary("logical_or", operands[0], AllFalse(l, operands[1])), AllFalse(l, operands[2]));
  }
  const auto spread = [&](Var* x) { return x == whole || SameDims(x, whole) ? x : l.Op("expand_as_v2", {{"X", x}, {"Y", whole}}); };
  l.Result("output", Select(l, spread(operands[0]), spread(operands[1]), spread(operands[2])));
}

}  // namespace

void AddLogic(OnnxOps& ops) {
  for (const auto& [type, native] : kSameComparison) ops.Add(type).SameAs(native);
  ops.Add("Equal").Like("equal").Lower(&LowerEqual);
  ops.Add("IsInf").Like("isinf_v2").AsIs({"X"}).Lower(&LowerIsInf);
  ops.Add("BitShift").Amp(AmpClass::kNever, "computes with the bits of integers").Lower(&LowerBitShift);
  ops.Add("Where").Like("where").Lower(&LowerWhere);
}

}  // namespace ampc::onnx
