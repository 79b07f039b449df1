// The options of the optimizers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "passes/train/gradient_clip.h"
#include "passes/train/learning_rate.h"

namespace ampc {

// Which parameters, by name: all, those of a list, or those of a predicate.
class ParamFilter {
 public:
  ParamFilter() = default;
  ParamFilter(std::vector<std::string> names);
  ParamFilter(std::function<bool(absl::string_view)> predicate) : predicate_(std::move(predicate)) {}
  static ParamFilter Except(std::vector<std::string> names);
  bool operator()(absl::string_view param) const { return predicate_ == nullptr || predicate_(param); }

 private:
  std::function<bool(absl::string_view)> predicate_;
};

struct SgdOptions {
  LearningRate lr = 0.001;
  bool multi_precision = false;
  double weight_decay = 0;  // L2: gradient += weight_decay * param
  ParamFilter decay = {};   // which params decay
  GradientClip clip = {};
};
struct MomentumOptions {
  LearningRate lr = 0.001;
  double momentum = 0.9;
  bool nesterov = false;
  bool multi_precision = false;
  double weight_decay = 0;  // L2, of the master weight where there is one
  ParamFilter decay = {};
  double rescale_grad = 1;
  GradientClip clip = {};
};
struct AdamOptions {
  LearningRate lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool multi_precision = false;
  double weight_decay = 0;  // L2
  ParamFilter decay = {};
  GradientClip clip = {};
};
struct AdamWOptions {
  LearningRate lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool multi_precision = false;
  double weight_decay = 0.01;  // decoupled: param *= 1 - lr * weight_decay
  ParamFilter decay = {};
  std::function<double(absl::string_view param)> lr_ratio = {};  // factor of the learning rate of a param
  GradientClip clip = {};
};
struct LambOptions {
  LearningRate lr = 0.001;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
  bool multi_precision = false;
  double weight_decay = 0.01;  // part of the step
  ParamFilter decay = {};
  bool always_adapt = false;
  GradientClip clip = {};
};

// The options that every optimizer has, for command lines; absent: the optimizer's default.
struct CommonOptimizerOptions {
  LearningRate lr = 0.001;
  bool multi_precision = false;
  std::optional<double> weight_decay = {};
  GradientClip clip = {};
};

}  // namespace ampc
