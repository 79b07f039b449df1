// How far the fetches of real ONNX models may lie from what ONNX Runtime computes in fp32: the part of tolerance.h's table that is about
// them.
#pragma once

#include <string_view>

#include "graph/base/dtype.h"

namespace ampc::testing {

// The largest difference over the fetch's largest value. fp32: another order of sums; basic_pitch takes the logarithm of small powers. fp16
// and bf16: five times what the same models lose where nothing but their products and convolutions is rounded to that type (basic_pitch:
// behind the logarithm). Classifiers that are sure of their answer lose least.
constexpr double OnnxModelTolerance(std::string_view model, DType dtype) {
  if (dtype == DType::kF32) return model == "basic_pitch" ? 5e-4 : 1e-4;
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
