// Quantised arithmetic: integers with a scale and a zero point.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/conv.h"
#include "graph/ops/onnx/layout_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/quantize_util.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {

Var* Saturated(Lowering& l, Var* x, Var* zero_point, DType to) {
  const int bits = BitsOf(to);
  if (!IsInteger(to) || bits > 16) {
    l.Unsupported(absl::StrCat("there is no quantised ", std::string(Name(to))));
    return x;
  }
  const float low = IsSignedInteger(to) ? -std::ldexp(1.0f, bits - 1) : 0, high = low + std::ldexp(1.0f, bits) - 1;
  Var* y = RoundedToEven(l, x);
  if (zero_point != nullptr) y = l.Binary("elementwise_add", y, l.Cast(zero_point, DType::kF32));
  return l.Cast(Map(l, "clip", y, {{"min", low}, {"max", high}}), to);
}

Var* Centered(Lowering& l, Var* x, Var* zero_point) {
  Var* wide = l.Cast(x, DType::kI32);
  return zero_point == nullptr ? wide : l.Binary("elementwise_sub", wide, l.Cast(zero_point, DType::kI32));
}

Quantized QuantizedOperand(Lowering& l, const char* x, const char* scale, const char* zero_point) {
  return {l.In(x), l.In(scale), l.Has(zero_point) ? l.In(zero_point) : nullptr};
}

namespace {

// Of scales and zero points that are as many as X has indexes along `axis`: its number; -1 where they are one number. Absent for other
// shapes.
std::optional<int32_t> AxisOfScales(Lowering& l, const Var* x, const Var* scale, const Var* zero_point, int64_t axis) {
  if (l.quantized() == QuantizedOps::kNone) return std::nullopt;
  int64_t count = 1;
  for (const Var* v : {scale, zero_point}) {
    if (v == nullptr) continue;
    if (!v->type.IsStatic() || (v->type.rank() > 1 && v->type.NumElements() != 1)) return std::nullopt;
    count = std::max(count, v->type.NumElements());
  }
  if (count == 1) return -1;
  const int rank = x->type.rank();
  if (rank < 0 || axis < -rank || axis >= rank) return std::nullopt;
  const int64_t along = axis < 0 ? axis + rank : axis;
  return x->type.dims[along] == count ? std::optional<int32_t>(static_cast<int32_t>(along)) : std::nullopt;
}

bool HasQuantizeOp(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16; }

std::vector<Lowering::Operand> ScaleOperands(Lowering& l, Var* x, Var* scale, Var* zero_point) {
  std::vector<Lowering::Operand> operands = {{"X", x}, {"Scale", l.Cast(scale, DType::kF32)}};
  if (zero_point != nullptr) operands.push_back({"ZeroPoint", zero_point});
  return operands;
}

}  // namespace

Var* DequantizedByOp(Lowering& l, const Quantized& q, int64_t axis) {
  const DType from = TypeOf(l, q.x);
  const std::optional<int32_t> along = AxisOfScales(l, q.x, q.scale, q.zero_point, axis);
  if (!along.has_value() || (!HasQuantizeOp(from) && from != DType::kI32)) return nullptr;
  return l.Op("affine_dequantize", ScaleOperands(l, q.x, q.scale, q.zero_point), {{"axis", *along}});
}

Var* QuantizedByOp(Lowering& l, Var* x, Var* scale, Var* zero_point, int64_t axis, DType to) {
  const std::optional<int32_t> along = AxisOfScales(l, x, scale, zero_point, axis);
  if (!along.has_value() || !HasQuantizeOp(to)) return nullptr;
  return l.Op("affine_quantize", ScaleOperands(l, l.Cast(x, DType::kF32), scale, zero_point), {{"axis", *along}, {"out_dtype", to}});
}

