// Quantised operators of ONNX Runtime.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/size.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/layout_util.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/pool.h"
#include "graph/ops/onnx/quantize_util.h"
#include "graph/ops/onnx/softmax.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

constexpr const char* kStaysReason = "quantised: its scales stay as they are";

Var* Given(Lowering& l, const char* formal) { return l.Has(formal) ? l.In(formal) : nullptr; }

// The fp32 value as the op's result, of the type of its first operand, by the operands that have its scale and zero point.
void GiveQuantized(Lowering& l, const char* result, Var* value, const char* scale, const char* zero_point, DType to) {
  l.Result(result, Requantized(l, value, l.In(scale), Given(l, zero_point), to));
}

template <bool kProduct>
void LowerQLinearBinary(Lowering& l) {
  Var *a = Dequantized(l, QuantizedOperand(l, "A", "A_scale", "A_zero_point")),
      *b = Dequantized(l, QuantizedOperand(l, "B", "B_scale", "B_zero_point"));
  GiveQuantized(l, "C", l.Binary(kProduct ? "elementwise_mul" : "elementwise_add", a, b), "C_scale", "C_zero_point", TypeOf(l, l.In("A")));
}

void LowerQLinearActivation(Lowering& l) {
  Var* x = Dequantized(l, QuantizedOperand(l, "X", "X_scale", "X_zero_point"));
  const bool leaky = l.op().def().FindAttr("alpha") != nullptr;
  Lowering::Attrs attrs;
  if (leaky) attrs.push_back({"alpha", static_cast<float>(l.GetFloat("alpha"))});
  Var* y = Map(l, leaky ? "leaky_relu" : "sigmoid", x, std::move(attrs));
  GiveQuantized(l, "Y", y, "Y_scale", "Y_zero_point", TypeOf(l, l.In("X")));
}

void LowerQLinearSoftmax(Lowering& l) {
  Var* x = Dequantized(l, QuantizedOperand(l, "X", "X_scale", "x_zero_point"));
  const int64_t axis = AxisOf(l, x, l.GetInt("axis"));
  const int rank = l.Rank(x);
  if (!l.ok()) return;
  Var* y = nullptr;
  if (l.GetInt("opset") >= 13 || axis == rank - 1) {
    y = SoftmaxAlong(l, x, axis);
  } else {  // all dims from the axis on are one
    const std::optional<std::vector<int64_t>> shape = l.Shape(x);
    if (!shape.has_value()) return;
    int64_t row = 1;
    for (int64_t i = axis; i < rank; ++i) row *= (*shape)[i];
    y = l.Reshape(SoftmaxAlong(l, l.Reshape(x, {-1, row}), 1), *shape);
  }
  GiveQuantized(l, "Y", y, "y_scale", "y_zero_point", TypeOf(l, l.In("X")));
}

void LowerQLinearConcat(Lowering& l) {
  std::vector<Var*> parts;
  const int count = l.Count("inputs");
  if (count == 0 || count % 3 != 0)
    return Wrong(l, absl::StrCat("inputs are ", count, ", need to be triples of a tensor, its scale and its zero point"));
  for (int i = 0; i < count; i += 3) parts.push_back(Dequantized(l, {l.In("inputs", i), l.In("inputs", i + 1), l.In("inputs", i + 2)}));
  const int32_t axis = static_cast<int32_t>(AxisOf(l, parts[0], l.GetInt("axis")));
  Var* zero_point = l.In("Y_zero_point");
  GiveQuantized(l, "Y", l.Op("concat", {{"X", std::move(parts)}}, {{"axis", axis}}), "Y_scale", "Y_zero_point", TypeOf(l, zero_point));
}

void LowerQLinearWhere(Lowering& l) {
  Var *x = Dequantized(l, QuantizedOperand(l, "X", "x_scale", "x_zero_point")),
      *y = Dequantized(l, QuantizedOperand(l, "Y", "y_scale", "y_zero_point"));
  // Both in the result's scale, so that choosing by numbers is exact.
  const DType to = TypeOf(l, l.In("X"));
  const auto in_z = [&](Var* v) { return l.Cast(Requantized(l, v, l.In("z_scale"), Given(l, "z_zero_point"), to), DType::kI32); };
  Var* yes = l.Cast(l.In("condition"), DType::kI32);
  Var* no = WithNumber(l, "elementwise_sub", WithNumber(l, "elementwise_mul", yes, -1), -1);
  Var* z = l.Binary("elementwise_add", l.Binary("elementwise_mul", in_z(x), yes), l.Binary("elementwise_mul", in_z(y), no));
  l.Result("Z", l.Cast(z, to));
}

