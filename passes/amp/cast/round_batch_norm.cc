#include "passes/amp/cast/round_batch_norm.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/host_values.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "passes/amp/cast/joint_rounding.h"
#include "passes/amp/decide/decision.h"
#include "passes/amp/protect/stored_losses.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"

namespace ampc {
namespace {

constexpr int kVectors = 4;  // scale, bias, mean, variance: the operands behind X, in every version

using Vectors = std::array<std::vector<float>, kVectors>;

bool IsBatchNormInference(const Op& op) {
  return onnx::TypeName(op.def()) == "BatchNormalization" && op.def().inputs.size() == kVectors + 1 && op.outputs().size() == 1 &&
         op.GetInt("training_mode", 0) == 0 && op.GetInt("is_test", 1) != 0;
}

// A stored f32 vector that a pending cast retypes.
bool IsCastVector(const Var& var) {
  return IsStored(var) && IsRetyped(var) && IsLowPrecision(var.type.dtype) && var.weight != nullptr && var.weight->dtype == DType::kF32 &&
         var.weight->transforms.size() == 1 && var.weight->transforms[0].to == var.type.dtype;
}

NormChannel ChannelOf(const Vectors& v, size_t i) { return {v[0][i], v[1][i], v[2][i], v[3][i]}; }

// Rounds the vectors of one op.
class BatchNormRounder {
 public:
  BatchNormRounder(const UseDef& uses, const Op& op) : uses_(uses), op_(op) {}

  absl::StatusOr<bool> Run() {
    if (!Read()) return false;
    Vectors joint = exact_;
    bool changed = false;
    const auto epsilon = static_cast<float>(op_.GetFloat("epsilon"));
    for (size_t i = 0; i < exact_[0].size(); ++i) {
      const NormChannel alone = ChannelOf(alone_, i);
      const NormChannel c = RoundJointly(ChannelOf(exact_, i), alone, {retyped_[0], retyped_[1], retyped_[2], retyped_[3]}, epsilon, low_);
      if (c == alone) continue;
      changed = true;
      for (int k = 0; k < kVectors; ++k) joint[k][i] = std::array{c.scale, c.bias, c.mean, c.variance}[k];
    }
    for (int k = 0; changed && k < kVectors; ++k) {
      if (retyped_[k]) AMPC_RETURN_IF_ERROR(Store(joint[k], *op_.input(k + 1)));
    }
    return changed;
  }

 private:
  // Whether there is something to do, and all of it is known.
  bool Read() {
    for (int k = 0; k < kVectors; ++k) {
      const Var* var = op_.input(k + 1);
      if (var == nullptr || !IsStored(*var) || uses_.num_writers(*var) > 0) return false;
      retyped_[k] = var->type.dtype != DType::kF32;
      if (retyped_[k] && (!IsCastVector(*var) || !uses_.single_use(*var))) return false;
      if (retyped_[k]) low_ = var->type.dtype;
      exact_[k] = OriginalFloats(*var);
      if (exact_[k].empty() || exact_[k].size() != exact_[0].size() || !var->type.IsStatic()) return false;
      alone_[k] = exact_[k];
      if (!retyped_[k]) continue;
      const absl::StatusOr<HostTensor> value = LoadWeight(*var->weight, var->type.dims);
      if (!value.ok()) return false;  // a value is refused: whoever writes the weight says so
      alone_[k] = FloatsOf(*value).value_or(std::vector<float>());
      if (alone_[k].size() != exact_[k].size()) return false;
    }
    return low_ != DType::kInvalid;
  }

  static absl::Status Store(const std::vector<float>& values, Var& var) {
    auto ref = std::make_unique<WeightRef>();
    ref->source = WeightBuffer(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    ref->bytes = values.size() * sizeof(float);
    ref->dtype = DType::kF32;
    ref->transforms = var.weight->transforms;
    if (var.literal != nullptr) {
      AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(*ref, var.literal->dims()));
      var.literal = std::make_shared<const HostTensor>(std::move(value));
    }
    var.weight = std::move(ref);
    return absl::OkStatus();
  }

  const UseDef& uses_;
  const Op& op_;
  std::array<bool, kVectors> retyped_ = {};
  DType low_ = DType::kInvalid;
  Vectors exact_, alone_;
};

absl::StatusOr<bool> RoundBatchNorms(Program& program) {
  std::vector<const Op*> norms;
  ForEachOp(program, [&norms](const Op& op) {
    if (IsBatchNormInference(op)) norms.push_back(&op);
  });
  if (norms.empty()) return false;
  const UseDef uses(program);
  bool changed = false;
  for (const Op* op : norms) {
    AMPC_ASSIGN_OR_RETURN(const bool moved, BatchNormRounder(uses, *op).Run());
    changed = changed || moved;
  }
  return changed;
}

}  // namespace

PassInfo RoundBatchNormPass() {
  return SimplePass("round-batch-norm", "rounds the stored vectors of a BatchNormalization together",
                    [](PassContext&, Program& program) { return RoundBatchNorms(program); });
}

}  // namespace ampc
