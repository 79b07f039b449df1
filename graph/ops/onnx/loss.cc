// Losses of classification: scores [n, classes, ...] against labels [n, ...].
#include <optional>
#include <string>
#include <utility>

#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/steps.h"

namespace ampc::onnx {
namespace {

// The weight of each element, [n, 1, ...]: that of its class, 0 if its label is to be ignored. Null if all count 1.
Var* Counts(Lowering& l, Var* logs, Var* labels, Var* weight, Var* valid) {
  Var* counts = valid == nullptr ? nullptr : l.Cast(valid, logs->type.dtype);
  if (weight == nullptr) return counts;
  Var* spread = l.Op("expand_as_v2", {{"X", WithTrailingOnes(l, l.Cast(weight, logs->type.dtype), l.Rank(logs) - 2)}, {"Y", logs}});
  Var* own = l.Op("take_along_axis", {{"Input", spread}, {"Index", labels}}, {{"Axis", 1}}, "Result");
  return counts == nullptr ? own : l.Binary("elementwise_mul", own, counts);
}

// The loss of log-probabilities `logs`, computed in their type.
Var* Loss(Lowering& l, Var* logs, Var* target, Var* weight) {
  const std::string reduction = l.GetString("reduction");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    l.Unsupported("reduction is '" + reduction + "', needs none, sum or mean");
    return logs;
  }
  Var* labels = l.Unsqueeze(l.Cast(target, DType::kI64), {1});
  Var* valid = nullptr;
  if (l.HasAttr("ignore_index")) {
    // An ignored label may be none of the classes: it is read as class 0.
    valid = WithNumber(l, "not_equal", labels, static_cast<double>(l.GetInt("ignore_index")));
    labels = l.Binary("elementwise_mul", labels, l.Cast(valid, DType::kI64));
  }
  Var* own = l.Op("take_along_axis", {{"Input", logs}, {"Index", labels}}, {{"Axis", 1}}, "Result");
  Var* loss = WithNumber(l, "elementwise_mul", own, -1);
  Var* counts = Counts(l, logs, labels, weight, valid);
  if (counts != nullptr) {
    // A score of -inf that is ignored is no NaN.
    if (valid != nullptr) loss = Select(l, valid, loss, Filled(l, loss, 0, loss->type.dtype));
    loss = l.Binary("elementwise_mul", loss, counts);
  }
  if (reduction == "none") return l.Squeeze(loss, {1});
  if (reduction == "mean" && counts == nullptr) return Reduced(l, "reduce_mean", loss, {}, false);
  Var* sum = Reduced(l, "reduce_sum", loss, {}, false);
  return reduction == "sum" ? sum : l.Binary("elementwise_div", sum, Reduced(l, "reduce_sum", counts, {}, false));
}

void LowerNegativeLogLikelihood(Lowering& l) {
  Var* x = l.In("input");
  if (l.Rank(x) < 0) return;
  Var* loss = Loss(l, Widened(l, x), l.In("target"), l.Has("weight") ? l.In("weight") : nullptr);
  l.Result("loss", l.Cast(loss, TypeOf(l, x)));
}

void LowerSoftmaxCrossEntropy(Lowering& l) {
  Var* x = l.In("scores");
  if (l.Rank(x) < 0) return;
  Var* logs = Map(l, "log_softmax", Widened(l, x), {{"axis", 1}});
  Var* loss = Loss(l, logs, l.In("labels"), l.Has("weights") ? l.In("weights") : nullptr);
  l.Result("output", l.Cast(loss, TypeOf(l, x)));
  l.Result("log_prob", l.Cast(logs, TypeOf(l, x)));
}

}  // namespace

void AddLoss(OnnxOps& ops) {
  ops.Add("NegativeLogLikelihoodLoss")
      .Amp(AmpClass::kDeny, "a sum over the batch and over the weights leaves f16 above 65504, and a mean of logarithms loses small steps")
      .Traits({OpTrait::kLoss})
      .Lower(&LowerNegativeLogLikelihood);
  ops.Add("SoftmaxCrossEntropyLoss").Like("softmax_with_cross_entropy").Lower(&LowerSoftmaxCrossEntropy);
}

}  // namespace ampc::onnx
