#include <string>
#include <utility>
#include <vector>

#include "graph/ops/cost_util.h"
#include "graph/ops/families.h"
#include "graph/ops/infer_util.h"

namespace ampc::ops {
namespace {

// The attribute that holds values of the type, "" for none.
const char* ValuesOf(DType dtype) {
  switch (dtype) {
    case DType::kBool: return "bool_values";
    case DType::kI32: return "int32_values";
    case DType::kI64: return "int64_values";
    case DType::kF32: return "fp32_values";
    case DType::kF64: return "fp64_values";
    default: return "";
  }
}

absl::Status InferAssignValue(InferContext& ctx) {
  const DType dtype = ctx.op().GetDType("dtype");
  const std::string values = ValuesOf(dtype);
  if (values.empty()) return Fail(ctx, 1, "dtype is ", Name(dtype), ", needs bool, i32, i64, f32 or f64");
  TensorType out = RankZero(dtype);
  for (int64_t d : ctx.op().GetInts("shape")) {
    if (d < 0) return Fail(ctx, 2, "shape has ", d, ", needs sizes");
    out.dims.push_back(d);
  }
  const int64_t n = IsFloat(dtype) ? ctx.op().GetFloats(values).size() : ctx.op().GetInts(values).size();
  if (n != Product(out.dims)) return Fail(ctx, 3, values, " has ", n, " numbers, needs ", Product(out.dims));
  ctx.Out("Out", std::move(out));
  return absl::OkStatus();
}

}  // namespace

OpDef AssignValueDef() {
  return MayOverwrite(OpDef("assign_value")
                          .Doc("A tensor of given values: those of the attribute for its type.")
                          .Out("Out", kAsIs)
                          .Required("shape", Ints{})
                          .DTypeAttr("dtype", DType::kF32, false)
                          .A("bool_values", Ints{})
                          .A("fp32_values", Floats{})
                          .A("fp64_values", std::vector<double>{})
                          .A("int32_values", Ints{})
                          .A("int64_values", Longs{})
                          .Infer(InferAssignValue)
                          .CostIs(MoveCost)
                          .Amp(kNever, "makes the type the program asks for; values above 65504 or below 2^-24 have no f16")
                          .Gradient("none: no operand"));
}

}  // namespace ampc::ops
