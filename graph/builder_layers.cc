// The layers of ProgramBuilder.
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/builder.h"

namespace ampc {
namespace {

std::vector<int32_t> Twice(int v) { return {v, v}; }

// Uniform between the bounds of Glorot and Bengio: keeps the variance of values and gradients over a matrix product.
Initializer Glorot(double in, double out) {
  const double bound = std::sqrt(6.0 / (in + out));
  return Initializer::Uniform(-bound, bound);
}

}  // namespace

int64_t ProgramBuilder::KnownDim(absl::string_view layer, Value x, int axis) {
  if (!status_.ok()) return -1;
  if (absl::Status status = CheckValues(layer, {{"X", {x}}}, false); !status.ok()) {
    Fail(std::move(status));
    return -1;
  }
  const TensorType& type = x.var->type;
  if (type.rank() > axis && IsKnown(type.dims[axis])) return type.dims[axis];
  Fail(UsageError(
      absl::StrCat(layer, ": found '", x.var->name(), "' of type ", ToString(type), ", needed dimension ", axis, " to be known")));
  return -1;
}

Value ProgramBuilder::Activate(absl::string_view layer, absl::string_view type, Value x) {
  return type.empty() ? x : Append(layer, type, {{"X", {x}}});
}

Value ProgramBuilder::Activation(absl::string_view type, Value x) { return type.empty() ? x : Activate(NextLayer(type), type, x); }

Value ProgramBuilder::Conv2D(Value x, const Conv2DOptions& options) {
  const std::string layer = NextLayer("conv2d");
  const int64_t channels = KnownDim(layer, x, 1);
  if (channels < 0) return {};
  if (options.filters <= 0 || options.kernel <= 0 || options.groups <= 0 || channels % options.groups != 0) {
    Fail(UsageError(absl::StrCat(layer, ": found ", options.filters, " filters, kernel ", options.kernel, ", ", options.groups,
                                 " groups for ", channels, " channels, needed positive numbers and groups that divide the channels")));
    return {};
  }
  const DType dtype = x.var->type.dtype;
  const int64_t per_group = channels / options.groups;
  const double fan_in = static_cast<double>(per_group * options.kernel * options.kernel);
  const Value w = Param(layer + ".w_0", dtype, {options.filters, per_group, options.kernel, options.kernel},
                        Initializer::Normal(0, std::sqrt(2.0 / fan_in)));
  Value h = Append(layer, "conv2d", {{"Input", {x}}, {"Filter", {w}}},
                   {{"strides", Twice(options.stride)},
                    {"paddings", Twice(options.padding)},
                    {"dilations", Twice(options.dilation)},
                    {"groups", options.groups}});
  if (options.bias) {
    const Value b = Param(layer + ".b_0", dtype, {options.filters});
    h = Append(layer, "elementwise_add", {{"X", {h}}, {"Y", {b}}}, {{"axis", 1}});
  }
  return Activate(layer, options.act, h);
}

Value ProgramBuilder::BatchNorm(Value x, const BatchNormOptions& options) {
  const std::string layer = NextLayer("batch_norm");
  const int64_t channels = KnownDim(layer, x, 1);
  if (channels < 0) return {};
  const Value scale = Param(layer + ".w_0", DType::kF32, {channels}, Initializer::Constant(1));
  const Value bias = Param(layer + ".b_0", DType::kF32, {channels});
  const Value mean = State(layer + ".w_1", DType::kF32, {channels});
  const Value variance = State(layer + ".w_2", DType::kF32, {channels}, Initializer::Constant(1));
  const std::vector<Value> out =
      Append(layer, "batch_norm", {{"X", {x}}, {"Scale", {scale}}, {"Bias", {bias}}, {"Mean", {mean}}, {"Variance", {variance}}},
             {{"momentum", options.momentum}, {"epsilon", options.epsilon}},
             {{"SavedMean", {Value()}}, {"SavedVariance", {Value()}}, {"Y", {Value()}}, {"MeanOut", {mean}}, {"VarianceOut", {variance}}});
  if (out[2].var == nullptr) return {};
  out[0].var->stop_gradient = out[1].var->stop_gradient = true;
  return Activate(layer, options.act, out[2]);
}

Value ProgramBuilder::Pool2D(Value x, const Pool2DOptions& options) {
  return Append(NextLayer("pool2d"), "pool2d", {{"X", {x}}},
                {{"pooling_type", options.type},
                 {"ksize", Twice(options.size)},
                 {"strides", Twice(options.stride)},
                 {"paddings", Twice(options.padding)},
                 {"global_pooling", options.global}});
}

Value ProgramBuilder::FullyConnected(Value x, int size, const FullyConnectedOptions& options) {
  const std::string layer = NextLayer("fc");
  int64_t features = 1;
  if (x.var != nullptr && x.var->type.rank() <= options.flatten) KnownDim(layer, x, options.flatten);  // says what is missing
  for (int axis = options.flatten; x.var != nullptr && axis < x.var->type.rank(); ++axis) features *= KnownDim(layer, x, axis);
  if (x.var == nullptr) KnownDim(layer, x, 0);
  if (size <= 0 || options.flatten < 1)
    Fail(UsageError(absl::StrCat(layer, ": found size ", size, " and flatten ", options.flatten, ", needed both from 1")));
  if (!status_.ok()) return {};
  const DType dtype = x.var->type.dtype;
  const Value w = Param(layer + ".w_0", dtype, {features, size}, Glorot(static_cast<double>(features), size));
  Value h = Append(layer, "mul", {{"X", {x}}, {"Y", {w}}}, {{"x_num_col_dims", options.flatten}});
  if (options.bias) {
    const Value b = Param(layer + ".b_0", dtype, {size});
    h = Append(layer, "elementwise_add", {{"X", {h}}, {"Y", {b}}}, {{"axis", options.flatten}});
  }
  return Activate(layer, options.act, h);
}

Value ProgramBuilder::Matmul(Value x, Value y, const MatmulOptions& options) {
  return Op("matmul_v2", {{"X", {x}}, {"Y", {y}}}, {{"trans_x", options.trans_x}, {"trans_y", options.trans_y}});
}

Value ProgramBuilder::Add(Value x, Value y, int axis) { return Op("elementwise_add", {{"X", {x}}, {"Y", {y}}}, {{"axis", axis}}); }

Value ProgramBuilder::Softmax(Value x, int axis) { return Op("softmax", {{"X", {x}}}, {{"axis", axis}}); }

Value ProgramBuilder::Mean(Value x) { return Op("mean", {{"X", {x}}}); }

Value ProgramBuilder::SoftmaxWithCrossEntropy(Value logits, Value label, const CrossEntropyOptions& options) {
  return Op("softmax_with_cross_entropy", {{"Logits", {logits}}, {"Label", {label}}},
            {{"soft_label", options.soft_label}, {"axis", options.axis}}, {{"Softmax", {Value()}}, {"Loss", {Value()}}})[1];
}

}  // namespace ampc
