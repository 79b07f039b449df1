// Reductions, positions of extremes, running sums.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// after(native(before(data))); a null step is none.
struct Reduction {
  const char* type;
  const char* native;
  const char* before = nullptr;
  const char* after = nullptr;
  bool real = false;  // integers are computed in f64
};
constexpr Reduction kReductions[] = {
    {"ReduceL1", "reduce_sum", "abs"},
    {"ReduceL2", "frobenius_norm", nullptr, nullptr, true},
    {"ReduceLogSum", "reduce_sum", nullptr, "log", true},
    {"ReduceLogSumExp", "logsumexp", nullptr, nullptr, true},
    {"ReduceMax", "reduce_max"},
    {"ReduceMean", "reduce_mean"},
    {"ReduceMin", "reduce_min"},
    {"ReduceProd", "reduce_prod"},
    {"ReduceSum", "reduce_sum"},
    {"ReduceSumSquare", "reduce_sum", "square"},
};

// The axes, none for all; absent where they are not known yet.
std::optional<std::vector<int64_t>> ReducedAxes(Lowering& l) {
  if (!l.Has("axes")) return l.GetInts("axes");
  const Var* axes = l.In("axes");
  if (axes->type.NumElements() == 0) return std::vector<int64_t>();
  return l.NeedInts(axes);
}

void LowerReduction(Lowering& l) {
  const auto row =
      std::find_if(std::begin(kReductions), std::end(kReductions), [&](const Reduction& r) { return TypeName(l.op().def()) == r.type; });
  Var* data = l.In("data");
  const DType dtype = TypeOf(l, data);
  const std::optional<std::vector<int64_t>> axes = ReducedAxes(l);
  if (!l.ok()) return;
  Var* x = data;
  if (row->before != nullptr || row->after != nullptr) x = Widened(l, x);
  if (row->real && !IsFloat(dtype)) x = l.Cast(x, DType::kF64);
  if (row->before != nullptr) x = Map(l, row->before, x);
  // Nothing is reduced where no axis is named and the attribute says so: each element is a group of its own.
  if (axes->empty() && l.GetInt("noop_with_empty_axes") != 0) {
    x = Map(l, row->native == absl::string_view("frobenius_norm") ? "abs" : "assign", x);
  } else {
    x = Reduced(l, row->native, x, *axes, l.GetInt("keepdims") != 0);
  }
  if (row->after != nullptr) x = Map(l, row->after, x);
  l.Result("reduced", l.Cast(x, dtype));
}

void LowerArg(Lowering& l) {
  const char* native = TypeName(l.op().def()) == "ArgMax" ? "arg_max" : "arg_min";
  Var* x = l.In("data");
  const int64_t axis = l.GetInt("axis");
  const Lowering::Attrs attrs = {{"axis", axis}, {"keepdims", l.GetInt("keepdims") != 0}};
  if (l.GetInt("select_last_index") == 0) return l.Result("reduced", Map(l, native, x, attrs));
  // The last position is the first one from the end.
  const int64_t n = DimOf(l, x, axis);
  if (!l.ok()) return;
  Var* from_end = Map(l, native, Map(l, "flip", x, {{"axis", std::vector<int64_t>{axis}}}), attrs);
  l.Result("reduced", l.Binary("elementwise_sub", l.ConstScalar(static_cast<double>(n - 1), DType::kI64), from_end));
}

void LowerCumSum(Lowering& l) {
  const std::optional<std::vector<int64_t>> axis = l.NeedInts(l.In("axis"));
  if (!axis.has_value()) return;
  if (axis->size() != 1) return l.Unsupported("axis needs one number");
  l.Result("y", Map(l, "cumsum", l.In("x"),
                    {{"axis", (*axis)[0]}, {"exclusive", l.GetInt("exclusive") != 0}, {"reverse", l.GetInt("reverse") != 0}}));
}

}  // namespace

void AddReduce(OnnxOps& ops) {
  for (const Reduction& row : kReductions) ops.Add(row.type).Like(row.native).Lower(&LowerReduction);
  ops.Add("ArgMax").Like("arg_max").Lower(&LowerArg);
  ops.Add("ArgMin").Like("arg_min").Lower(&LowerArg);
  ops.Add("CumSum").Like("cumsum").Lower(&LowerCumSum).Infer(&InferSameType);
}

}  // namespace ampc::onnx
