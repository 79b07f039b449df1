// Which of oneDNN's implementations computes a convolution. Only kernels/lib includes this.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/lib/conv.h"
#include "kernels/lib/onednn_primitive.h"

namespace ampc::onednn {

struct ConvDescs {
  MemoryDesc in, filter, bias, out;                  // as the primitive takes them
  DType type = DType::kF32, out_type = DType::kF32;  // of operand and filter; of result and residual
  bool sum = false;                                  // the result's memory holds the residual before the run
};

struct ConvChoice {
  PrimitiveDesc pd;
  ConvDescs descs;
};

// Of `s`, a part of `whole` or all of it: spec.implementation where that takes the shape, else the one that a table made from measurements
// says. Unimplemented where oneDNN has none.
absl::StatusOr<ConvChoice> ChooseConv(const ConvSpec& s, const ConvSpec& whole);

// What ConvSpec::implementation may be: the first is what ChooseConv takes by itself. Reference implementations are left out.
absl::StatusOr<std::vector<std::string>> ConvImplementations(const ConvSpec& s);

// All that the time of a convolution depends on, except the number of threads: a key of KernelChoices.
std::string ShapeText(const ConvSpec& s, bool constant_filter);

}  // namespace ampc::onednn
