// Functions of one operand that neural networks put between their layers, and PRelu.
#include <string>

#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// An operator whose native op has the same meaning under other names of attributes.
struct Renamed {
  const char* type;
  const char* native;
  struct {
    const char* ours;
    const char* onnx;
  } attrs[2];
};
constexpr Renamed kRenamed[] = {
    {"Celu", "celu", {{"alpha", "alpha"}}},
    {"Elu", "elu", {{"alpha", "alpha"}}},
    {"HardSigmoid", "hard_sigmoid", {{"slope", "alpha"}, {"offset", "beta"}}},
    {"LeakyRelu", "leaky_relu", {{"alpha", "alpha"}}},
    {"Selu", "selu", {{"alpha", "alpha"}, {"scale", "gamma"}}},
    {"Swish", "swish", {{"beta", "alpha"}}},
    {"ThresholdedRelu", "thresholded_relu", {{"threshold", "alpha"}}},
};

void LowerRenamed(Lowering& l) {
  for (const Renamed& row : kRenamed) {
    if (TypeName(l.op().def()) != row.type) continue;
    Lowering::Attrs attrs;
    for (const auto& attr : row.attrs) {
      if (attr.ours != nullptr) attrs.push_back({attr.ours, static_cast<float>(l.GetFloat(attr.onnx))});
    }
    l.Result("Y", Map(l, row.native, l.In("X"), std::move(attrs)));
  }
}

void LowerGelu(Lowering& l) {
  const std::string how = l.GetString("approximate");
  if (how != "none" && how != "tanh") return l.Unsupported("approximate is '" + how + "', needs none or tanh");
  l.Result("Y", Map(l, "gelu", l.In("X"), {{"approximate", how == "tanh"}}));
}

// Above 40 log(1 + exp(x)) and x are the same number in f64 too.
void LowerSoftplus(Lowering& l) { l.Result("Y", Map(l, "softplus", l.In("X"), {{"threshold", 40.0f}})); }

void LowerShrink(Lowering& l) {
  Var* x = l.In("input");
  const DType dtype = TypeOf(l, x);
  const double bias = l.GetFloat("bias"), lambda = l.GetFloat("lambd");
  if (IsFloat(dtype) && lambda >= 0 && (bias == 0 || bias == lambda)) {
    const bool hard = bias == 0;
    const float threshold = static_cast<float>(lambda);
    return l.Result("output", Map(l, hard ? "hard_shrink" : "softshrink", x, {{hard ? "threshold" : "lambda", threshold}}));
  }
  Var* wide = IsFloat(dtype) ? Widened(l, x) : l.Cast(x, DType::kF64);
  Var* above = Select(l, WithNumber(l, "greater_than", wide, lambda), WithNumber(l, "elementwise_sub", wide, bias),
                      Filled(l, wide, 0, wide->type.dtype));
  Var* y = Select(l, WithNumber(l, "less_than", wide, -lambda), WithNumber(l, "elementwise_add", wide, bias), above);
  l.Result("output", l.Cast(y, dtype));
}

// How the native op spreads a slope of this shape: all, channel; "" where it cannot.
std::string PreluMode(const TensorType& x, const TensorType& slope) {
  if (!x.IsFloat() || !x.has_rank || !slope.IsStatic() || slope.rank() > x.rank()) return "";
  const int64_t n = slope.NumElements();
  if (n == 1) return "all";
  const int channel = slope.rank() - (x.rank() - 1);  // where slope has the channels
  return x.rank() >= 2 && channel >= 0 && slope.dims[channel] == n && x.dims[1] == n ? "channel" : "";
}

void LowerPRelu(Lowering& l) {
  Var* x = l.In("X");
  Var* slope = l.In("slope");
  std::string mode = PreluMode(x->type, slope->type);
  if (l.since() < 7) {  // a slope for each channel, or one
    const auto shape = l.Shape(slope);
    if (!shape.has_value()) return;
    mode = slope->type.NumElements() == 1 ? "all" : "channel";
  }
  if (!mode.empty()) {
    return l.Result("Y", l.Op("prelu", {{"X", x}, {"Alpha", l.Reshape(slope, {-1})}}, {{"mode", mode}}));
  }
  Var* below = l.Binary("elementwise_mul", WithNumber(l, "elementwise_min", x, 0), slope);
  l.Result("Y", l.Binary("elementwise_add", WithNumber(l, "elementwise_max", x, 0), below));
}

}  // namespace

void AddActivations(OnnxOps& ops) {
  for (const Renamed& row : kRenamed) ops.Add(row.type).Like(row.native).Lower(&LowerRenamed);
  ops.Add("Relu").SameAs("relu");
  ops.Add("Sigmoid").SameAs("sigmoid");
  ops.Add("Tanh").SameAs("tanh");
  ops.Add("Softsign").SameAs("softsign");
  ops.Add("HardSwish").SameAs("hard_swish");
  ops.Add("Mish").SameAs("mish");
  ops.Add("Gelu").Like("gelu").Lower(&LowerGelu);
  ops.Add("Softplus").Like("softplus").Lower(&LowerSoftplus);
  ops.Add("Shrink").Like("softshrink").Traits({OpTrait::kRectifier}).Use("bias", AttrUse::kAdds).Lower(&LowerShrink);
  ops.Add("PRelu").Like("prelu").Lower(&LowerPRelu);
}

}  // namespace ampc::onnx