void LowerQLinearPool(Lowering& l) {
  Var* x = Dequantized(l, QuantizedOperand(l, "X", "x_scale", "x_zero_point"));
  const bool last = l.GetInt("channels_last") != 0;
  if (last) x = ChannelsFirst(l, x);
  const int rank = l.Rank(x);
  if (rank < 0) return;
  const bool global = l.op().def().FindAttr("kernel_shape") == nullptr;
  Var* y = global ? Reduced(l, "reduce_mean", x, AxisRange(2, rank), true) : AveragePooled(l, x);
  GiveQuantized(l, "Y", last ? ChannelsLast(l, y) : y, "y_scale", "y_zero_point", TypeOf(l, l.In("X")));
}

void LowerQLinearReduceMean(Lowering& l) {
  Var* x = Dequantized(l, QuantizedOperand(l, "data", "data_scale", "data_zero_point"));
  Var* y = Reduced(l, "reduce_mean", x, l.GetInts("axes"), l.GetInt("keepdims") != 0);
  GiveQuantized(l, "reduced", y, "reduced_scale", "reduced_zero_point", TypeOf(l, l.In("data")));
}

void LowerMulInteger(Lowering& l) {
  l.Result("C",
           l.Binary("elementwise_mul", Centered(l, l.In("A"), Given(l, "A_zero_point")), Centered(l, l.In("B"), Given(l, "B_zero_point"))));
}

// Matrix products.

Var* WithBias(Lowering& l, Var* y) { return l.Has("bias") ? l.Binary("elementwise_add", y, l.Cast(l.In("bias"), TypeOf(l, y))) : y; }

void LowerMatMulIntegerToFloat(Lowering& l) {
  Var* y = DequantizedProduct(l, QuantizedOperand(l, "A", "a_scale", "a_zero_point"), QuantizedOperand(l, "B", "b_scale", "b_zero_point"));
  l.Result("Y", l.Cast(WithBias(l, y), TypeOf(l, l.In("a_scale"))));
}

void LowerDynamicQuantizeMatMul(Lowering& l) {
  l.Result("Y",
           WithBias(l, DequantizedProduct(l, DynamicallyQuantized(l, l.In("A")), QuantizedOperand(l, "B", "b_scale", "b_zero_point"))));
}

void GiveQGemm(Lowering& l, Var* y) {
  if (!l.Has("y_scale")) return l.Result("Y", y);
  GiveQuantized(l, "Y", y, "y_scale", "y_zero_point", l.Has("y_zero_point") ? TypeOf(l, l.In("y_zero_point")) : TypeOf(l, l.In("A")));
}

void LowerQGemm(Lowering& l) {
  const auto turned = [&](Var* x, const char* attr) { return l.GetInt(attr) != 0 ? l.Transpose(x, {1, 0}) : x; };
  const Quantized x{turned(l.In("A"), "transA"), l.In("a_scale"), l.In("a_zero_point")},
      w{turned(l.In("B"), "transB"), l.In("b_scale"), l.In("b_zero_point")};
  Var* scales = l.Binary("elementwise_mul", l.Cast(x.scale, DType::kF32), l.Cast(w.scale, DType::kF32));
  Var* bias = l.Has("C") ? DequantizedByOp(l, {l.In("C"), scales, nullptr}, -1) : nullptr;
  if (Var* y = l.GetFloat("alpha") == 1 && (bias != nullptr || !l.Has("C")) ? ProductByOp(l, x, w) : nullptr; y != nullptr) {
    if (bias != nullptr) y = l.Binary("elementwise_add", y, bias);
    return GiveQGemm(l, y);
  }
  Var *a = Centered(l, x.x, x.zero_point), *b = Centered(l, w.x, w.zero_point);
  Var* sum = l.Binary("matmul_v2", a, b);
  if (l.Has("C")) sum = l.Binary("elementwise_add", sum, l.In("C"));
  Var* scale = WithNumber(l, "elementwise_mul", l.Binary("elementwise_mul", l.In("a_scale"), l.In("b_scale")), l.GetFloat("alpha"));
  GiveQGemm(l, l.Binary("elementwise_mul", l.Cast(sum, DType::kF32), scale));
}

// The numbers of `bits` bits in each byte of `x`, the lowest first: the last dim becomes 8 / bits times as long. i32.
Var* Unpacked(Lowering& l, Var* x, int64_t bits) {
  Var* rest = l.Cast(x, DType::kI32);
  if (bits == 8) return rest;
  const int64_t rank = l.Rank(x), count = 8 / bits;
  if (rank < 0) return rest;
  const double base = static_cast<double>(1 << bits);
  std::vector<Var*> parts;
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(WithNumber(l, "elementwise_mod", rest, base));
    if (i + 1 < count) rest = WithNumber(l, "elementwise_floordiv", rest, base);
  }
  std::vector<int64_t> dims(rank, 0);
  if (rank > 0) dims.back() = -1;
  return l.Reshape(l.Op("stack", {{"X", std::move(parts)}}, {{"axis", static_cast<int32_t>(rank)}}, "Y"), dims);
}

