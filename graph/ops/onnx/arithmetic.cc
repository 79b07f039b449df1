// Arithmetic element by element.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ops/bounds.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// {operator, native op}: one meaning, operands in one order.
constexpr std::pair<const char*, const char*> kSameArithmetic[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    {"Add", "elementwise_add"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"Ceil", "ceil"},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Div", "elementwise_div"},
    {"Exp", "exp"},
    {"Floor", "floor"},
    {"Log", "log"},
    {"Mul", "elementwise_mul"},
    {"Reciprocal", "reciprocal"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Sqrt", "sqrt"},
    {"Sub", "elementwise_sub"},
    {"Tan", "tan"},
};

void LowerErf(Lowering& l) {
  Var* x = l.In("input");
  const DType dtype = TypeOf(l, x);
  l.Result("output", l.Cast(Map(l, "erf", IsFloat(dtype) ? x : l.Cast(x, DType::kF32)), dtype));
}

void LowerCastLike(Lowering& l) {
  const DType to = TypeOf(l, l.In("target_type"));
  if (!l.ok()) return;
  Var* x = l.In("input");
  if (TypeOf(l, x) == to) return l.Result("output", Map(l, "assign", x));
  Lowering::Attrs attrs = {{"in_dtype", TypeOf(l, x)}, {"out_dtype", to}};
  if (l.HasAttr("saturate")) attrs.push_back({"saturate", l.GetInt("saturate") != 0});
  if (l.HasAttr("round_mode")) attrs.push_back({"round_mode", l.GetString("round_mode")});
  l.Result("output", l.Op("cast", {{"X", x}}, std::move(attrs)));
}

void LowerBitCast(Lowering& l) { l.Result("output", Map(l, "bitcast", l.In("input"), {{"out_dtype", l.GetDType("to", DType::kInvalid)}})); }

void LowerNeg(Lowering& l) { l.Result("Y", WithNumber(l, "elementwise_mul", l.In("X"), -1)); }

void LowerRound(Lowering& l) {
  Var* x = l.In("X");
  l.Result("Y", l.Cast(RoundedToEven(l, Widened(l, x)), TypeOf(l, x)));
}

// The exponent where it is one known number that needs no broadcasting of X and that an attribute holds exactly.
std::optional<float> PlainExponent(const Lowering& l, const Var* x, const Var* y) {
  const std::optional<double> value = l.Float(y);
  if (!value.has_value() || y->type.rank() > (x->type.has_rank ? x->type.rank() : 0)) return std::nullopt;
  const float exponent = static_cast<float>(*value);
  if (exponent != *value) return std::nullopt;
  return exponent;
}

void LowerPow(Lowering& l) {
  Var* x = l.In("X");
  Var* y = l.AlongAxis(x, l.In("Y"));
  const DType base = TypeOf(l, x), exponent = TypeOf(l, y);
  if (IsFloat(base)) {
    if (const std::optional<float> factor = PlainExponent(l, x, y)) return l.Result("Z", Map(l, "pow", x, {{"factor", *factor}}));
    return l.Result("Z", l.Binary("elementwise_pow", x, l.Cast(y, base)));
  }
  if (base == exponent) return l.Result("Z", l.Binary("elementwise_pow", x, y));
  const DType common = IsInteger(exponent) ? DType::kI64 : DType::kF64;
  l.Result("Z", l.Cast(l.Binary("elementwise_pow", l.Cast(x, common), l.Cast(y, common)), base));
}

void LowerMod(Lowering& l) {
  Var* a = l.In("A");
  Var* b = l.In("B");
  if (l.GetInt("fmod") == 0) return l.Result("C", l.Binary("elementwise_mod", a, b));
  // The remainder with the sign of the dividend: of magnitudes it is the same with either rule, and exact.
  Var* magnitude = l.Binary("elementwise_mod", Map(l, "abs", a), Map(l, "abs", b));
  l.Result("C", l.Binary("elementwise_mul", magnitude, Map(l, "sign", a)));
}

// The operands joined two by two from the first on; one alone is copied.
Var* Joined(Lowering& l, absl::string_view type, bool wide) {
  const auto operand = [&](int i) { return wide ? Widened(l, l.In("data_0", i)) : l.In("data_0", i); };
  Var* all = operand(0);
  if (l.Count("data_0") == 1) return Map(l, "assign", all);
  for (int i = 1; i < l.Count("data_0"); ++i) all = l.Binary(type, all, operand(i));
  return all;
}

void LowerMax(Lowering& l) { l.Result("max", Joined(l, "elementwise_max", false)); }
void LowerMin(Lowering& l) { l.Result("min", Joined(l, "elementwise_min", false)); }

void LowerSum(Lowering& l) {
  std::vector<Var*> all;
  bool same = true;
  for (int i = 0; i < l.Count("data_0"); ++i) {
    all.push_back(l.In("data_0", i));
    same = same && all[i]->type.IsStatic() && all[i]->type.dims == all[0]->type.dims;
  }
  if (same && all.size() > 1) return l.Result("sum", l.Op("sum", {{"X", all}}));
  l.Result("sum", l.Cast(Joined(l, "elementwise_add", true), TypeOf(l, all[0])));
}

void LowerMean(Lowering& l) {
  Var* sum = Joined(l, "elementwise_add", true);
  l.Result("mean", l.Cast(WithNumber(l, "elementwise_div", sum, l.Count("data_0")), TypeOf(l, l.In("data_0"))));
}

// A bound of Clip: what the attribute of the native op can hold, else its operand.
struct Bound {
  float number;
  Var* var = nullptr;
};

Bound BoundOf(Lowering& l, const char* name, float none) {
  if (l.since() < 11) return {l.since() < 6 && !l.HasAttr(name) ? none : static_cast<float>(l.GetFloat(name))};
  if (!l.Has(name)) return {none};
  Var* var = l.In(name);
  const std::optional<double> value = l.Float(var);
  if (value.has_value() && static_cast<float>(*value) == *value) return {static_cast<float>(*value)};
  return {none, var};
}

void LowerClip(Lowering& l) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Bound low = BoundOf(l, "min", -kInf), high = BoundOf(l, "max", kInf);
  // If the bounds are out of order, the upper one wins.
  if (low.var == nullptr && high.var == nullptr && low.number > high.number) low.number = high.number;
  std::vector<Lowering::Operand> operands = {{"X", l.In("input")}};
  if (low.var != nullptr) operands.emplace_back("Min", low.var);
  if (high.var != nullptr) operands.emplace_back("Max", high.var);
  l.Result("output", l.Op("clip", std::move(operands), {{"min", low.number}, {"max", high.number}}));
}

