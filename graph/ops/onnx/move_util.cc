#include "graph/ops/onnx/move_util.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/host_values.h"
#include "graph/op.h"

namespace ampc::onnx {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();

}  // namespace

AttrValue WholeNumber(int64_t value) {
  if (value < kLeast || value > kMost) return value;
  return static_cast<int32_t>(value);
}

AttrValue WholeNumbers(const std::vector<int64_t>& values) {
  if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v < kLeast || v > kMost; })) return values;
  return Ints(values.begin(), values.end());
}

void Wrong(Lowering& l, absl::string_view what) { l.Fail(BadInputError(absl::StrCat(Describe(l.op()), ": ", what))); }

int Axis(Lowering& l, int64_t axis, int rank) {
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at >= 0 && at < rank) return static_cast<int>(at);
  if (rank >= 0) Wrong(l, absl::StrCat("axis is ", axis, ", needs ", -rank, " to ", rank - 1));
  return 0;
}

int AxisAttr(Lowering& l, absl::string_view name, const Var* x) {
  const int64_t axis = l.GetInt(name);
  if (axis >= 0 && axis <= kMost && !x->type.has_rank) return static_cast<int>(axis);
  return Axis(l, axis, l.Rank(x));
}

std::optional<std::vector<int64_t>> NeedWhole(Lowering& l, Var* v) {
  const HostTensor* value = l.Value(v);
  if (value == nullptr || !IsFloat(value->dtype())) return l.NeedInts(v);
  std::vector<double> numbers(value->values<double>().begin(), value->values<double>().end());
  if (const std::optional<std::vector<float>> narrow = FloatsOf(*value)) numbers.assign(narrow->begin(), narrow->end());
  std::vector<int64_t> whole;
  for (const double number : numbers) {
    if (number != std::floor(number) || std::abs(number) > 0x1p53) {
      Wrong(l, absl::StrCat("'", v->name(), "' has ", number, ", needs whole numbers"));
      return std::nullopt;
    }
    whole.push_back(static_cast<int64_t>(number));
  }
  return whole;
}

Var* DimsOf(Lowering& l, Var* x, int begin, int end) {
  const Dims& dims = x->type.dims;
  end = std::min(end, x->type.rank());
  begin = std::min(begin, end);
  if (std::all_of(dims.begin() + begin, dims.begin() + end, IsKnown)) return l.Const({dims.begin() + begin, dims.begin() + end});
  Var* shape = l.Cast(l.Op("shape", {{"Input", x}}), DType::kI64);
  if (begin == 0 && end == x->type.rank()) return shape;
  return l.Op("slice", {{"Input", shape}}, {{"axes", Ints{0}}, {"starts", Ints{begin}}, {"ends", Ints{end}}});
}

Var* DimOf(Lowering& l, Var* x, int axis, DType dtype) {
  if (axis < x->type.rank() && IsKnown(x->type.dims[axis])) return l.ConstScalar(static_cast<double>(x->type.dims[axis]), dtype);
  Var* shape = l.Op("shape", {{"Input", x}});
  return l.Cast(
      l.Op("slice", {{"Input", shape}}, {{"axes", Ints{0}}, {"starts", Ints{axis}}, {"ends", Ints{axis + 1}}, {"decrease_axis", Ints{0}}}),
      dtype);
}

bool IsStatic(const Var* x) { return x->type.IsStatic(); }

Var* Join(Lowering& l, std::vector<Var*> parts) {
  return parts.size() == 1 ? parts[0] : l.Op("concat", {{"X", std::move(parts)}}, {{"axis", int32_t{0}}});
}

Index IndexAlong(Lowering& l, Var* index, const Var* x, int axis) {
  std::optional<std::vector<int64_t>> known = l.Ints(index);
  if (!known || !index->type.IsStatic()) return {index, true};
  if (std::all_of(known->begin(), known->end(), [](int64_t i) { return i >= 0; })) return {index, false};
  const int64_t size = axis < x->type.rank() ? x->type.dims[axis] : kUnknownDim;
  if (!IsKnown(size) || std::any_of(known->begin(), known->end(), [size](int64_t i) { return i < -size; })) return {index, true};
  for (int64_t& i : *known) i += i < 0 ? size : 0;
  return {l.Const(HostTensor::FromValues<int64_t>(index->type.dims, *known)), false};
}

Var* Take(Lowering& l, Var* x, const Index& index, int axis) {
  const int rank = l.Rank(index.numbers);
  Lowering::Attrs attrs;
  if (index.from_end) attrs.push_back({"from_end", true});
  if (rank <= 1) {
    attrs.push_back({"axis", int32_t{axis}});
    return l.Op("gather", {{"X", x}, {"Index", index.numbers}}, attrs);
  }
  const int of_x = axis == 0 ? 1 : l.Rank(x);
  if (!l.ok()) return x;
  // The last dim of the index counts the dims that it names.
  Var* by_one = l.Unsqueeze(index.numbers, {rank});
  if (axis == 0) return l.Op("gather_nd", {{"X", x}, {"Index", by_one}}, attrs);
  std::vector<int> to_front = {axis};
  for (int i = 0; i < of_x; ++i) {
    if (i != axis) to_front.push_back(i);
  }
  Var* taken = l.Op("gather_nd", {{"X", l.Transpose(x, to_front)}, {"Index", by_one}}, attrs);
  std::vector<int> back;
  for (int i = 0; i < axis; ++i) back.push_back(rank + i);
  for (int i = 0; i < rank; ++i) back.push_back(i);
  for (int i = axis + 1; i < of_x; ++i) back.push_back(rank + i - 1);
  return l.Transpose(taken, back);
}

Var* TakeConst(Lowering& l, Var* x, int64_t count, const std::function<int64_t(int64_t)>& position, int axis) {
  Dims dims = x->type.dims;
  if (axis < x->type.rank()) dims[axis] = count;
  if (!l.CanHold(DType::kI64, {count}) || !l.CanHold(x->type.dtype, dims)) return x;
  std::vector<int64_t> positions(count);
  for (int64_t i = 0; i < count; ++i) positions[i] = position(i);
  return l.Op("index_select", {{"X", x}, {"Index", l.Const(positions)}}, {{"dim", int32_t{axis}}});
}

}  // namespace ampc::onnx
