// Normalisations.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/move_util.h"
#include "graph/ops/onnx/norm_util.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// Scale and bias have the type of X in the standard: what is beyond f16 in them is found by their values.
constexpr const char* kRowReason =
    "operands and results may be low: mean and squares are summed in fp32, where 256 elements of 16 are 65536 and beyond f16";

// x minus its mean over `axes`, by the root of the variance plus epsilon; and what it was computed with.
struct Standardized {
  Var* y;
  Var* mean;
  Var* inverse;
};

Standardized Standardize(Lowering& l, Var* x, const std::vector<int64_t>& axes, double epsilon) {
  Var* mean = Reduced(l, "reduce_mean", x, axes, true);
  Var* centered = l.Binary("elementwise_sub", x, mean);
  Var* variance = Reduced(l, "reduce_mean", Map(l, "square", centered), axes, true);
  Var* inverse = Map(l, "rsqrt", WithNumber(l, "elementwise_add", variance, epsilon));
  return {l.Binary("elementwise_mul", centered, inverse), mean, inverse};
}

// y * scale + bias; a null bias is none.
Var* Affine(Lowering& l, Var* y, Var* scale, Var* bias) {
  y = l.Binary("elementwise_mul", y, scale);
  return bias == nullptr ? y : l.Binary("elementwise_add", y, bias);
}

Var* Epsilon(Lowering& l, Var* variance) { return WithNumber(l, "elementwise_add", variance, l.GetFloat("epsilon")); }

// BatchNormalization.

// Its operands by the names that its versions give them.
struct Batch {
  Var *x, *scale, *bias, *mean, *variance;
  bool training;
  const char *mean_out, *variance_out;  // results
};

Batch BatchOf(Lowering& l) {
  const bool named = l.since() >= 14;
  Batch b{l.In("X"),
          l.In("scale"),
          l.In("B"),
          l.In(named ? "input_mean" : "mean"),
          l.In(named ? "input_var" : "var"),
          false,
          named ? "running_mean" : "mean",
          named ? "running_var" : "var"};
  b.training = named ? l.GetInt("training_mode") != 0 : l.since() < 7 ? l.GetInt("is_test") == 0 : l.WantsResult("mean");
  return b;
}

// In the type of X by native steps: for f64, and for the statistics that old versions save.
void LowerBatchBySteps(Lowering& l, const Batch& b) {
  const int rank = l.Rank(b.x);
  if (rank < 2) return l.Unsupported("X needs at least 2 dims");
  Var* x = Widened(l, b.x);
  const DType dtype = x->type.dtype;
  const auto channel = [&](Var* v) { return WithTrailingOnes(l, l.Cast(v, dtype), rank - 2); };
  Var *mean = channel(b.mean), *variance = channel(b.variance);
  if (b.training) {
    std::vector<int64_t> axes = AxisRange(1, rank);
    axes[0] = 0;
    const double momentum = l.GetFloat("momentum");
    const auto flat = [&](Var* v, Var* like) { return l.Cast(l.Reshape(v, {-1}), like->type.dtype); };
    const auto moved = [&](Var* before, Var* now) {
      return l.Binary("elementwise_add", WithNumber(l, "elementwise_mul", before, momentum),
                      WithNumber(l, "elementwise_mul", now, 1 - momentum));
    };
    Var* batch_mean = Reduced(l, "reduce_mean", x, axes, true);
    Var* batch_variance = Reduced(l, "reduce_mean", Map(l, "square", l.Binary("elementwise_sub", x, batch_mean)), axes, true);
    l.Result(b.mean_out, flat(moved(l.Reshape(mean, {-1}), l.Reshape(batch_mean, {-1})), b.mean));
    l.Result(b.variance_out, flat(moved(l.Reshape(variance, {-1}), l.Reshape(batch_variance, {-1})), b.variance));
    l.Result("saved_mean", flat(batch_mean, b.mean));
    l.Result("saved_var", flat(batch_variance, b.variance));
    mean = l.Squeeze(batch_mean, {0});
    variance = l.Squeeze(batch_variance, {0});
  }
  Var* factor = l.Binary("elementwise_mul", channel(b.scale), Map(l, "rsqrt", Epsilon(l, variance)));
  l.Result("Y", l.Cast(Affine(l, l.Binary("elementwise_sub", x, mean), factor, channel(b.bias)), b.x->type.dtype));
}

