#include "graph/builder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/verify.h"

namespace ampc {
namespace {

std::vector<Var*> Vars(const std::vector<Value>& values) {
  std::vector<Var*> vars;
  for (const Value& v : values) vars.push_back(v.var);
  return vars;
}

std::string TempName(const Block& block, absl::string_view layer) {
  for (int i = 0;; ++i) {
    std::string name = absl::StrCat(layer, ".tmp_", i);
    if (!block.program().NameTaken(name)) return name;
  }
}

// New results in every required slot.
std::vector<SlotValues> RequiredResults(const OpDef& def) {
  std::vector<SlotValues> results;
  for (const SlotDef& slot : def.outputs) {
    if (!slot.optional) results.push_back({slot.name, {Value()}});
  }
  return results;
}

// Takes out the `increment` ops of states that only they read: what they counted for is_test turned off.
void DropUnreadCounters(Block& block, const std::vector<int>& uses, std::vector<bool>& dead) {
  std::vector<std::unique_ptr<ampc::Op>> kept;
  for (std::unique_ptr<ampc::Op>& op : block.TakeOps()) {
    const Var* counter = op->type() == "increment" ? op->output(0) : nullptr;
    const bool unread = counter != nullptr && counter->kind == VarKind::kState && op->input(0) == counter && uses[counter->id()] == 1;
    if (unread) dead[counter->id()] = true;
    if (!unread) kept.push_back(std::move(op));
  }
  block.SetOps(std::move(kept));
}

std::shared_ptr<const WeightSource> AsSource(const HostTensor& tensor) {
  return WeightBuffer(std::string(static_cast<const char*>(tensor.data()), tensor.size_bytes()));
}

}  // namespace

ProgramBuilder::ProgramBuilder(std::string name, uint64_t seed) : program_(std::move(name)), startup_("startup"), seed_(seed) {}

void ProgramBuilder::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

std::string ProgramBuilder::NextLayer(absl::string_view type) { return absl::StrCat(type, "_", layers_[std::string(type)]++); }

Value ProgramBuilder::Declare(std::string name, VarKind kind, DType dtype, Dims dims, const Initializer& init) {
  if (!status_.ok()) return {};
  if (program_.NameTaken(name)) {
    Fail(UsageError(absl::StrCat("found ", Name(kind), " '", name, "', needed a name that is not used")));
    return {};
  }
  for (int64_t& d : dims) d = std::max<int64_t>(d, kUnknownDim);
  Var* var = program_.main().AddVar(std::move(name), kind, TensorType(dtype, std::move(dims)));
  if (kind == VarKind::kFeed) return {var};
  var->trainable = kind == VarKind::kParam;
  var->stop_gradient = kind != VarKind::kParam;
  if (kind == VarKind::kConst) return {var};
  const absl::StatusOr<HostTensor> values = InitialValues(init, dtype, var->type.dims, seed_, var->name());
  if (!values.ok()) {
    Fail(Annotate(values.status(), var->name()));
    return {};
  }
  var->weight = std::make_unique<WeightRef>();
  var->weight->source = AsSource(*values);
  var->weight->bytes = values->size_bytes();
  var->weight->dtype = dtype;
  return {var};
}

Value ProgramBuilder::Feed(std::string name, DType dtype, Dims dims) {
  const Value value = Declare(std::move(name), VarKind::kFeed, dtype, std::move(dims), {});
  if (value.var != nullptr) {
    value.var->stop_gradient = true;
    program_.feeds.push_back(value.var);
  }
  return value;
}

Value ProgramBuilder::Param(std::string name, DType dtype, Dims dims, Initializer init) {
  return Declare(std::move(name), VarKind::kParam, dtype, std::move(dims), init);
}

Value ProgramBuilder::State(std::string name, DType dtype, Dims dims, Initializer init) {
  return Declare(std::move(name), VarKind::kState, dtype, std::move(dims), init);
}

Value ProgramBuilder::Const(std::string name, HostTensor tensor) {
  const Value value = Declare(std::move(name), VarKind::kConst, tensor.dtype(), Dims(tensor.dims().begin(), tensor.dims().end()), {});
  if (value.var != nullptr) value.var->literal = std::make_shared<HostTensor>(std::move(tensor));
  return value;
}

void ProgramBuilder::Fetch(Value value) {
  if (!status_.ok()) return;
  if (absl::Status status = CheckValues("fetch", {{"X", {value}}}, false); !status.ok()) return Fail(std::move(status));
  program_.fetches.push_back(value.var);
}

absl::Status ProgramBuilder::CheckValues(absl::string_view type, const std::vector<SlotValues>& slots, bool results) const {
  for (const SlotValues& slot : slots) {
    for (const Value& value : slot.values) {
      if (value.var == nullptr && results) continue;  // a new one
      if (value.var == nullptr)
        return UsageError(absl::StrCat("op '", type, "', slot ", slot.slot, ": found an empty value, needed one of the builder's"));
      if (&value.var->block().program() != &program_) {
        return UsageError(
            absl::StrCat("op '", type, "', slot ", slot.slot, ": found '", value.var->name(), "' of another builder, needed one of this"));
      }
      if (results && !value.var->IsWritable()) {
        return UsageError(absl::StrCat("op '", type, "', slot ", slot.slot, ": found the ", Name(value.var->kind), " '", value.var->name(),
                                       "' to overwrite, needed a param, state or carry"));
      }
    }
  }
  return absl::OkStatus();
}

std::vector<Value> ProgramBuilder::Append(absl::string_view layer, absl::string_view type, std::vector<SlotValues> operands,
                                          std::vector<Attr> attrs, std::vector<SlotValues> results) {
  std::vector<Value> out;
  const auto build = [&]() -> absl::Status {
    const OpDef* def = Ops().Find(type);
    if (def == nullptr) return UsageError(absl::StrCat("found op '", type, "', needed one that has a record"));
    AMPC_RETURN_IF_ERROR(CheckValues(type, operands, false));
    AMPC_RETURN_IF_ERROR(CheckValues(type, results, true));
    Block& block = program_.main();
    std::unique_ptr<ampc::Op> op = block.NewOp(def);
    for (const SlotValues& slot : operands) {
      const int s = def->InputSlot(slot.slot);
      if (s < 0) return UsageError(absl::StrCat("op '", type, "': found the operand slot ", slot.slot, ", needed one of its record"));
      op->SetInputs(s, Vars(slot.values));
    }
    for (SlotValues& slot : results) {
      const int s = def->OutputSlot(slot.slot);
      if (s < 0) return UsageError(absl::StrCat("op '", type, "': found the result slot ", slot.slot, ", needed one of its record"));
      for (Value& value : slot.values) {
        if (value.var == nullptr) value.var = block.AddVar(TempName(block, layer), VarKind::kTemp, TensorType());
      }
      op->SetOutputs(s, Vars(slot.values));
      out.insert(out.end(), slot.values.begin(), slot.values.end());
    }
    for (Attr& attr : attrs) op->SetAttr(attr.name, std::move(attr.value));
    op->marks.guard = guard_;
    AMPC_ASSIGN_OR_RETURN(std::vector<std::optional<TensorType>> types, InferOp(*op, TypeEnv()));
    for (size_t i = 0; i < types.size(); ++i) {
      Var* var = op->outputs()[i];
      if (var->kind == VarKind::kTemp && types[i].has_value()) var->type = *std::move(types[i]);
    }
    block.Append(std::move(op));
    return absl::OkStatus();
  };
  if (status_.ok()) Fail(build());
  if (!status_.ok()) {
    out.clear();
    for (const SlotValues& slot : results) out.resize(out.size() + slot.values.size());
  }
  return out;
}

Value ProgramBuilder::Append(absl::string_view layer, absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs) {
  const OpDef* def = Ops().Find(type);
  const std::vector<Value> out =
      Append(layer, type, std::move(operands), std::move(attrs), def == nullptr ? std::vector<SlotValues>() : RequiredResults(*def));
  return out.empty() ? Value() : out[0];
}

Value ProgramBuilder::Op(absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs) {
  return Append(NextLayer(type), type, std::move(operands), std::move(attrs));
}

std::vector<Value> ProgramBuilder::Op(absl::string_view type, std::vector<SlotValues> operands, std::vector<Attr> attrs,
                                      std::vector<SlotValues> results) {
  return Append(NextLayer(type), type, std::move(operands), std::move(attrs), std::move(results));
}

absl::StatusOr<TrainingProgram> ProgramBuilder::Build() const {
  AMPC_RETURN_IF_ERROR(status_);
  AMPC_RETURN_IF_ERROR(Verify(program_));
  AMPC_RETURN_IF_ERROR(Verify(startup_));
  return TrainingProgram{program_.Clone(), startup_.Clone()};
}

Program ProgramBuilder::CloneForTest() const {
  Program test = program_.Clone();
  std::vector<int> uses(test.num_var_ids(), 0);
  ForEachOp(test, [&uses](const ampc::Op& op) {
    for (const Var* var : op.inputs()) ++uses[var->id()];
  });
  for (const Var* fetch : test.fetches) ++uses[fetch->id()];
  std::vector<bool> dead(test.num_var_ids(), false);
  for (int b = 0; b < test.num_blocks(); ++b) {
    for (const std::unique_ptr<ampc::Op>& op : test.block(b).ops()) {
      const AttrDef* is_test = op->def().FindAttr("is_test");
      if (is_test == nullptr) continue;
      op->SetAttr("is_test", true);
      if (const int seed = op->def().InputSlot("Seed"); seed >= 0 && op->input(seed) != nullptr) {
        --uses[op->input(seed)->id()];
        op->SetInputs(seed, {});
      }
      for (size_t s = 0; s < op->def().outputs.size(); ++s) {
        const Var* var = op->output(static_cast<int>(s));
        if (var == nullptr || !op->def().outputs[s].optional || (var->kind == VarKind::kTemp && uses[var->id()] > 0)) continue;
        if (var->kind == VarKind::kTemp) dead[var->id()] = true;
        op->SetOutputs(static_cast<int>(s), {});
      }
    }
    DropUnreadCounters(test.block(b), uses, dead);
    test.block(b).RemoveVars(dead);
  }
  return test;
}

}  // namespace ampc
