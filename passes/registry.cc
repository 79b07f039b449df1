// The list of all passes: passes/all_passes.inc.
#include "passes/amp/cast/amp_verify.h"
#include "passes/amp/cast/cast_model.h"
#include "passes/amp/cast/cast_parameters.h"
#include "passes/amp/cast/remove_amp_cast.h"
#include "passes/amp/cast/round_batch_norm.h"
#include "passes/amp/decide/amp_decide.h"
#include "passes/amp/decide/fp16_guard.h"
#include "passes/amp/decide/measure.h"
#include "passes/amp/decide/use_plan.h"
#include "passes/amp/protect/protect.h"
#include "passes/amp/training/verify_training.h"
#include "passes/autodiff/append_backward.h"
#include "passes/cleanup/dedup.h"
#include "passes/cleanup/drop_dead.h"
#include "passes/cleanup/drop_identity.h"
#include "passes/cleanup/fold_casts.h"
#include "passes/cleanup/fold_constants.h"
#include "passes/cleanup/for_inference.h"
#include "passes/cleanup/infer_types.h"
#include "passes/cleanup/prune.h"
#include "passes/fusion/fuse_activation.h"
#include "passes/fusion/fuse_bias_act.h"
#include "passes/fusion/fuse_conv_affine.h"
#include "passes/fusion/fuse_conv_bn.h"
#include "passes/fusion/fuse_elementwise.h"
#include "passes/fusion/fuse_layer_norm.h"
#include "passes/fusion/fuse_linear.h"
#include "passes/fusion/fuse_quantized.h"
#include "passes/fusion/fuse_scale.h"
#include "passes/onnx/lower_onnx.h"
#include "passes/onnx/upgrade_opset.h"
#include "passes/parallel/bucket_gradients.h"
#include "passes/parallel/data_parallel.h"
#include "passes/pass.h"
#include "passes/train/group_updates.h"
#include "passes/train/unscale_in_update.h"

namespace ampc {

const PassRegistry& Passes() {
  static const PassRegistry* const kRegistry = [] {
    auto* registry = new PassRegistry;
    // A duplicate leaves the first entry; the registry test compares the number of entries with the list.
#define AMPC_PASS(function) registry->Add(function()).IgnoreError();
#include "passes/all_passes.inc"
#undef AMPC_PASS
    return registry;
  }();
  return *kRegistry;
}

}  // namespace ampc