Var* ProductByOp(Lowering& l, const Quantized& a, const Quantized& b) {
  if (l.quantized() != QuantizedOps::kProducts || BitsOf(TypeOf(l, a.x)) != 8 || BitsOf(TypeOf(l, b.x)) != 8) return nullptr;
  if (a.x->type.rank() < 2 || b.x->type.rank() < 2 || a.scale->type.NumElements() != 1) return nullptr;
  Var *x = DequantizedByOp(l, a, 0), *y = DequantizedByOp(l, b, -1);
  return x == nullptr || y == nullptr ? nullptr : l.Binary("matmul_v2", x, y);
}

Var* Dequantized(Lowering& l, const Quantized& q) {
  if (Var* y = DequantizedByOp(l, q, 0); y != nullptr) return y;
  Var* centered = l.Cast(Centered(l, q.x, q.zero_point), DType::kF32);
  return l.Binary("elementwise_mul", centered, l.Cast(q.scale, DType::kF32));
}

Var* Requantized(Lowering& l, Var* x, Var* scale, Var* zero_point, DType to) {
  if (Var* y = QuantizedByOp(l, x, scale, zero_point, 0, to); y != nullptr) return y;
  return Saturated(l, l.Binary("elementwise_div", x, l.Cast(scale, DType::kF32)), zero_point, to);
}

Quantized DynamicallyQuantized(Lowering& l, Var* x) {
  Var* low = WithNumber(l, "elementwise_min", Reduced(l, "reduce_min", x, {}, false), 0);
  Var* high = WithNumber(l, "elementwise_max", Reduced(l, "reduce_max", x, {}, false), 0);
  Var* range = l.Binary("elementwise_sub", high, low);
  // Zeros alone have the scale 1 / 255.
  Var* none = l.Cast(WithNumber(l, "less_equal", range, 0), DType::kF32);
  Var* scale = WithNumber(l, "elementwise_div", l.Binary("elementwise_add", range, none), 255);
  Var* zero_point = Requantized(l, WithNumber(l, "elementwise_mul", low, -1), scale, nullptr, DType::kU8);
  return {Requantized(l, x, scale, zero_point, DType::kU8), scale, zero_point};
}

Var* DequantizedProduct(Lowering& l, const Quantized& a, const Quantized& b) {
  if (Var* y = ProductByOp(l, a, b); y != nullptr) return y;
  Var* sum = l.Binary("matmul_v2", Centered(l, a.x, a.zero_point), Centered(l, b.x, b.zero_point));
  Var* scale = l.Binary("elementwise_mul", l.Cast(a.scale, DType::kF32), l.Cast(b.scale, DType::kF32));
  return l.Binary("elementwise_mul", l.Cast(sum, DType::kF32), scale);
}

