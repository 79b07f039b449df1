#include "runtime/train/decorate_options.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::amp {
namespace {

absl::StatusOr<std::string> ResolveLevel(const DecorateOptions& o) {
  const std::string level = absl::AsciiStrToUpper(o.level);
  if (level.empty()) return o.use_pure_fp16 ? "O2" : "O1";
  if (level != "O0" && level != "OD" && level != "O1" && level != "O2") {
    return UsageError(absl::StrCat("level is '", o.level, "', needs O0, OD, O1 or O2"));
  }
  if (level == "OD" && o.compat == "own") return UsageError("level is OD, which exists with a Paddle mode only; needs O0, O1 or O2");
  if (o.use_pure_fp16 && level != "O2")
    return UsageError(absl::StrCat("use_pure_fp16 stands beside level ", level, ", needs O2 or no level"));
  return level;
}

}  // namespace

DecorateOptions LegacyPaddle() {
  DecorateOptions o;
  o.init_loss_scaling = 32768;
  o.use_dynamic_loss_scaling = true;
  o.incr_every_n_steps = 1000;
  o.decr_every_n_nan_or_inf = 2;
  o.decr_ratio = 0.8;
  o.master_weight = false;
  return o;
}

absl::StatusOr<AmpSettings> Resolve(const DecorateOptions& o) {
  AMPC_RETURN_IF_ERROR(o.lists.Check());
  if (!IsLowPrecision(o.dtype)) return UsageError(absl::StrCat("dtype is ", Name(o.dtype), ", needs f16 or bf16"));
  AmpSettings out;
  AMPC_ASSIGN_OR_RETURN(out.level, ResolveLevel(o));
  out.guard = out.level == "O2" && o.use_fp16_guard.value_or(o.use_pure_fp16);
  out.force_multi_precision = o.master_weight;
  LossScalingOptions& s = out.scaling;
  const bool bf16 = o.dtype == DType::kBF16;
  s.init = o.init_loss_scaling.value_or(bf16 && o.compat == "own" ? 1 : 65536);
  s.dynamic = o.use_dynamic_loss_scaling.value_or(!bf16);
  if (bf16 && s.dynamic) {
    s.dynamic = false;
    s.init = 1;
    out.notes = std::vector<std::string>(1, "bf16 has the range of fp32: use_dynamic_loss_scaling is off, and the loss is not scaled");
  }
  s.incr_every_n_steps = o.incr_every_n_steps;
  s.decr_every_n_nan_or_inf = o.decr_every_n_nan_or_inf;
  s.incr_ratio = o.incr_ratio;
  s.decr_ratio = o.decr_ratio;
  s.floor = o.min_loss_scaling;
  s.cap = o.max_loss_scaling;
  out.master_grad = out.level == "O2" && o.master_grad.value_or(o.compat == "own" && (s.dynamic || s.init != 1));
  return out;
}

}  // namespace ampc::amp
