#include "graph/ops/onnx/by_lowering.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/status_macros.h"
#include "graph/op_record.h"
#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {
namespace {

const InferredDef& InferredDefOf(const Op& op) { return static_cast<const InferredDef&>(op.def()); }

std::string Names(TypeSet set) {
  std::string names;
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if ((set & Bit(dtype)) != 0) absl::StrAppend(&names, names.empty() ? "" : ", ", Name(dtype));
  }
  return names;
}

using TypeVariables = absl::InlinedVector<DType, 8>;

// The element type of each of the schema's type variables, as far as the operands tell.
absl::Status BindTypes(const InferContext& ctx, TypeVariables* bound) {
  const Op& op = ctx.op();
  const Schema& schema = *InferredDefOf(op).schema;
  bound->assign(schema.types.size(), DType::kInvalid);
  for (size_t s = 0; s < schema.inputs.size(); ++s) {
    const Formal& formal = schema.inputs[s];
    const absl::Span<Var* const> operands = op.inputs(static_cast<int>(s));
    for (int i = 0; i < static_cast<int>(operands.size()); ++i) {
      const TensorType& type = ctx.In(op.def().inputs[s].name, i);
      if (type.kind != TypeKind::kTensor || type.dtype == DType::kInvalid) continue;
      const TypeSet allowed = schema.types[formal.type];
      if (allowed == kOtherTypes && InferredDefOf(op).op->sequences)
        continue;  // a sequence or an optional value, which the record looks at
      if ((allowed & Bit(type.dtype)) == 0) {
        return ctx.Error(absl::StrCat("operand '", operands[i]->name(), "' is ", Name(type.dtype), ", needs ", Names(allowed)),
                         schema.type);
      }
      DType& variable = (*bound)[formal.type];
      if (variable == DType::kInvalid) variable = type.dtype;
      if (variable != type.dtype && !formal.heterogeneous) {
        return ctx.Error(
            absl::StrCat("operand '", operands[i]->name(), "' is ", Name(type.dtype), ", needs ", Name(variable), " like the others"),
            schema.type);
      }
    }
  }
  return absl::OkStatus();
}

// A literal with the operand's known value, null for none.
std::shared_ptr<const HostTensor> KnownValue(const InferContext& ctx, absl::string_view slot, int i) {
  const TensorType& type = ctx.In(slot, i);
  if (const Var& var = *ctx.op().inputs(ctx.op().def().InputSlot(slot))[i]; var.literal != nullptr) return var.literal;
  if (!type.IsStatic()) return nullptr;
  const std::optional<std::vector<int64_t>> ints = ctx.Ints(slot, i);
  double number = 0;
  bool has_number = false;
  if (i == 0 && !ints.has_value()) {
    const std::optional<double> read = ctx.Float(slot);
    has_number = read.has_value();
    number = read.value_or(0);
  }
  const int64_t count = ints.has_value() ? static_cast<int64_t>(ints->size()) : has_number ? 1 : -1;
  if (count != type.NumElements()) return nullptr;  // above all: a weight, which must not be made again
  absl::StatusOr<HostTensor> value = HostTensor::Create(type.dtype, type.dims);
  if (!value.ok()) return nullptr;
  if (ints.has_value()) {
    const bool filled = ampc::Select<IntegersAndBool>(type.dtype, [&](auto tag) {
      const auto values = value->mutable_values<typename decltype(tag)::type>();
      std::copy_n(ints->begin(), values.size(), values.begin());
      return true;
    });
    return filled ? std::make_shared<const HostTensor>(*std::move(value)) : nullptr;
  }
  if (type.dtype != DType::kF32 && type.dtype != DType::kF64) return nullptr;
  if (type.dtype == DType::kF32) value->mutable_values<float>()[0] = static_cast<float>(number);
  if (type.dtype == DType::kF64) value->mutable_values<double>()[0] = number;
  return std::make_shared<const HostTensor>(*std::move(value));
}

// A copy of the op, alone in a program, whose operands are as given by `type` and `value`, both called with slot and position.
class Scratch {
 public:
  template <typename TypeOf, typename ValueOf>
  Scratch(const Op& op, const TypeOf& type, const ValueOf& value) : program_("scratch"), op_(program_.main().NewOp(&op.def())) {
    Block& block = program_.main();
    // First: messages name the op by its result.
    for (size_t s = 0; s < op.def().outputs.size(); ++s) {
      std::vector<Var*> vars;
      for (const Var* var : op.outputs(static_cast<int>(s))) vars.push_back(Add(block, *var, TensorType()));
      op_->SetOutputs(static_cast<int>(s), vars);
    }
    for (size_t s = 0; s < op.def().inputs.size(); ++s) {
      std::vector<Var*> vars;
      for (int i = 0; i < static_cast<int>(op.inputs(static_cast<int>(s)).size()); ++i) {
        Var* var = Add(block, *op.inputs(static_cast<int>(s))[i], type(op.def().inputs[s].name, i));
        var->literal = value(op.def().inputs[s].name, i);
        if (var->literal != nullptr) var->kind = VarKind::kConst;
        vars.push_back(var);
      }
      op_->SetInputs(static_cast<int>(s), vars);
    }
    for (const Attr& attr : op.attrs()) op_->SetAttr(attr.name, attr.value);
    op_->line = op.line;
  }

