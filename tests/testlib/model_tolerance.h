// How far the outputs of models of the tests may lie from what the real Paddle or ONNX Runtime computes in fp32, from where the product has
// one tolerance for all models (runtime/compare/verdict.h).
#pragma once

#include <string_view>

#include "graph/base/dtype.h"
#include "runtime/compare/verdict.h"

namespace ampc::testing {

// How far a model's output may lie from the real Paddle's in fp32: the largest difference over the output's largest value, and the smallest
// cosine. Five times what emulations of conversions measure for the same models. Of rec in bf16, whose 8 bits move a probability at a
// border between two characters by most of itself, the cosine says more. cls is so sure of its answers that most of an error vanishes. In
// the small models of tests/golden/models the roundings of ten to twenty layers come together: 2 to 6 units of the low type are measured,
// 16 allowed, a part of what the product lets pass.
struct ModelTolerance {
  double max_rel = 0, cosine = 1;
};

constexpr ModelTolerance ModelToleranceFor(std::string_view model, DType dtype) {
  const double passes = ToleranceOfOutputs(dtype).of_largest;
  if (dtype == DType::kF32) return {passes, 0.99999999};
  if (model == "cls") return {1e-5, 0.99999999};
  if (model != "rec") return dtype == DType::kF16 ? ModelTolerance{passes / 4, 0.99999} : ModelTolerance{passes / 2, 0.999};
  return dtype == DType::kF16 ? ModelTolerance{5e-2, 0.9999} : ModelTolerance{0.9, 0.98};
}

// The largest difference over the fetch's largest value. fp32: another order of sums; basic_pitch takes the logarithm of small powers. fp16
// and bf16: five times what the same models lose where nothing but their products and convolutions is rounded to that type (basic_pitch:
// behind the logarithm). Classifiers that are sure of their answer lose least.
constexpr double OnnxModelTolerance(std::string_view model, DType dtype) {
  if (dtype == DType::kF32) return model == "basic_pitch" ? 5e-4 : ToleranceOfOutputs(dtype).of_largest;
  const bool half = dtype == DType::kF16;
  if (model == "ppocrv4_rec_onnx") return half ? 5e-2 : 5e-1;
  if (model == "ppocr_cls_onnx") return half ? 1e-7 : 1.5e-6;
  if (model == "magika") return half ? 1e-4 : 1.5e-3;
  if (model == "silero_vad" || model == "silero_vad_ifless") return half ? 5e-3 : 1e-1;
  if (model == "basic_pitch") return half ? 5e-3 : 8e-2;
  if (model == "minilm") return half ? 2.5e-2 : 4e-1;
  return 0;  // no such model: nothing but equal passes
}

// The same of a converted model of a few products and what is between them, against itself in fp32: a product's operands and its result are
// rounded to 11 or 8 bits, three times in a row.
constexpr double FieldModelTolerance(DType dtype) { return dtype == DType::kF16 ? 5e-3 : 4e-2; }

// The same of the ONNX standard's own backend tests, converted, against their recorded outputs: one operator, or a few, whose operands and
// result are rounded once each.
constexpr double ConvertedConformanceTolerance(DType dtype) { return dtype == DType::kF16 ? 4e-3 : 3.2e-2; }

}  // namespace ampc::testing