// With statistics for each element of a sample, as operator sets 1 to 8 allow.
void LowerBatchByElement(Lowering& l, const Batch& b) {
  if (b.training) return l.Unsupported("spatial is 0 in training; the cpu takes the statistics of a batch per channel only");
  Var* x = Widened(l, b.x);
  const auto wide = [&](Var* v) { return l.Cast(v, x->type.dtype); };
  Var* factor = l.Binary("elementwise_mul", wide(b.scale), Map(l, "rsqrt", Epsilon(l, wide(b.variance))));
  l.Result("Y", l.Cast(Affine(l, l.Binary("elementwise_sub", x, wide(b.mean)), factor, wide(b.bias)), b.x->type.dtype));
}

void LowerBatchNormalization(Lowering& l) {
  const Batch b = BatchOf(l);
  const DType dtype = TypeOf(l, b.x);
  const int rank = l.Rank(b.x);
  if (!l.ok()) return;
  if (l.GetInt("spatial") == 0 && l.since() < 9 && rank > 2) return LowerBatchByElement(l, b);
  const bool saves = b.training && l.since() < 14 && (l.WantsResult("saved_mean") || l.WantsResult("saved_var"));
  if (dtype == DType::kF64 || rank > 5 || saves) return LowerBatchBySteps(l, b);
  const auto stat = [&](Var* v) { return l.Cast(v, DType::kF32); };
  std::vector<Lowering::Operand> operands = {
      {"X", b.x}, {"Scale", stat(b.scale)}, {"Bias", stat(b.bias)}, {"Mean", stat(b.mean)}, {"Variance", stat(b.variance)}};
  const float epsilon = static_cast<float>(l.GetFloat("epsilon"));
  if (!b.training) return l.Result("Y", l.Op("batch_norm", std::move(operands), {{"is_test", true}, {"epsilon", epsilon}}, "Y"));
  const std::vector<Var*> out =
      l.Ops("batch_norm", std::move(operands), {{"momentum", static_cast<float>(l.GetFloat("momentum"))}, {"epsilon", epsilon}},
            {"Y", "MeanOut", "VarianceOut"});
  l.Result("Y", out[0]);
  l.Result(b.mean_out, l.Cast(out[1], b.mean->type.dtype));
  l.Result(b.variance_out, l.Cast(out[2], b.variance->type.dtype));
}

// Versions of one type variable take variances and scales to the type of X: what that loses can be seen where they are stored.
AmpClass BatchClass(const Op& op) {
  if (op.GetInt("training_mode") != 0) return AmpClass::kDeny;
  if (DefOf(op.def())->schema->since >= 15) return AmpClass::kInfer;
  for (int slot = 1; slot < 5; ++slot) {
    const Var* var = op.input(slot);
    if (var != nullptr && var->kind != VarKind::kParam && var->kind != VarKind::kConst) return AmpClass::kDeny;
  }
  return AmpClass::kInfer;
}

// The others.

void LowerInstanceNormalization(Lowering& l) {
  Var* x = l.In("input");
  const int rank = l.Rank(x);
  if (rank < 0) return;
  Var *scale = l.In("scale"), *bias = l.In("B");
  const double epsilon = l.GetFloat("epsilon");
  if (TypeOf(l, x) == DType::kF64 || rank > 5) {
    Var* wide = Widened(l, x);
    const auto channel = [&](Var* v) { return WithTrailingOnes(l, Widened(l, v), rank - 2); };
    Var* y = Affine(l, Standardize(l, wide, AxisRange(2, rank), epsilon).y, channel(scale), channel(bias));
    return l.Result("output", l.Cast(y, x->type.dtype));
  }
  l.Result("output", l.Op("instance_norm", {{"X", x}, {"Scale", scale}, {"Bias", bias}}, {{"epsilon", static_cast<float>(epsilon)}}, "Y"));
}

