// Operators that draw random numbers, and Dropout.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

constexpr const char* kRandomReason = "makes the type the program asks for; draws keep their bits";

// The native ops take 0 as none given: their numbers then depend on the name of the result.
int64_t SeedOf(const Lowering& l) {
  if (!l.HasAttr("seed")) return 0;
  const double seed = l.GetFloat("seed") + static_cast<double>(l.GetInt("seed"));  // a float, for Dropout an int: the other reads as 0
  return std::isfinite(seed) ? static_cast<int64_t>(std::fmod(seed, 0x1p31)) : 0;  // infinite or NaN: as without one
}

// Random numbers of `type` with the shape of `like`.
Var* Draw(Lowering& l, const char* type, Var* like, Lowering::Attrs attrs, DType dtype) {
  attrs.push_back({"dtype", dtype});
  attrs.push_back({"seed", SeedOf(l)});
  std::vector<Lowering::Operand> operands;
  if (like->type.IsStatic()) {
    attrs.push_back({"shape", std::vector<int64_t>(like->type.dims.begin(), like->type.dims.end())});
  } else {
    operands.emplace_back("ShapeTensor", l.Op("shape", {{"Input", like}}));
  }
  return l.Op(type, std::move(operands), std::move(attrs));
}

Var* DrawUnit(Lowering& l, Var* like, DType dtype) { return Draw(l, "uniform_random", like, {{"min", 0.0f}, {"max", 1.0f}}, dtype); }

Lowering::Attrs NormalAttrs(const Lowering& l) {
  return {{"mean", static_cast<float>(l.GetFloat("mean"))}, {"std", static_cast<float>(l.GetFloat("scale"))}};
}
Lowering::Attrs UniformAttrs(const Lowering& l) {
  return {{"min", static_cast<float>(l.GetFloat("low"))}, {"max", static_cast<float>(l.GetFloat("high"))}};
}

// The type that the attribute dtype names, else that of `like`.
DType AskedType(Lowering& l, const Var* like) {
  const DType asked = l.GetDType("dtype", DType::kInvalid);
  return asked != DType::kInvalid ? asked : TypeOf(l, like);
}

void LowerShaped(Lowering& l, const char* type, Lowering::Attrs attrs) {
  attrs.push_back({"shape", l.GetInts("shape")});
  attrs.push_back({"dtype", l.GetDType("dtype", DType::kF32)});
  attrs.push_back({"seed", SeedOf(l)});
  l.Result("output", l.Op(type, {}, std::move(attrs)));
}

void LowerRandomNormal(Lowering& l) { LowerShaped(l, "gaussian_random", NormalAttrs(l)); }
void LowerRandomUniform(Lowering& l) { LowerShaped(l, "uniform_random", UniformAttrs(l)); }
void LowerRandomNormalLike(Lowering& l) {
  Var* like = l.In("input");
  l.Result("output", Draw(l, "gaussian_random", like, NormalAttrs(l), AskedType(l, like)));
}
void LowerRandomUniformLike(Lowering& l) {
  Var* like = l.In("input");
  l.Result("output", Draw(l, "uniform_random", like, UniformAttrs(l), AskedType(l, like)));
}

void LowerBernoulli(Lowering& l) {
  Var* p = l.In("input");
  const DType dtype = AskedType(l, p);
  Var* wide = Widened(l, p);
  l.Result("output", l.Cast(l.Binary("less_than", DrawUnit(l, p, wide->type.dtype), wide), dtype));
}

// The largest of logits with noise of Gumbel's distribution is drawn with the softmax of the logits as probability.
void LowerMultinomial(Lowering& l) {
  Var* logits = Widened(l, l.In("input"));
  const std::optional<std::vector<int64_t>> shape = l.Shape(logits);
  if (!shape.has_value()) return;
  if (shape->size() != 2) return l.Unsupported("input needs 2 dims");
  const std::vector<int64_t> dims = {(*shape)[0], l.GetInt("sample_size"), (*shape)[1]};
  const DType dtype = TypeOf(l, logits);
  Var* u = l.Op("uniform_random", {}, {{"shape", dims}, {"min", 0.0f}, {"max", 1.0f}, {"dtype", dtype}, {"seed", SeedOf(l)}});
  Var* noise = Map(l, "log", WithNumber(l, "elementwise_mul", Map(l, "log", u), -1));
  Var* noisy = l.Binary("elementwise_sub", l.Unsqueeze(logits, {1}), noise);
  l.Result("output", Map(l, "arg_max", noisy, {{"axis", 2}, {"dtype", l.GetDType("dtype", DType::kI32)}}));
}

void LowerDropout(Lowering& l) {
  Var* x = l.In("data");
  const DType dtype = TypeOf(l, x);
  Var* training = l.Has("training_mode") ? l.In("training_mode") : nullptr;
  const std::optional<double> known = training == nullptr ? 0.0 : l.Float(training);
  if (known == 0.0 && (l.since() >= 7 || l.GetInt("is_test") != 0)) {
    l.Result("output", Map(l, "assign", x));
    if (l.WantsResult("mask")) l.Result("mask", Filled(l, x, 1, l.since() < 10 ? dtype : DType::kBool));
    return;
  }
  if (training == nullptr) return l.Unsupported("training needs operator set 12");
  // Kept where a draw reaches the ratio, and divided by the part that is kept; a ratio of 0 outside of training keeps all.
  Var* wide = Widened(l, x);
  const DType type = wide->type.dtype;
  Var* ratio = l.Has("ratio") ? l.Cast(l.In("ratio"), type) : l.ConstScalar(0.5, type);
  ratio = l.Binary("elementwise_mul", ratio, l.Cast(training, type));
  Var* keep = l.Binary("greater_equal", DrawUnit(l, x, type), ratio);
  Var* kept = l.Binary("elementwise_div", wide, l.Binary("elementwise_sub", l.ConstScalar(1, type), ratio));
  l.Result("output", l.Cast(Select(l, keep, kept, Filled(l, wide, 0, type)), dtype));
  l.Result("mask", keep);
}

}  // namespace

void AddRandom(OnnxOps& ops) {
  ops.Add("RandomNormal").Amp(AmpClass::kNever, kRandomReason).Impure().Lower(&LowerRandomNormal);
  ops.Add("RandomUniform").Amp(AmpClass::kNever, kRandomReason).Impure().Lower(&LowerRandomUniform);
  ops.Add("RandomNormalLike")
      .Amp(AmpClass::kNever, kRandomReason)
      .AsIs({"input"})
      .Use("mean", AttrUse::kFills)
      .Use("scale", AttrUse::kFills)
      .Impure()
      .Lower(&LowerRandomNormalLike);
  ops.Add("RandomUniformLike")
      .Amp(AmpClass::kNever, kRandomReason)
      .AsIs({"input"})
      .Use("low", AttrUse::kFills)
      .Use("high", AttrUse::kFills)
      .Impure()
      .Lower(&LowerRandomUniformLike);
  ops.Add("Bernoulli").Amp(AmpClass::kDeny, "a probability below 2^-25 is 0 in f16, and so are its draws").Impure().Lower(&LowerBernoulli);
  ops.Add("Multinomial")
      .Amp(AmpClass::kDeny, "logarithms of probabilities near -1000 are off by 0.25 in f16: draws move to other classes")
      .Impure()
      .Lower(&LowerMultinomial);
  ops.Add("Dropout").Like("dropout").Fp32({"ratio"}).Impure().Lower(&LowerDropout);
}

}  // namespace ampc::onnx
