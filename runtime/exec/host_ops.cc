#include "runtime/exec/host_ops.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/size.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "kernels/round.h"

namespace ampc {
namespace {

absl::Status WriteToArray(const HostCall& call) {
  AMPC_ASSIGN_OR_RETURN(const int64_t i, ReadInt(call, "I"));
  if (i < 0 || i >= kMaxArrayLength) {
    return UsageError(absl::StrCat(Describe(call.op), ": index ", i, " is outside [0, ", kMaxArrayLength, ")"));
  }
  AMPC_ASSIGN_OR_RETURN(SharedTensor x, call.env.Read(call.op, *call.op.input("X")));
  TensorArray& array = call.env.Array(*call.op.output("Out"));
  if (i >= static_cast<int64_t>(array.size())) array.resize(static_cast<size_t>(i) + 1);
  array[static_cast<size_t>(i)] = std::move(x);
  return absl::OkStatus();
}

absl::Status ReadFromArray(const HostCall& call) {
  AMPC_ASSIGN_OR_RETURN(const int64_t i, ReadInt(call, "I"));
  const TensorArray& array = call.env.Array(*call.op.input("X"));
  if (i < 0 || i >= static_cast<int64_t>(array.size()) || array[static_cast<size_t>(i)] == nullptr) {
    return UsageError(
        absl::StrCat(Describe(call.op), ": array '", call.op.input("X")->name(), "' has no element ", i, ", its length is ", array.size()));
  }
  call.env.Set(*call.op.output("Out"), array[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

absl::Status ArrayLength(const HostCall& call) {
  const Var& out = *call.op.output("Out");
  const int64_t one[] = {1};
  const bool scalar = out.type.has_rank && out.type.rank() == 0;
  const int64_t length = static_cast<int64_t>(call.env.Array(*call.op.input("X")).size());
  call.env.Set(out,
               std::make_shared<const HostTensor>(HostTensor::FromValues<int64_t>(absl::MakeConstSpan(one, scalar ? 0 : 1), {&length, 1})));
  return absl::OkStatus();
}

// The chosen operand as it is; the others may have no value.
absl::Status SelectInput(const HostCall& call) {
  AMPC_ASSIGN_OR_RETURN(const int64_t i, ReadInt(call, "Mask"));
  const absl::Span<Var* const> x = call.op.inputs(call.op.def().InputSlot("X"));
  if (i < 0 || i >= static_cast<int64_t>(x.size())) {
    return UsageError(absl::StrCat(Describe(call.op), ": Mask is ", i, ", X has ", x.size(), " operands"));
  }
  const Var& chosen = *x[static_cast<size_t>(i)];
  if (chosen.type.kind == TypeKind::kTensor) AMPC_RETURN_IF_ERROR(call.env.Read(call.op, chosen).status());
  return call.env.Copy(chosen, *call.op.output("Out"));
}

absl::Status SelectOutput(const HostCall& call) {
  AMPC_ASSIGN_OR_RETURN(const int64_t i, ReadInt(call, "Mask"));
  const absl::Span<Var* const> out = call.op.outputs(call.op.def().OutputSlot("Out"));
  if (i < 0 || i >= static_cast<int64_t>(out.size())) {
    return UsageError(absl::StrCat(Describe(call.op), ": Mask is ", i, ", Out has ", out.size(), " results"));
  }
  AMPC_RETURN_IF_ERROR(call.env.Read(call.op, *call.op.input("X")).status());
  return call.env.Copy(*call.op.input("X"), *out[static_cast<size_t>(i)]);
}

absl::Status AssignArray(const HostCall& call) { return call.env.Copy(*call.op.input("X"), *call.op.output("Out")); }

// The operands of an op in a run: dims and values as they are, element types as declared where memory has them like that.
class Brought final : public TypeEnv {
 public:
  Brought(const Op& op, absl::Span<const HostTensor* const> operands) : op_(op), operands_(operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const DType declared = op.inputs()[i]->type.dtype, stored = operands[i]->dtype();
      types_.emplace_back(StorageType(declared) == stored ? declared : stored,
                          Dims(operands[i]->dims().begin(), operands[i]->dims().end()));
    }
  }
  const TensorType& TypeOf(const Var& var) const override {
    const size_t i = IndexOf(var);
    return i < types_.size() ? types_[i] : var.type;
  }
  const HostTensor* ValueOf(const Var& var) const override {
    const size_t i = IndexOf(var);
    return i < operands_.size() ? operands_[i] : nullptr;
  }
  bool PlansMemory() const override { return true; }
  int64_t MostBytesOfResult() const override { return MostBytes(); }

 private:
  size_t IndexOf(const Var& var) const {
    return static_cast<size_t>(std::find(op_.inputs().begin(), op_.inputs().end(), &var) - op_.inputs().begin());
  }

  const Op& op_;
  absl::Span<const HostTensor* const> operands_;
  std::vector<TensorType> types_;
};

// The record's inference is what holds operands against each other; those that a run brings have not been through it.
absl::Status CheckBrought(const Op& op, absl::Span<const HostTensor* const> operands) {
  const absl::Status inferred = InferOp(op, Brought(op, operands)).status();
  if (ExitCodeOf(inferred) != ExitCode::kBadInput) return inferred;
  return UsageError(absl::StrCat("the shapes of the feeds do not fit the model: ", inferred.message()));
}

// An op with data-dependent dims, by the function that its kernel has for it.
absl::Status Evaluate(const HostCall& call) {
  std::vector<SharedTensor> owned;
  std::vector<const HostTensor*> operands;
  for (const Var* var : call.op.inputs()) {
    AMPC_ASSIGN_OR_RETURN(SharedTensor value, call.env.Read(call.op, *var));
    operands.push_back(value.get());
    owned.push_back(std::move(value));
  }
  AMPC_RETURN_IF_ERROR(CheckBrought(call.op, operands));
  const EvaluateFn evaluate = call.kernels.Find(call.op.type())->evaluate;
  AMPC_ASSIGN_OR_RETURN(std::vector<HostTensor> results, evaluate(call.op, operands, call.threads));
  if (results.size() != call.op.outputs().size()) {
    return InternalError(absl::StrCat(Describe(call.op), ": the kernel made ", results.size(), " results of ", call.op.outputs().size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Var& var = *call.op.outputs()[i];
    if (IsLowPrecision(var.type.dtype)) {
      RoundTo(var.type.dtype, results[i].mutable_values<float>().data(), results[i].num_elements(), call.threads);
    }
    call.env.Set(var, std::make_shared<const HostTensor>(std::move(results[i])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> ReadInt(const HostCall& call, absl::string_view slot) {
  AMPC_ASSIGN_OR_RETURN(SharedTensor value, call.env.Read(call.op, *call.op.input(slot)));
  if (value->num_elements() != 1) {
    return UsageError(absl::StrCat(Describe(call.op), ": ", slot, " has ", value->num_elements(), " elements, needs 1"));
  }
  switch (value->dtype()) {
    case DType::kI64: return value->values<int64_t>()[0];
    case DType::kI32: return value->values<int32_t>()[0];
    case DType::kBool: return value->values<bool>()[0] ? 1 : 0;
    default: return UsageError(absl::StrCat(Describe(call.op), ": ", slot, " is ", Name(value->dtype()), ", needs an integer"));
  }
}

HostOpFn FindHostOp(const Op& op, const KernelRegistry& kernels) {
  static const auto& by_type = *new std::map<std::string, HostOpFn, std::less<>>{
      {"write_to_array", WriteToArray},
      {"read_from_array", ReadFromArray},
      {"lod_array_length", ArrayLength},
      {"tensor_array_to_tensor", TensorArrayToTensor},
      {"select_input", SelectInput},
      {"select_output", SelectOutput},
      {"sequence_construct", SequenceConstruct},
      {"sequence_insert", SequenceInsert},
      {"sequence_erase", SequenceErase},
      {"sequence_at", SequenceAt},
      {"split_to_sequence", SplitToSequence},
  };
  if (op.def().opaque) return nullptr;
  if (const auto at = by_type.find(op.type()); at != by_type.end()) return at->second;
  if (op.type() == "assign" && op.input("X")->type.kind == TypeKind::kTensorArray) return AssignArray;
  const KernelEntry* entry = kernels.Find(op.type());
  return entry != nullptr && entry->evaluate != nullptr ? Evaluate : nullptr;
}

}  // namespace ampc