// Whether `scale` has exactly the dims of `x` from `axis` on.
bool CoversRow(const Var* scale, const Var* x, int64_t axis) {
  if (!scale->type.IsStatic() || scale->type.rank() != x->type.rank() - axis) return false;
  for (int i = 0; i < scale->type.rank(); ++i) {
    if (scale->type.dims[i] != x->type.dims[axis + i]) return false;
  }
  return true;
}

void LowerLayerNormalization(Lowering& l) {
  Var* x = l.In("X");
  const int64_t axis = AxisOf(l, x, l.GetInt("axis"));
  if (!l.ok()) return;
  const bool statistics = l.WantsResult("Mean") || l.WantsResult("InvStdDev");
  const Normalized n = LayerNormalized(l, x, l.In("Scale"), l.Has("B") ? l.In("B") : nullptr, axis, l.GetFloat("epsilon"), statistics);
  l.Result("Y", n.y);
  if (!statistics || !l.ok()) return;
  const DType stash = l.GetDType("stash_type", DType::kF32);
  l.Result("Mean", l.Cast(n.mean, stash));
  l.Result("InvStdDev", l.Cast(n.inverse, stash));
}

void LowerRmsNormalization(Lowering& l) {
  Var* x = l.In("X");
  const int64_t axis = AxisOf(l, x, l.GetInt("axis"));
  if (!l.ok()) return;
  const Normalized n = RmsNormalized(l, x, l.In("scale"), axis, l.GetFloat("epsilon"));
  l.Result("Y", n.y);
  if (l.WantsResult("inv_std_var")) l.Result("inv_std_var", l.Cast(n.inverse, l.GetDType("stash_type", DType::kF32)));
}

// Scale or bias of each of `channels`: before operator set 21 it has an entry for a group of them.
Var* PerChannel(Lowering& l, Var* entries, int64_t channels) {
  if (l.since() >= 21) return entries;
  const int64_t each = channels / std::max<int64_t>(l.GetInt("num_groups"), 1);
  return l.Reshape(l.Op("tile", {{"X", l.Unsqueeze(entries, {1})}}, {{"repeat_times", WholeNumbers({1, each})}}), {-1});
}

void LowerGroupNormalization(Lowering& l) {
  Var* x = l.In("X");
  const int64_t channels = l.since() >= 21 ? 0 : DimOf(l, x, 1);
  if (!l.ok()) return;
  Var *scale = PerChannel(l, l.In("scale"), channels), *bias = PerChannel(l, l.In("bias"), channels);
  const int64_t groups = l.GetInt("num_groups");
  const double epsilon = l.GetFloat("epsilon");
  if (TypeOf(l, x) != DType::kF64) {
    return l.Result("Y", l.Op("group_norm", {{"X", x}, {"Scale", scale}, {"Bias", bias}},
                              {{"epsilon", static_cast<float>(epsilon)}, {"groups", groups}}, "Y"));
  }
  const std::optional<std::vector<int64_t>> shape = l.Shape(x);
  if (!shape.has_value()) return;
  const auto channel = [&](Var* v) { return WithTrailingOnes(l, v, static_cast<int64_t>(shape->size()) - 2); };
  Var* y = l.Reshape(Standardize(l, l.Reshape(x, {0, groups, -1}), {2}, epsilon).y, *shape);
  l.Result("Y", Affine(l, y, channel(scale), channel(bias)));
}

void LowerLpNormalization(Lowering& l) {
  Var* x = l.In("input");
  const int64_t axis = l.GetInt("axis"), p = l.GetInt("p");
  if (p != 1 && p != 2) return l.Unsupported("p needs to be 1 or 2");
  Var* wide = Widened(l, x);
  Var* norm = p == 1 ? Reduced(l, "reduce_sum", Map(l, "abs", wide), {axis}, true) : Reduced(l, "frobenius_norm", wide, {axis}, true);
  // Zeros stay zeros.
  norm = WithNumber(l, "elementwise_max", norm, 0x1p-126);
  l.Result("output", l.Cast(l.Binary("elementwise_div", wide, norm), TypeOf(l, x)));
}