namespace {

constexpr const char* kQuantizedReason = "quantised: its scales stay as they are";

// The scale or zero point of each element of `x`: one for all, one for each index along `axis`, or one for each block along it.
Var* Spread(Lowering& l, Var* v, Var* x, int64_t axis, int64_t block) {
  const int rank = l.Rank(v);
  if (rank == 0 || v->type.NumElements() == 1) return v;
  axis = AxisOf(l, x, axis);
  if (!l.ok()) return v;
  if (rank == 1 && block == 0) return WithTrailingOnes(l, v, l.Rank(x) - 1 - axis);
  if (block <= 0) {
    l.Unsupported("the scale needs one dim without block_size");
    return v;
  }
  const int64_t n = DimOf(l, x, axis);
  if (!l.ok()) return v;
  std::vector<int64_t> blocks(n);
  for (int64_t i = 0; i < n; ++i) blocks[i] = i / block;
  return l.Op("gather", {{"X", v}, {"Index", l.Const(blocks)}}, {{"axis", axis}});
}

Var* Optional(Lowering& l, const char* formal) { return l.Has(formal) ? l.In(formal) : nullptr; }

// The axis of scales that are more than one; before operator set 13 there was none.
int64_t QuantizedAxis(const Lowering& l) { return l.op().def().FindAttr("axis") == nullptr ? 0 : l.GetInt("axis"); }

void LowerQuantize(Lowering& l) {
  Var* x = l.In("x");
  Var* zero_point = Optional(l, "y_zero_point");
  DType to = l.GetDType("output_dtype", DType::kInvalid);
  if (to == DType::kInvalid) to = zero_point == nullptr ? DType::kU8 : TypeOf(l, zero_point);
  const int64_t axis = QuantizedAxis(l), block = l.GetInt("block_size");
  if (block == 0) {
    if (Var* y = QuantizedByOp(l, x, l.In("y_scale"), zero_point, axis, to); y != nullptr) return l.Result("y", y);
  }
  const auto spread = [&](Var* v) { return Spread(l, v, x, axis, block); };
  Var* scaled = l.Binary("elementwise_div", l.Cast(x, DType::kF32), l.Cast(spread(l.In("y_scale")), DType::kF32));
  if (IsSmallFloat(to)) {  // the cast rounds
    if (zero_point != nullptr) scaled = l.Binary("elementwise_add", scaled, l.Cast(spread(zero_point), DType::kF32));
    const bool saturate = l.op().def().FindAttr("saturate") == nullptr || l.GetInt("saturate") != 0;
    return l.Result("y", l.Op("cast", {{"X", scaled}}, {{"in_dtype", DType::kF32}, {"out_dtype", to}, {"saturate", saturate}}));
  }
  l.Result("y", Saturated(l, scaled, zero_point == nullptr ? nullptr : spread(zero_point), to));
}

void LowerDequantize(Lowering& l) {
  Var* x = l.In("x");
  Var* scale = l.In("x_scale");
  Var* zero_point = Optional(l, "x_zero_point");
  DType to = l.GetDType("output_dtype", DType::kInvalid);
  if (to == DType::kInvalid) to = TypeOf(l, scale);
  const int64_t axis = QuantizedAxis(l), block = l.GetInt("block_size");
  if (block == 0) {
    if (Var* y = DequantizedByOp(l, {x, scale, zero_point}, axis); y != nullptr) return l.Result("y", l.Cast(y, to));
  }
  zero_point = zero_point == nullptr ? nullptr : Spread(l, zero_point, x, axis, block);
  Var* centered = x;
  if (!IsSmallFloat(TypeOf(l, x))) {
    centered = Centered(l, x, zero_point);
  } else if (zero_point != nullptr) {
    centered = l.Binary("elementwise_sub", l.Cast(x, DType::kF32), l.Cast(zero_point, DType::kF32));
  }
  Var* factor = l.Cast(Spread(l, scale, x, axis, block), DType::kF32);
  l.Result("y", l.Cast(l.Binary("elementwise_mul", l.Cast(centered, DType::kF32), factor), to));
}

void LowerDynamicQuantize(Lowering& l) {
  const Quantized q = DynamicallyQuantized(l, l.In("x"));
  l.Result("y", q.x);
  l.Result("y_scale", q.scale);
  l.Result("y_zero_point", q.zero_point);
}

// A zero point of `a` may be one for each row.
Var* ForRows(Lowering& l, Var* v) { return v != nullptr && v->type.rank() == 1 && v->type.dims[0] != 1 ? l.Unsqueeze(v, {-1}) : v; }

bool IsOneNumber(const Var* v) { return v == nullptr || (v->type.IsStatic() && v->type.NumElements() == 1); }

void LowerMatMulInteger(Lowering& l) {
  Var *x = l.In("A"), *y = l.In("B"), *x_zero = Optional(l, "a_zero_point"), *y_zero = Optional(l, "b_zero_point");
  const bool for_columns = IsOneNumber(y_zero) || (y_zero->type.IsStatic() && y_zero->type.rank() == 1);
  if (l.quantized() == QuantizedOps::kProducts && IsOneNumber(x_zero) && for_columns && x->type.rank() >= 2 && y->type.rank() >= 2) {
    std::vector<Lowering::Operand> operands = {{"X", x}, {"Y", y}};
    if (x_zero != nullptr) operands.push_back({"XZeroPoint", x_zero});
    if (y_zero != nullptr) operands.push_back({"YZeroPoint", y_zero});
    return l.Result("Y", l.Op("quantized_matmul", operands));
  }
  Var* a = Centered(l, l.In("A"), ForRows(l, Optional(l, "a_zero_point")));
  Var* b = Centered(l, l.In("B"), Optional(l, "b_zero_point"));
  l.Result("Y", l.Binary("matmul_v2", a, b));
}

// A sum of products of integers as a quantised result.
Var* RequantizedSum(Lowering& l, Var* sum, Var* x_scale, Var* w_scale) {
  const auto wide = [&](Var* v) { return l.Cast(v, DType::kF32); };
  Var* factor = l.Binary("elementwise_div", l.Binary("elementwise_mul", wide(x_scale), wide(w_scale)), wide(l.In("y_scale")));
  Var* y = l.Binary("elementwise_mul", wide(sum), factor);
  Var* zero_point = l.In("y_zero_point");
  return Saturated(l, y, zero_point, TypeOf(l, zero_point));
}

void LowerQLinearMatMul(Lowering& l) {
  Var* to_zero = l.In("y_zero_point");
  if (Var* y = ProductByOp(l, QuantizedOperand(l, "a", "a_scale", "a_zero_point"), QuantizedOperand(l, "b", "b_scale", "b_zero_point"));
      y != nullptr) {
    return l.Result("y", Requantized(l, y, l.In("y_scale"), to_zero, TypeOf(l, to_zero)));
  }
  Var* a = Centered(l, l.In("a"), ForRows(l, l.In("a_zero_point")));
  Var* b = Centered(l, l.In("b"), l.In("b_zero_point"));
  l.Result("y", RequantizedSum(l, l.Binary("matmul_v2", a, b), ForRows(l, l.In("a_scale")), l.In("b_scale")));
}

// Whole numbers of up to 8 bits and a sign as parts that are smaller, each with its weight: themselves, or the high and the low four bits.
std::vector<std::pair<Var*, double>> Parts(Lowering& l, Var* x, bool split) {
  if (!split) return {{x, 1}};
  Var* high = Map(l, "floor", WithNumber(l, "elementwise_mul", x, 1.0 / 16));
  Var* low = l.Binary("elementwise_sub", x, WithNumber(l, "elementwise_mul", high, 16));
  return {{high, 16}, {low, 1}};
}

// The convolution of integers from -255 to 255 as i32. Whole numbers below 2^24 are exact in f32 whatever the order of their sum; parts
// make room for more of them: 257 products of 255 * 255, 4096 of 255 * 16, 65536 of 16 * 16.
Var* ConvolvedIntegers(Lowering& l, Var* x, Var* w) {
  const std::optional<std::vector<int64_t>> filter = l.Shape(w);
  if (!filter.has_value()) return x;
  int64_t products = 1;
  for (size_t i = 1; i < filter->size(); ++i) products *= (*filter)[i];
  if (products > 65536) {
    l.Unsupported("a filter of more than 65536 numbers has no exact cpu kernel");
    return x;
  }
  Var* sum = nullptr;
  for (const auto& [a, a_weight] : Parts(l, l.Cast(x, DType::kF32), products > 257)) {
    for (const auto& [b, b_weight] : Parts(l, l.Cast(w, DType::kF32), products > 4096)) {
      Var* part = l.Cast(Convolved(l, a, b, nullptr), DType::kI32);
      part = WithNumber(l, "elementwise_mul", part, a_weight * b_weight);
      sum = sum == nullptr ? part : l.Binary("elementwise_add", sum, part);
    }
  }
  return sum;
}

// One number for each output channel, against the dims of a filter.
Var* ForFilters(Lowering& l, Var* v, Var* w) {
  return v == nullptr || v->type.NumElements() == 1 ? v : WithTrailingOnes(l, v, l.Rank(w) - 1);
}
// The same against those of a result.
Var* ForChannels(Lowering& l, Var* v, Var* w) { return v->type.NumElements() == 1 ? v : WithTrailingOnes(l, v, l.Rank(w) - 2); }

void LowerConvInteger(Lowering& l) {
  Var* w = l.In("w");
  Var* x = Centered(l, l.In("x"), Optional(l, "x_zero_point"));
  l.Result("y", ConvolvedIntegers(l, x, Centered(l, w, ForFilters(l, Optional(l, "w_zero_point"), w))));
}

// The convolution of what the integers stand for; null where that is not one op.
Var* ConvolvedByOp(Lowering& l, Var* x, bool last) {
  Var* w = l.In("w");
  const Quantized filter = QuantizedOperand(l, "w", "w_scale", "w_zero_point"), in{x, l.In("x_scale"), l.In("x_zero_point")};
  if (l.quantized() != QuantizedOps::kProducts || l.Rank(w) != 4 || BitsOf(TypeOf(l, x)) != 8 || BitsOf(TypeOf(l, w)) != 8) return nullptr;
  Var *wide = DequantizedByOp(l, in, 0), *wide_filter = DequantizedByOp(l, filter, 0), *bias = nullptr;
  if (wide == nullptr || wide_filter == nullptr) return nullptr;
  if (l.Has("B")) {
    bias = DequantizedByOp(
        l, {l.In("B"), l.Binary("elementwise_mul", l.Cast(in.scale, DType::kF32), l.Cast(filter.scale, DType::kF32)), nullptr}, 0);
    if (bias == nullptr) return nullptr;
  }
  Var *y = Convolved(l, wide, wide_filter, bias), *zero_point = l.In("y_zero_point");
  y = Requantized(l, y, l.In("y_scale"), zero_point, TypeOf(l, zero_point));
  return last ? ChannelsLast(l, y) : y;
}

void LowerQLinearConv(Lowering& l) {
  Var* w = l.In("w");
  const bool last = l.GetInt("channels_last") != 0;  // ONNX Runtime's own
  if (Var* y = ConvolvedByOp(l, last ? ChannelsFirst(l, l.In("x")) : l.In("x"), last); y != nullptr) return l.Result("y", y);
  Var* x = Centered(l, last ? ChannelsFirst(l, l.In("x")) : l.In("x"), l.In("x_zero_point"));
  Var* sum = ConvolvedIntegers(l, x, Centered(l, w, ForFilters(l, l.In("w_zero_point"), w)));
  if (l.Has("B")) sum = l.Binary("elementwise_add", sum, ForChannels(l, l.In("B"), w));
  Var* y = RequantizedSum(l, sum, l.In("x_scale"), ForChannels(l, l.In("w_scale"), w));
  l.Result("y", last ? ChannelsLast(l, y) : y);
}

}  // namespace

void AddQuantize(OnnxOps& ops) {
  const std::pair<const char*, LowerFn> rows[] = {
      {"QuantizeLinear", &LowerQuantize},
      {"DequantizeLinear", &LowerDequantize},
      {"DynamicQuantizeLinear", &LowerDynamicQuantize},
      {"MatMulInteger", &LowerMatMulInteger},
      {"QLinearMatMul", &LowerQLinearMatMul},
      {"ConvInteger", &LowerConvInteger},
      {"QLinearConv", &LowerQLinearConv},
      {"com.microsoft.QuantizeLinear", &LowerQuantize},
      {"com.microsoft.DequantizeLinear", &LowerDequantize},
      {"com.microsoft.QLinearConv", &LowerQLinearConv},
  };
  for (const auto& [type, lower] : rows) ops.Add(type).Amp(AmpClass::kNever, kQuantizedReason).Lower(lower);
}

}  // namespace ampc::onnx
