#include "graph/ops/onnx/lowering.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/bfloat16.h"
#include "graph/base/dtype_switch.h"
#include "graph/base/error.h"
#include "graph/base/half.h"
#include "graph/base/host_values.h"
#include "graph/base/shape.h"
#include "graph/base/size.h"
#include "graph/infer_context.h"
#include "graph/op_registry.h"
#include "graph/ops/onnx/fold.h"

namespace ampc::onnx {
namespace {

const Schema& SchemaOf(const ampc::Op& op) { return *static_cast<const OnnxDef&>(op.def()).schema; }

int IndexOf(const std::vector<Formal>& formals, absl::string_view name) {
  for (size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Lowering::Lowering(const ampc::Op& op, Block& block, const Evaluator* evaluator, QuantizedOps quantized)
    : op_(op), block_(block), evaluator_(evaluator), quantized_(quantized), results_(op.outputs().size(), nullptr) {}

int Lowering::since() const { return SchemaOf(op_).since; }

int Lowering::Count(absl::string_view formal) const {
  const int slot = IndexOf(SchemaOf(op_).inputs, formal);
  return slot < 0 ? 0 : static_cast<int>(op_.inputs(slot).size());
}

bool Lowering::Has(absl::string_view formal) const { return Count(formal) > 0; }

Var* Lowering::In(absl::string_view formal, int i) {
  const int slot = IndexOf(SchemaOf(op_).inputs, formal);
  if (slot >= 0 && i < static_cast<int>(op_.inputs(slot).size())) return op_.inputs(slot)[i];
  if (slot >= 0 && SchemaOf(op_).inputs[slot].optional) {
    Fail(BadInputError(absl::StrCat(Describe(op_), ": operand '", formal, "' is left out, which other operands or attributes ask for")));
  }
  Fail(InternalError(absl::StrCat(Describe(op_), ": its lowering reads operand '", formal, "', which it does not have")));
  return NewVar({});
}

bool Lowering::WantsResult(absl::string_view formal) const {
  const int slot = IndexOf(SchemaOf(op_).outputs, formal);
  return slot >= 0 && !op_.outputs(slot).empty();
}

bool Lowering::HasAttr(absl::string_view name) const { return op_.explicit_attr(name) != nullptr; }

int Lowering::Rank(const Var* var) {
  if (var->type.has_rank) return var->type.rank();
  NeedsShape(absl::StrCat("the rank of '", var->name(), "'"));
  return -1;
}

std::optional<std::vector<int64_t>> Lowering::Shape(const Var* var) {
  if (var->type.IsStatic()) return std::vector<int64_t>(var->type.dims.begin(), var->type.dims.end());
  NeedsShape(absl::StrCat("the shape of '", var->name(), "'"));
  return std::nullopt;
}

const HostTensor* Lowering::Value(const Var* var) const { return var->literal.get(); }

std::optional<std::vector<int64_t>> Lowering::Ints(const Var* var) const {
  const HostTensor* value = Value(var);
  if (value == nullptr) return std::nullopt;
  return IntegersOf(*value);
}

std::optional<double> Lowering::Float(const Var* var) const {
  const HostTensor* value = Value(var);
  if (value == nullptr || value->num_elements() != 1) return std::nullopt;
  switch (value->dtype()) {
    case DType::kF16: return static_cast<float>(value->values<Half>()[0]);
    case DType::kBF16: return static_cast<float>(value->values<BFloat16>()[0]);
    case DType::kF32: return value->values<float>()[0];
    case DType::kF64: return value->values<double>()[0];
    default: break;
  }
  const std::optional<std::vector<int64_t>> ints = Ints(var);
  if (!ints.has_value()) return std::nullopt;
  return ExactDouble((*ints)[0]);
}

std::optional<std::vector<int64_t>> Lowering::NeedInts(const Var* var) {
  std::optional<std::vector<int64_t>> ints = Ints(var);
  if (!ints.has_value()) NeedsShape(absl::StrCat("the value of '", var->name(), "'"));
  return ints;
}

Var* Lowering::NewVar(TensorType type) {
  const absl::string_view base = op_.outputs().empty() ? absl::string_view("value") : op_.outputs()[0]->name();
  return block_.AddVar(block_.UniqueName(base), VarKind::kTemp, std::move(type));
}

const Var* Lowering::Source(const Var* var) const {
  for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
    const absl::Span<Var* const> results = (*op)->outputs();
    if (std::find(results.begin(), results.end(), var) == results.end()) continue;
    if ((*op)->inputs().empty()) return nullptr;
    var = (*op)->inputs()[0];
  }
  const absl::Span<Var* const> operands = op_.inputs();
  return std::find(operands.begin(), operands.end(), var) == operands.end() ? nullptr : var;
}

absl::Status Lowering::InNamesOfTheNode(const absl::Status& status, const ampc::Op& op) const {
  if (ExitCodeOf(status) != ExitCode::kBadInput) return status;
  std::vector<std::pair<std::string, std::string>> names = {{Describe(op), Describe(op_)}};
  for (const Var* var : op.inputs()) {
    const Var* source = Source(var);
    if (source == var) continue;
    names.emplace_back(absl::StrCat("'", var->name(), "'"),
                       source == nullptr ? "a constant" : absl::StrCat("a form of '", source->name(), "'"));
  }
  return BadInputError(absl::StrReplaceAll(status.message(), names));
}

std::vector<Var*> Lowering::Emit(absl::string_view type, std::vector<Operand>& operands, Attrs& attrs,
                                 std::vector<std::pair<int, int>> results) {
  std::vector<Var*> vars;
  for (const auto& [slot, count] : results) {
    for (int i = 0; i < count; ++i) vars.push_back(NewVar({}));
  }
  const OpDef* def = ampc::Ops().Find(type);
  if (def == nullptr || std::any_of(results.begin(), results.end(), [](const auto& r) { return r.first < 0; })) {
    Fail(InternalError(absl::StrCat(Describe(op_), ": its lowering uses '", type, "' with a slot that does not exist")));
  }
  if (!ok()) return vars;
  std::unique_ptr<ampc::Op> op = block_.NewOp(def);
  op->lowered_from = &op_.def();
  for (const Operand& operand : operands) {
    const int slot = def->InputSlot(operand.slot);
    if (slot < 0) {
      Fail(InternalError(
          absl::StrCat(Describe(op_), ": its lowering uses slot '", operand.slot, "' of '", type, "', which does not exist")));
      return vars;
    }
    op->SetInputs(slot, operand.vars);
  }
  size_t next = 0;
  for (const auto& [slot, count] : results) {
    op->SetOutputs(slot, absl::MakeSpan(vars).subspan(next, count));
    next += count;
  }
  for (Attr& attr : attrs) op->SetAttr(attr.name, std::move(attr.value));
  absl::StatusOr<std::vector<std::optional<TensorType>>> types = InferOp(*op, TypeEnv());
  if (!types.ok()) {
    Fail(InNamesOfTheNode(types.status(), *op));
    return vars;
  }
  for (size_t i = 0; i < vars.size(); ++i) {
    if ((*types)[i].has_value()) op->outputs()[i]->type = *std::move((*types)[i]);
  }
  const bool stays = quantized_ == QuantizedOps::kProducts && type == "affine_dequantize";  // a product may take its integers
  if (stays || !FoldOnConstants(*op, evaluator_)) ops_.push_back(std::move(op));
  return vars;
}

Var* Lowering::Op(absl::string_view type, std::vector<Operand> operands, Attrs attrs, absl::string_view slot) {
  return Ops(type, std::move(operands), std::move(attrs), {slot})[0];
}

std::vector<Var*> Lowering::Ops(absl::string_view type, std::vector<Operand> operands, Attrs attrs, std::vector<absl::string_view> slots) {
  const OpDef* def = ampc::Ops().Find(type);
  std::vector<std::pair<int, int>> results;
  for (absl::string_view slot : slots) {
    const int index = def == nullptr ? -1 : def->OutputSlot(slot);
    if (!results.empty() && results.back().first == index) {
      ++results.back().second;
    } else {
      results.emplace_back(index, 1);
    }
  }
  return Emit(type, operands, attrs, std::move(results));
}

std::vector<Var*> Lowering::OpList(absl::string_view type, std::vector<Operand> operands, Attrs attrs, absl::string_view slot, int count) {
  const OpDef* def = ampc::Ops().Find(type);
  return Emit(type, operands, attrs, {{def == nullptr ? -1 : def->OutputSlot(slot), count}});
}

Var* Lowering::Const(HostTensor value) {
  Var* var = NewVar(TensorType(value.dtype(), Dims(value.dims().begin(), value.dims().end())));
  var->kind = VarKind::kConst;
  var->literal = std::make_shared<const HostTensor>(std::move(value));
  return var;
}

Var* Lowering::Const(const std::vector<int64_t>& values) {
  const int64_t dims[] = {static_cast<int64_t>(values.size())};
  return Const(HostTensor::FromValues<int64_t>(dims, values));
}

Var* Lowering::ConstScalar(double value, DType dtype) {
  Var* known = ampc::Select<AllTypes>(dtype, [&](auto tag) -> Var* {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>)
      return Const(HostTensor::Of<bool>({}, {value != 0}));
    else if constexpr (std::is_arithmetic_v<T>)
      return Const(HostTensor::Of<T>({}, {static_cast<T>(value)}));
    else
      return Const(HostTensor::Of<T>({}, {T(static_cast<float>(value))}));
  });
  if (known != nullptr) return known;
  NeedsShape("an element type");
  return NewVar({});
}

Var* Lowering::Cast(Var* x, DType dtype) {
  if (x->type.dtype == dtype) return x;
  return Op("cast", {{"X", x}}, {{"in_dtype", x->type.dtype}, {"out_dtype", dtype}});
}

Var* Lowering::Reshape(Var* x, std::vector<int64_t> dims) { return Op("reshape2", {{"X", x}}, {{"shape", std::move(dims)}}); }

Var* Lowering::Transpose(Var* x, std::vector<int> perm) {
  return Op("transpose2", {{"X", x}}, {{"axis", std::vector<int32_t>(perm.begin(), perm.end())}});
}

Var* Lowering::Squeeze(Var* x, std::vector<int64_t> axes) { return Op("squeeze2", {{"X", x}}, {{"axes", std::move(axes)}}); }

Var* Lowering::Unsqueeze(Var* x, std::vector<int64_t> axes) { return Op("unsqueeze2", {{"X", x}}, {{"axes", std::move(axes)}}); }

Var* Lowering::Binary(absl::string_view type, Var* x, Var* y) { return Op(type, {{"X", x}, {"Y", y}}); }

void Lowering::Result(absl::string_view formal, Var* value, int i) {
  const int slot = IndexOf(SchemaOf(op_).outputs, formal);
  const absl::Span<Var* const> vars = slot < 0 ? absl::Span<Var* const>() : op_.outputs(slot);
  if (i < static_cast<int>(vars.size())) results_[&vars[i] - op_.outputs().data()] = value;
}

Var* Lowering::AlongAxis(Var* x, Var* y) {
  if (op_.def().FindAttr("broadcast") == nullptr || !HasAttr("axis") || GetInt("broadcast") == 0) return y;
  const int rank = Rank(x), own = Rank(y);
  if (!ok()) return y;
  const int64_t axis = GetInt("axis") < 0 ? GetInt("axis") + rank : GetInt("axis"), behind = rank - axis - own;
  if (axis < 0 || behind < 0) {
    Fail(BadInputError(absl::StrCat(Describe(op_), ": axis ", GetInt("axis"), " does not place ", own, " dims among ", rank)));
    return y;
  }
  std::vector<int64_t> axes(static_cast<size_t>(behind));
  for (int64_t i = 0; i < behind; ++i) axes[static_cast<size_t>(i)] = own + i;
  return behind == 0 ? y : Unsqueeze(y, std::move(axes));
}

void Lowering::SameAs(absl::string_view type) {
  std::vector<Operand> operands;
  for (size_t s = 0; s < op_.def().inputs.size(); ++s) {
    const absl::Span<Var* const> vars = op_.inputs(static_cast<int>(s));
    if (!vars.empty()) operands.emplace_back(op_.def().inputs[s].name.c_str(), std::vector<Var*>(vars.begin(), vars.end()));
  }
  std::vector<std::pair<int, int>> results;
  const OpDef* def = ampc::Ops().Find(type);
  for (size_t s = 0; s < op_.def().outputs.size(); ++s) {
    const int count = static_cast<int>(op_.outputs(static_cast<int>(s)).size());
    if (count > 0) results.emplace_back(def == nullptr ? -1 : def->OutputSlot(op_.def().outputs[s].name), count);
  }
  Attrs attrs;
  if (operands.size() == 2 && operands[1].vars.size() == 1) operands[1].vars[0] = AlongAxis(operands[0].vars[0], operands[1].vars[0]);
  if (!ok()) return;
  results_ = Emit(type, operands, attrs, std::move(results));
}

// An error behind a value that is not known may stem from that alone.
void Lowering::Fail(absl::Status error) {
  if (status_.ok() && !needs_shape_) status_ = std::move(error);
}

void Lowering::Unsupported(absl::string_view what) { Fail(UnsupportedError(absl::StrCat(Describe(op_), ": ", what))); }

bool Lowering::CanHold(DType dtype, absl::Span<const int64_t> dims) {
  const int64_t bytes = SpannedBytes(dtype, dims), most = MostBytes();
  if (bytes <= most) return ok();
  Fail(BadInputError(absl::StrCat(Describe(op_), ": it asks for ", Name(dtype), " ", ShapeToString(dims), ", which takes more than the ",
                                  most, " bytes that there can be")));
  return false;
}

void Lowering::NeedsShape(absl::string_view what) {
  if (needs_shape_) return;
  needs_shape_ = true;
  needed_ = std::string(what);
}

}  // namespace ampc::onnx