void LowerMeanVarianceNormalization(Lowering& l) {
  Var* x = l.In("X");
  const std::vector<int64_t> axes = l.GetInts("axes");
  Var* wide = Widened(l, x);
  Var* centered = l.Binary("elementwise_sub", wide, Reduced(l, "reduce_mean", wide, axes, true));
  Var* deviation = Map(l, "sqrt", Reduced(l, "reduce_mean", Map(l, "square", centered), axes, true));
  l.Result("Y", l.Cast(l.Binary("elementwise_div", centered, WithNumber(l, "elementwise_add", deviation, 1e-9)), TypeOf(l, x)));
}

// X / (bias + alpha / size * s)^beta, where s is the sum of squares over `size` neighbouring channels.
void LowerLrn(Lowering& l) {
  Var* x = l.In("X");
  const int rank = l.Rank(x);
  const int64_t size = l.GetInt("size");
  if (rank < 0) return;
  if (rank < 2 || rank > 4) return l.Unsupported("X needs 2 to 4 dims");
  if (size < 1) return Wrong(l, absl::StrCat("size is ", size, ", needs a positive number"));
  if (TypeOf(l, x) == DType::kF64) return l.Unsupported("there is no cpu kernel for f64");
  Var* wide = Widened(l, x);
  // Channels as the first of the dims that are pooled: [n, 1, c, ...].
  Var* planes = l.Unsqueeze(Map(l, "square", wide), {1});
  if (rank == 2) planes = l.Unsqueeze(planes, {3});
  const int spatial = rank == 4 ? 3 : 2;
  std::vector<int64_t> kernel(spatial, 1), pads(2 * spatial, 0);
  kernel[0] = size;
  pads[0] = (size - 1) / 2;
  pads[1] = size - 1 - pads[0];
  Var* mean = Map(l, spatial == 3 ? "pool3d" : "pool2d", planes,
                  {{"pooling_type", "avg"}, {"ksize", kernel}, {"paddings", pads}, {"exclusive", false}});
  if (rank == 2) mean = l.Squeeze(mean, {3});
  mean = l.Squeeze(mean, {1});
  Var* sum = WithNumber(l, "elementwise_add", WithNumber(l, "elementwise_mul", mean, l.GetFloat("alpha")), l.GetFloat("bias"));
  Var* factor = Map(l, "pow", sum, {{"factor", static_cast<float>(l.GetFloat("beta"))}});
  l.Result("Y", l.Cast(l.Binary("elementwise_div", wide, factor), x->type.dtype));
}

}  // namespace

Normalized LayerNormalized(Lowering& l, Var* x, Var* scale, Var* bias, int64_t axis, double epsilon, bool statistics) {
  const DType dtype = TypeOf(l, x);
  if (l.Rank(x) < 0 || !l.ok()) return {x, x, x};
  Normalized n;
  if (dtype != DType::kF64 && CoversRow(scale, x, axis) && (bias == nullptr || CoversRow(bias, x, axis))) {
    // The native op wants a dim before those that it normalises.
    std::vector<Lowering::Operand> operands = {{"X", axis == 0 ? l.Unsqueeze(x, {0}) : x}, {"Scale", l.Reshape(scale, {-1})}};
    if (bias != nullptr) operands.emplace_back("Bias", l.Reshape(bias, {-1}));
    Var* y = l.Op("layer_norm", std::move(operands),
                  {{"epsilon", static_cast<float>(epsilon)}, {"begin_norm_axis", std::max<int64_t>(axis, 1)}}, "Y");
    n.y = axis == 0 ? l.Squeeze(y, {0}) : y;
    if (!statistics) return n;
  }
  const Standardized s = Standardize(l, Widened(l, x), AxisRange(axis, l.Rank(x)), epsilon);
  if (n.y == nullptr) n.y = l.Cast(Affine(l, s.y, Widened(l, scale), bias == nullptr ? nullptr : Widened(l, bias)), dtype);
  n.mean = s.mean;
  n.inverse = s.inverse;
  return n;
}

