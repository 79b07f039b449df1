// Operators that make tensors from little: ranges, masks, one-hot rows, constants of a shape.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "graph/ops/bounds.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/onnx_op.h"

namespace ampc::onnx {
namespace {

// The values [off, on] at 1 where a position is the index, else at 0.
void LowerOneHot(Lowering& l) {
  Var* index = l.Cast(l.In("indices"), DType::kI64);
  const int rank = l.Rank(index);
  const int axis = Axis(l, l.GetInt("axis"), rank + 1);
  if (!l.ok()) return;
  Var* depth = l.Reshape(l.Cast(l.In("depth"), DType::kI64), {1});
  const std::optional<std::vector<int64_t>> known = l.Ints(l.In("depth"));
  Var* positions = nullptr;
  if (known && known->size() == 1) {
    Dims dims = index->type.dims;
    dims.insert(dims.begin() + axis, (*known)[0]);
    if (!l.CanHold(DType::kI64, {(*known)[0]}) || !l.CanHold(l.In("values")->type.dtype, dims)) return;
    std::vector<int64_t> counting(std::max<int64_t>((*known)[0], 0));
    for (size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<int64_t>(i);
    positions = l.Const(counting);
  } else {
    positions = l.Op("range", {{"Start", l.Const({0})}, {"End", depth}, {"Step", l.Const({1})}});
  }
  // Below 0 an index counts from the end; beyond either end it is at no position.
  Var* zero = l.ConstScalar(0, DType::kI64);
  Var* below = l.Cast(l.Op("less_than", {{"X", index}, {"Y", zero}}), DType::kI64);
  index = l.Binary("elementwise_add", index, l.Binary("elementwise_mul", below, l.Squeeze(depth, {0})));
  std::vector<int64_t> dims(rank + 1, 1);
  dims[axis] = -1;
  Var* hits = l.Op("equal", {{"X", l.Unsqueeze(index, {axis})}, {"Y", l.Reshape(positions, dims)}});
  Var* chosen = l.Unsqueeze(l.Cast(hits, DType::kI64), {rank + 1});
  l.Result("output", l.Op("gather_nd", {{"X", l.In("values")}, {"Index", chosen}}));
}

void LowerTrilu(Lowering& l) {
  int64_t diagonal = 0;
  if (l.Has("k")) {
    const std::optional<std::vector<int64_t>> k = l.NeedInts(l.In("k"));
    if (!k || k->empty()) return;
    diagonal = (*k)[0];
  }
  const bool own = DomainOf(TypeName(l.op().def())).empty();  // the standard's
  l.Result(own ? "output" : "Y",
           l.Op("tril_triu", {{"X", l.In(own ? "input" : "X")}}, {{"diagonal", WholeNumber(diagonal)}, {"lower", l.GetInt("upper") == 0}}));
}

// A larger matrix with ones on its diagonal, cut so that the diagonal is where 'k' puts it.
void LowerEyeLike(Lowering& l) {
  const auto dims = l.Shape(l.In("input"));
  if (!dims) return;
  if (dims->size() != 2) return Wrong(l, absl::StrCat("the operand has rank ", dims->size(), ", needs 2"));
  const DType given = l.GetDType("dtype", DType::kInvalid), dtype = given == DType::kInvalid ? l.In("input")->type.dtype : given;
  const int64_t rows = (*dims)[0], columns = (*dims)[1], k = std::clamp<int64_t>(l.GetInt("k"), -rows, columns);
  const DType made = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI64 ? dtype : DType::kI32;
  Var* eye =
      l.Op("eye", {}, {{"num_rows", rows + std::max<int64_t>(k, 0)}, {"num_columns", columns + std::max<int64_t>(-k, 0)}, {"dtype", made}});
  if (k != 0) {
    const int64_t axis = k > 0 ? 0 : 1, first = std::abs(k);
    eye = l.Op(
        "slice", {{"Input", eye}},
        {{"axes", WholeNumbers({axis})}, {"starts", WholeNumbers({first})}, {"ends", WholeNumbers({std::numeric_limits<int32_t>::max()})}});
  }
  l.Result("output", l.Cast(eye, dtype));
}

void LowerRange(Lowering& l) {
  Var *start = l.In("start"), *end = l.In("limit"), *step = l.In("delta");
  const DType dtype = start->type.dtype;
  const bool narrow = dtype == DType::kI16;
  if (narrow) {
    start = l.Cast(start, DType::kI32);
    end = l.Cast(end, DType::kI32);
    step = l.Cast(step, DType::kI32);
  }
  l.Result("output", l.Cast(l.Op("range", {{"Start", start}, {"End", end}, {"Step", step}}), dtype));
}

// As text: the native op's number is of 32 bits.
std::string TextOf(const Scalar& scalar) {
  if (const bool* b = std::get_if<bool>(&scalar.value)) return *b ? "1" : "0";
  if (const int64_t* i = std::get_if<int64_t>(&scalar.value)) return absl::StrCat(*i);
  if (const double* d = std::get_if<double>(&scalar.value)) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.17g", *d);
    return text;
  }
  return "0";
}

void LowerConstantOfShape(Lowering& l) {
  DType dtype = DType::kF32;
  std::string text = "0";
  const AttrValue* value = l.op().explicit_attr("value");
  if (const Scalar* scalar = value == nullptr ? nullptr : std::get_if<Scalar>(value)) {
    text = TextOf(*scalar);
    if (const DType given = l.GetDType("value_dtype", dtype); given != DType::kInvalid) dtype = given;
  }
  const std::vector<Lowering::Operand> operands = {{"ShapeTensor", l.In("input")}};
  l.Result("output", l.Op("fill_constant", operands, {{"dtype", dtype}, {"str_value", text}}));
}

}  // namespace

void AddGenerate(OnnxOps& ops) {
  ops.Add("OneHot").Like("one_hot_v2").BoundsAre(&ops::Between<0, 1>).Lower(&LowerOneHot).AsIs({"indices", "depth"});
  ops.Add("Trilu").Like("tril_triu").Lower(&LowerTrilu);
  ops.Add("com.microsoft.Trilu").Like("tril_triu").Lower(&LowerTrilu);
  ops.Add("EyeLike").Like("eye").Lower(&LowerEyeLike).AsIs({"input"});
  ops.Add("Range").Like("range").Lower(&LowerRange);
  ops.Add("ConstantOfShape").Like("fill_constant").Lower(&LowerConstantOfShape);
}

}  // namespace ampc::onnx
