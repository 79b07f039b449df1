#include "graph/implicit_cast.h"

#include <map>
#include <optional>
#include <utility>

#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/program.h"

namespace ampc {
namespace {

// The declared types, with the operands of one op in another float type.
class Converted : public TypeEnv {
 public:
  void Add(const Var& var, DType type) { types_.insert_or_assign(var.id(), var.type.WithDType(type)); }
  bool empty() const { return types_.empty(); }
  bool Has(const Var& var) const { return types_.contains(var.id()); }
  const TensorType& TypeOf(const Var& var) const override {
    const auto it = types_.find(var.id());
    return it == types_.end() ? var.type : it->second;
  }

 private:
  std::map<int, TensorType> types_;
};

bool Agrees(const Op& op, const TypeEnv& env) {
  const absl::StatusOr<std::vector<std::optional<TensorType>>> inferred = InferOp(op, env);
  if (!inferred.ok()) return false;
  for (size_t i = 0; i < inferred->size(); ++i) {
    const std::optional<TensorType>& type = (*inferred)[i];
    if (type.has_value() && type->IsFloat() && type->dtype != op.outputs()[i]->type.dtype) return false;
  }
  return true;
}

DType ResultType(const Op& op) {
  for (int i = 0; i < static_cast<int>(op.outputs().size()); ++i) {
    const bool follows = op.def().outputs[op.OutputSlotOf(i)].precision == SlotPrecision::kFollow;
    if (follows && op.outputs()[i]->type.IsFloat()) return op.outputs()[i]->type.dtype;
  }
  return DType::kInvalid;
}

bool IsNarrow(DType t) { return t == DType::kF32 || IsLowPrecision(t); }

}  // namespace

std::vector<std::unique_ptr<Op>> MakeImplicitCasts(Op& op, const CastResult& result) {
  std::vector<std::unique_ptr<Op>> casts;
  const DType want = ResultType(op);
  if (op.def().opaque || !IsNarrow(want)) return casts;
  Converted converted;
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    const Var& var = *op.inputs()[i];
    const bool follows = op.def().inputs[op.InputSlotOf(i)].precision == SlotPrecision::kFollow;
    if (follows && IsNarrow(var.type.dtype) && var.type.dtype != want) converted.Add(var, want);
  }
  if (converted.empty() || Agrees(op, TypeEnv()) || !Agrees(op, converted)) return casts;
  std::map<int, Var*> results;  // by id of the source
  for (int i = 0; i < static_cast<int>(op.inputs().size()); ++i) {
    Var* var = op.inputs()[i];
    if (!converted.Has(*var)) continue;
    Var*& to = results[var->id()];
    if (to == nullptr) {
      to = result(*var, want);
      to->stop_gradient = var->stop_gradient;
      std::unique_ptr<Op> cast = op.block().NewOp(Ops().Find("cast"));
      cast->SetInputs(0, {&var, 1});
      cast->SetOutputs(0, {&to, 1});
      cast->SetAttr("in_dtype", var->type.dtype);
      cast->SetAttr("out_dtype", want);
      cast->marks.amp = AmpMark::kInserted;
      cast->marks.amp_reason = std::string(kImplicitCast);
      casts.push_back(std::move(cast));
    }
    op.ReplaceInput(i, to);
  }
  return casts;
}

}  // namespace ampc