// Each operand of `counts` has that many elements, as far as its dims are known.
bool HaveElements(Lowering& l, std::initializer_list<std::pair<const char*, int64_t>> counts) {
  for (const auto& [formal, count] : counts) {
    if (!l.Has(formal)) continue;
    const TensorType& type = l.In(formal)->type;
    if (!type.IsStatic() || type.NumElements() == count) continue;
    Wrong(l, absl::StrCat(formal, " is ", ToString(type), ", needs ", count, " elements by N, K, bits and block_size"));
    return false;
  }
  return l.ok();
}

void LowerMatMulNBits(Lowering& l) {
  const int64_t bits = l.GetInt("bits"), block = l.GetInt("block_size"), k = l.GetInt("K"), n = l.GetInt("N");
  if (bits != 2 && bits != 4 && bits != 8) return l.Unsupported(absl::StrCat("bits is ", bits, ", 2, 4 and 8 are supported"));
  if (block <= 0 || k <= 0 || n <= 0) return Wrong(l, "block_size, K and N need to be positive");
  if (l.Has("g_idx")) return l.Unsupported("g_idx is not supported");
  if (block % (8 / bits) != 0) return Wrong(l, absl::StrCat("block_size is ", block, ", of which ", bits, " bits each are no whole bytes"));
  const int64_t blocks = k / block + (k % block != 0 ? 1 : 0), scales_needed = SatMul(n, blocks);
  const bool packed = l.Has("zero_points") && TypeOf(l, l.In("zero_points")) == DType::kU8;
  const int64_t zeros_in_byte = packed ? 8 / bits : 1;
  if (!HaveElements(l, {{"B", SatMul(scales_needed, block / (8 / bits))},
                        {"scales", scales_needed},
                        {"zero_points", SatMul(n, SatAdd(blocks, zeros_in_byte - 1) / zeros_in_byte)},
                        {"bias", n}})) {
    return;
  }
  Var *a = l.In("A"), *scales = l.Reshape(l.Cast(l.In("scales"), DType::kF32), {n, blocks, 1});
  Var* b = l.Cast(Unpacked(l, l.Reshape(l.In("B"), {n, blocks, -1}), bits), DType::kF32);
  if (!l.Has("zero_points")) {
    b = WithNumber(l, "elementwise_sub", b, static_cast<double>(1 << (bits - 1)));
  } else {
    Var* zero = l.In("zero_points");
    if (packed) {
      zero = Unpacked(l, l.Reshape(zero, {n, -1}), bits);
      zero = l.Op("slice", {{"Input", zero}}, {{"axes", Ints{1}}, {"starts", Ints{0}}, {"ends", WholeNumbers({blocks})}});
    }
    b = l.Binary("elementwise_sub", b, l.Reshape(l.Cast(zero, DType::kF32), {n, blocks, 1}));
  }
  b = l.Reshape(l.Binary("elementwise_mul", b, scales), {n, -1});
  if (k % block != 0) b = l.Op("slice", {{"Input", b}}, {{"axes", Ints{1}}, {"starts", Ints{0}}, {"ends", WholeNumbers({k})}});
  Var* y = l.Op("matmul_v2", {{"X", Widened(l, a)}, {"Y", b}}, {{"trans_y", true}});
  l.Result("Y", l.Cast(WithBias(l, y), TypeOf(l, a)));
}

}  // namespace

void AddContribQuantize(OnnxOps& ops) {
  const std::pair<const char*, LowerFn> rows[] = {
      {"QLinearAdd", &LowerQLinearBinary<false>},
      {"QLinearMul", &LowerQLinearBinary<true>},
      {"QLinearSigmoid", &LowerQLinearActivation},
      {"QLinearLeakyRelu", &LowerQLinearActivation},
      {"QLinearSoftmax", &LowerQLinearSoftmax},
      {"QLinearConcat", &LowerQLinearConcat},
      {"QLinearWhere", &LowerQLinearWhere},
      {"QLinearAveragePool", &LowerQLinearPool},
      {"QLinearGlobalAveragePool", &LowerQLinearPool},
      {"QLinearReduceMean", &LowerQLinearReduceMean},
      {"MulInteger", &LowerMulInteger},
      {"MatMulIntegerToFloat", &LowerMatMulIntegerToFloat},
      {"DynamicQuantizeMatMul", &LowerDynamicQuantizeMatMul},
      {"QGemm", &LowerQGemm},
      {"MatMulNBits", &LowerMatMulNBits},
  };
  for (const auto& [type, lower] : rows) ops.Add(absl::StrCat("com.microsoft.", type)).Amp(AmpClass::kNever, kStaysReason).Lower(lower);
}

}  // namespace ampc::onnx