  const Op& op() const { return *op_; }
  Block& block() { return program_.main(); }

 private:
  static Var* Add(Block& block, const Var& like, TensorType type) {
    return block.AddVar(block.UniqueName(like.name()), VarKind::kTemp, std::move(type));
  }

  Program program_;
  std::unique_ptr<Op> op_;
};

absl::Status InferByLowering(InferContext& ctx) {
  Scratch scratch(
      ctx.op(), [&](const std::string& slot, int i) { return ctx.In(slot, i); },
      [&](const std::string& slot, int i) { return KnownValue(ctx, slot, i); });
  Lowering lowering(scratch.op(), scratch.block(), nullptr);
  InferredDefOf(ctx.op()).op->lower(lowering);
  if (lowering.needs_shape()) return absl::OkStatus();
  AMPC_RETURN_IF_ERROR(lowering.status());
  int flat = 0;
  for (size_t s = 0; s < ctx.op().def().outputs.size(); ++s) {
    for (int i = 0; i < static_cast<int>(ctx.op().outputs(static_cast<int>(s)).size()); ++i, ++flat) {
      const Var* result = lowering.results()[flat];
      if (result != nullptr && result->type.dtype != DType::kInvalid) ctx.Out(ctx.op().def().outputs[s].name, i, result->type);
    }
  }
  return absl::OkStatus();
}

absl::Status InferResults(InferContext& ctx) {
  const InferredDef& def = InferredDefOf(ctx.op());
  if (def.op->infer != nullptr) return def.op->infer(ctx);
  if (def.op->same) return def.native->infer(ctx);
  return def.op->lower != nullptr ? InferByLowering(ctx) : absl::OkStatus();
}

}  // namespace

absl::Status InferOnnx(InferContext& ctx) {
  TypeVariables bound;
  AMPC_RETURN_IF_ERROR(BindTypes(ctx, &bound));
  AMPC_RETURN_IF_ERROR(InferResults(ctx));
  const Op& op = ctx.op();
  const Schema& schema = *InferredDefOf(op).schema;
  const auto set = [](const std::optional<TensorType>& type) { return type.has_value(); };
  if (std::all_of(ctx.results().begin(), ctx.results().end(), set)) return absl::OkStatus();
  int flat = 0;
  for (size_t s = 0; s < schema.outputs.size(); ++s) {
    const Formal& formal = schema.outputs[s];
    const TypeSet allowed = schema.types[formal.type];
    DType dtype = bound[formal.type];
    for (int i = 1; i < kNumDTypes && dtype == DType::kInvalid; ++i) {
      if (allowed == Bit(static_cast<DType>(i))) dtype = static_cast<DType>(i);
    }
    for (int i = 0; i < static_cast<int>(op.outputs(static_cast<int>(s)).size()); ++i, ++flat) {
      if (ctx.results()[flat].has_value() || dtype == DType::kInvalid || formal.heterogeneous) continue;
      ctx.Out(op.def().outputs[s].name, i, TensorType::Unranked(dtype));
    }
  }
  return absl::OkStatus();
}

namespace {

TensorType WithOnes(TensorType type) {
  for (int64_t& dim : type.dims) dim = IsKnown(dim) ? dim : 1;
  return type;
}

// Of what the op is lowered to, with 1 for each dim of an operand that is not known where `ones`; absent where it cannot be lowered.
std::optional<Cost> CostOfLowering(const Op& op, bool ones) {
  const auto operand = [&](const std::string& slot, int i) { return op.inputs(op.def().InputSlot(slot))[i]; };
  const auto type = [&](const std::string& slot, int i) { return ones ? WithOnes(operand(slot, i)->type) : operand(slot, i)->type; };
  Scratch scratch(op, type, [&](const std::string& slot, int i) { return operand(slot, i)->literal; });
  Lowering lowering(scratch.op(), scratch.block(), nullptr);
  InferredDefOf(op).op->lower(lowering);
  if (!lowering.ok()) return std::nullopt;
  Cost total;
  for (const std::unique_ptr<Op>& native : lowering.TakeOps()) {
    const Cost cost = CostOf(*native);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
  }
  return total;
}

}  // namespace

Cost CostOnnx(const Op& op) {
  const InferredDef& def = InferredDefOf(op);
  if (def.op->same) return def.native->cost(op);
  if (def.op->lower == nullptr) return Cost();
  if (const std::optional<Cost> cost = CostOfLowering(op, false)) return *cost;
  return CostOfLowering(op, true).value_or(Cost());
}

}  // namespace ampc::onnx
