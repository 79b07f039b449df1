// The standard pipelines: straight lists with a reason per line.
#pragma once

#include <string>
#include <vector>

#include "graph/base/dtype.h"
#include "passes/pipeline.h"

namespace ampc {

struct ConvertOptions {
  std::string level = "O2";  // O0, O1, O2; OD with a Paddle mode
  DType dtype = DType::kF16;
  std::string mode = "own";  // or paddle-2.0, paddle-2.4, paddle-2.6
  bool guard = false;
  bool promote = false;
  bool low_io = false;  // feeds and fetches that low ops touch become low
  std::vector<std::string> keep_io, low_io_names;  // by name: never, always
  std::vector<std::string> white_list, black_list, black_vars;
  std::string classes = {};                   // rules, passes/amp/decide/lists.h
  std::vector<std::string> include, exclude;  // selectors, passes/amp/select/selector.h
  std::string on_overflow = "clamp";  // clamp, keep, error
  std::string on_tiny = "subnormal";  // subnormal, flush, keep
};
// fp32 program -> mixed precision program, by reversible edits only: types, attributes, inserted casts, weights. O0 is empty.
Pipeline ConvertPipeline(const ConvertOptions& options);

// Takes a conversion back. A program without marks of one is taken for one that another tool converted; without `widen_unmarked` it stays as it is.
Pipeline StripPipeline(bool widen_unmarked = true);

struct PlanOptions {
  bool fuse = true;            // false: every op rounds its own result (--strict-rounding)
  bool linear = false;         // for a device: linear layers of a training step and their gradients, which then round less often
  bool elementwise = false;    // for a device: element-wise ops in one sweep, each still rounding its own result
  std::string quantized = "none";  // what of quantised arithmetic the target has kernels for, passes/onnx/lower_onnx.h
  bool group_updates = false;  // for a device: updates of all parameters in one launch
  bool bucket_gradients = false;  // for the devices of a job: exchanges overlap with the backward part
};
// Clean-up for execution; what it drops is not for export.
Pipeline PlanPipeline(const PlanOptions& options = {});

}  // namespace ampc
