// The standard pipelines: straight lists with a reason per line. A conversion's are in runtime/convert.
#pragma once

#include "passes/pipeline.h"

namespace ampc {

// Takes a conversion back. A program without marks of one is taken for one that another tool converted; without `widen_unmarked` it stays
// as it is.
Pipeline StripPipeline(bool widen_unmarked = true);

struct PlanOptions {
  bool fuse = true;                // false: every op rounds its own result (--strict-rounding)
  bool linear = false;             // for a device: linear layers of a training step and their gradients, which then round less often
  bool attention = false;          // products around a softmax in one op, whose scores are not rounded
  bool products = false;           // transposed convolutions as products, where their windows lie side by side; pointwise ones of what is
                                   // enlarged before it is
  bool elementwise = false;        // element-wise ops in one sweep,
  bool excess = false;             // whose results keep what float32 computed; else each is still rounded
  std::string quantized = "none";  // what of quantised arithmetic the target has kernels for, passes/onnx/lower_onnx.h
  bool group_updates = false;      // for a device: updates of all parameters in one launch
  bool bucket_gradients = false;   // for the devices of a job: exchanges overlap with the backward part
};
// Clean-up for execution; what it drops is not for export.
Pipeline PlanPipeline(const PlanOptions& options = {});

}  // namespace ampc
