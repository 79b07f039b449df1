#include "kernels/evaluator.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/size.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "kernels/compute.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/storage.h"

namespace ampc {
namespace {

// Operand types and values as given, for inference.
class OperandEnv final : public TypeEnv {
 public:
  OperandEnv(const Op& op, absl::Span<const HostTensor* const> operands) : op_(op), operands_(operands) {
    for (const HostTensor* t : operands) types_.push_back(TensorType(t->dtype(), Dims(t->dims().begin(), t->dims().end())));
  }
  const TensorType& TypeOf(const Var& var) const override {
    const int i = Find(var);
    return i < 0 ? var.type : types_[i];
  }
  const HostTensor* ValueOf(const Var& var) const override {
    const int i = Find(var);
    return i < 0 ? nullptr : operands_[i];
  }
  bool PlansMemory() const override { return true; }
  int64_t MostBytesOfResult() const override { return MostBytes(); }

 private:
  int Find(const Var& var) const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (op_.inputs()[i] == &var) return static_cast<int>(i);
    }
    return -1;
  }
  const Op& op_;
  absl::Span<const HostTensor* const> operands_;
  std::vector<TensorType> types_;
};

absl::StatusOr<std::vector<TensorDesc>> ResultDescs(const Op& op, absl::Span<const HostTensor* const> operands) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<std::optional<TensorType>> types, InferOp(op, OperandEnv(op, operands)));
  std::vector<TensorDesc> descs;
  for (size_t i = 0; i < op.outputs().size(); ++i) {
    const TensorType& type = i < types.size() && types[i].has_value() ? *types[i] : op.outputs()[i]->type;
    if (!type.IsStatic() || type.kind != TypeKind::kTensor) {
      return UnsupportedError(
          absl::StrCat(Describe(op), ": result ", i, " has the type ", ToString(type), ", evaluation needs a known shape"));
    }
    descs.push_back({type.dtype, type.dims});
  }
  return descs;
}

class CpuEvaluator final : public Evaluator {
 public:
  absl::StatusOr<std::vector<HostTensor>> Evaluate(const Op& op, absl::Span<const HostTensor* const> operands) const override {
    const KernelEntry* entry = CpuKernels().Find(op.type());
    if (entry == nullptr) return UnsupportedError(absl::StrCat(Describe(op), ": there is no cpu kernel for it"));
    if (operands.size() != op.inputs().size()) {
      return InternalError(absl::StrCat(Describe(op), ": evaluated with ", operands.size(), " operands, needs ", op.inputs().size()));
    }
    std::vector<HostTensor> widened;
    widened.reserve(operands.size());
    KernelSpec spec{&op, {}, {}, {}, 1};
    for (const HostTensor* t : operands) {
      spec.inputs.push_back({t->dtype(), Dims(t->dims().begin(), t->dims().end())});
      const bool stored = StorageType(t->dtype()) == t->dtype();
      if (!stored) {
        AMPC_ASSIGN_OR_RETURN(HostTensor wide, HostTensor::CreateUninitialized(StorageType(t->dtype()), t->dims()));
        Widen(*t, wide.mutable_values<float>().data());
        widened.push_back(std::move(wide));
      }
      spec.values.push_back(stored ? t : &widened.back());
    }
    AMPC_ASSIGN_OR_RETURN(spec.outputs, ResultDescs(op, operands));
    AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, Compute(*entry, spec));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!IsLowPrecision(spec.outputs[i].dtype)) continue;
      AMPC_ASSIGN_OR_RETURN(results[i], FromStorage(results[i], spec.outputs[i].dtype));
    }
    return results;
  }
};

}  // namespace

std::unique_ptr<Evaluator> MakeCpuEvaluator() { return std::make_unique<CpuEvaluator>(); }

}  // namespace ampc
