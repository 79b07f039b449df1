// What Decorate may be told, and what it comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/dtype.h"
#include "passes/amp/decide/lists.h"
#include "passes/amp/training/loss_scaling.h"

namespace ampc::amp {

using ampc::AutoMixedPrecisionLists;

struct DecorateOptions {
  // The scale of the loss to begin with, by default 65536, and whether it moves, by default with f16 only. bf16 needs no scaling: a
  // moving scale is turned off with a note, and the scale is 1 unless a fixed one is given.
  std::optional<double> init_loss_scaling = {};
  std::optional<bool> use_dynamic_loss_scaling = {};
  bool use_pure_fp16 = false;               // level O2, within fp16_guards unless use_fp16_guard is false
  std::optional<bool> use_fp16_guard = {};  // O2: only ops in an fp16_guard become low; by default what use_pure_fp16 is
  int incr_every_n_steps = 2000;
  int decr_every_n_nan_or_inf = 1;
  double incr_ratio = 2, decr_ratio = 0.5;
  double min_loss_scaling = 1, max_loss_scaling = 0;  // 0: no upper bound
  AutoMixedPrecisionLists lists = {};
  std::string level = {};  // O0, O1 (the default), O2; OD with a Paddle mode
  DType dtype = DType::kF16;
  bool master_weight = true;  // the optimizer gets multi_precision; false: as the optimizer has it
  // O2: low gradients are cast to fp32 before they are unscaled, so that one below the low type's range is not lost. By default where the
  // loss is scaled, but not with a Paddle mode.
  std::optional<bool> master_grad = {};
  bool use_promote = false;     // an op outside the lists is low only if no operand is fp32
  std::string compat = "own";   // paddle-2.0, paddle-2.4, paddle-2.6: the program that this release makes
  std::string target = "cuda";  // whose kernels decide what may be low, without `compat`
};

// The numbers of Paddle's first form of decorate (32768, 1000, 2, 2.0, 0.8, dynamic); the optimizer keeps its multi_precision.
DecorateOptions LegacyPaddle();

struct AmpSettings {
  std::string level = "O1";
  bool guard = false;
  bool force_multi_precision = true;
  bool master_grad = false;
  LossScalingOptions scaling;
  std::vector<std::string> notes;  // what was asked for and is not done, one sentence each
};

// Usage errors: an unknown level, use_pure_fp16 beside another level than O2, lists that contradict each other or name unknown ops.
absl::StatusOr<AmpSettings> Resolve(const DecorateOptions& options);

}  // namespace ampc::amp