Normalized RmsNormalized(Lowering& l, Var* x, Var* scale, int64_t axis, double epsilon) {
  if (l.Rank(x) < 0) return {x, x, x};
  Var* wide = Widened(l, x);
  Var* mean = Reduced(l, "reduce_mean", Map(l, "square", wide), AxisRange(axis, l.Rank(x)), true);
  Normalized n;
  n.inverse = Map(l, "rsqrt", WithNumber(l, "elementwise_add", mean, epsilon));
  Var* y = l.Binary("elementwise_mul", wide, n.inverse);
  n.y = l.Cast(l.Binary("elementwise_mul", y, l.Cast(scale, wide->type.dtype)), TypeOf(l, scale));
  return n;
}

void AddNorm(OnnxOps& ops) {
  ops.Add("BatchNormalization")
      .Like("batch_norm")
      .Weights(WeightUse::kBatchNorm)
      .Amp(AmpClass::kInfer,
           "X and Y may be low; statistics, scale and bias stay fp32 from operator set 15 on, before, they have the type of X, and a "
           "variance may "
           "be beyond 65504 or below 2^-25: denied where they are not stored, and protected where such values are")
      .AmpWhen(&BatchClass)
      .Fp32({"scale", "B", "mean", "var", "input_mean", "input_var", "running_mean", "running_var"})
      .Lower(&LowerBatchNormalization);
  ops.Add("InstanceNormalization")
      .Like("instance_norm")
      .Weights(WeightUse::kInstanceNorm)
      .Amp(AmpClass::kInfer, kRowReason)
      .Lower(&LowerInstanceNormalization)
      .Infer(&InferSameType);
  ops.Add("LayerNormalization")
      .Like("layer_norm")
      .Weights(WeightUse::kLayerNorm)
      .Amp(AmpClass::kInfer, kRowReason)
      .Fp32({"Mean", "InvStdDev"})
      .Lower(&LowerLayerNormalization);
  ops.Add("RMSNormalization")
      .Like("layer_norm")
      .Weights(WeightUse::kLayerNorm)
      .Amp(AmpClass::kInfer, kRowReason)
      .Lower(&LowerRmsNormalization);
  // ONNX Runtime writes it into the default domain.
  ops.Add("SimplifiedLayerNormalization")
      .Like("layer_norm")
      .Weights(WeightUse::kLayerNorm)
      .Amp(AmpClass::kInfer, kRowReason)
      .Fp32({"inv_std_var"})
      .Lower(&LowerRmsNormalization);
  ops.Add("GroupNormalization")
      .Like("group_norm")
      .Weights(WeightUse::kGroupNorm)
      .Amp(AmpClass::kInfer, kRowReason)
      .Lower(&LowerGroupNormalization)
      .Infer(&InferSameType);
  ops.Add("LpNormalization")
      .Amp(AmpClass::kInfer, "the norm is taken in fp32 inside; the result is at most 1, one rounding moves it by at most 2^-12")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .Lower(&LowerLpNormalization)
      .Infer(&InferSameType);
  ops.Add("MeanVarianceNormalization")
      .Amp(AmpClass::kDeny, "the standard's own definition of it has fp32 constants inside: a runtime that expands it refuses other types")
      .Traits({OpTrait::kBounded, OpTrait::kNormalized})
      .Lower(&LowerMeanVarianceNormalization)
      .Infer(&InferSameType);
  ops.Add("LRN")
      .Amp(AmpClass::kInfer, "squares and their sum are taken in fp32 inside; with the usual bias of 1 or more |result| <= |x|")
      .Lower(&LowerLrn)
      .Infer(&InferSameType);
}

}  // namespace ampc::onnx