// A bound that f16 rounds to 0 no longer keeps a divisor or logarithm away from 0.
AmpClass ClipClass(const Op& op) {
  for (const char* name : {"min", "max"}) {
    double bound = std::abs(op.GetFloat(name));
    const Var* var = op.input(name);
    if (var != nullptr && var->literal != nullptr && var->literal->dtype() == DType::kF32 && var->literal->num_elements() == 1) {
      bound = std::abs(var->literal->values<float>()[0]);
    }
    if (bound > 0 && bound <= 0x1p-25) return AmpClass::kDeny;
  }
  return AmpClass::kClear;
}

}  // namespace

void AddArithmetic(OnnxOps& ops) {
  for (const auto& [type, native] : kSameArithmetic) ops.Add(type).SameAs(native);
  ops.Add("CastLike").Amp(AmpClass::kNever, "its result has the type of target_type, which the program asks for").Lower(&LowerCastLike);
  ops.Add("BitCast").Amp(AmpClass::kNever, "the bits of another type are another number").Lower(&LowerBitCast);
  ops.Add("Erf").Like("erf").Lower(&LowerErf);
  ops.Add("Neg")
      .Amp(AmpClass::kClear, "flips the sign: exact in every type")
      .Traits({OpTrait::kArithmetic})
      .BoundsAre(&ops::NegativeBounds)
      .Lower(&LowerNeg)
      .Infer(&InferSameType);
  ops.Add("Round").Like("round").Lower(&LowerRound).Infer(&InferSameType);
  ops.Add("Pow").Like("elementwise_pow").Lower(&LowerPow);
  ops.Add("Mod").Like("elementwise_mod").Lower(&LowerMod);
  ops.Add("Max").Like("elementwise_max").Lower(&LowerMax);
  ops.Add("Min").Like("elementwise_min").Lower(&LowerMin);
  ops.Add("Sum").Like("sum").Lower(&LowerSum);
  ops.Add("Mean").Like("sum").Lower(&LowerMean);
  ops.Add("Clip").Like("clip").AmpWhen(&ClipClass).Use("min", AttrUse::kBounds).Use("max", AttrUse::kBounds).Lower(&LowerClip);
}

}  // namespace ampc::onnx
