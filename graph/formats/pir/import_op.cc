#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/pir/importer.h"
#include "graph/formats/pir/undo.h"
#include "graph/formats/pir/values.h"
#include "graph/op_registry.h"

namespace ampc::pir {
namespace {

// "pd_op.conv2d" for "1.conv2d".
std::string LongName(absl::string_view name) {
  constexpr absl::string_view kDialects[] = {"builtin", "pd_op", "cf", "custom_op", "dist"};
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits('.', 1));
  size_t number = 0;
  if (!absl::SimpleAtoi(parts.first, &number) || number >= std::size(kDialects)) return std::string(name);
  return absl::StrCat(kDialects[number], ".", parts.second);
}

// The stem of names of values: "batch_norm" for "1.batch_norm_".
std::string BaseName(JsonRef op) {
  const std::string name = op.Find("#").AsString().value_or("");
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(name, absl::MaxSplits('.', 1));
  return std::string(absl::StripSuffix(parts.second.empty() ? parts.first : parts.second, "_"));
}

// The attribute has the value that the table says is left to the op.
bool IsDefault(const AttrRow& row, const AttrValue& value) {
  if (row.required) return false;
  if (const auto* text = std::get_if<std::string>(&value)) return row.value == absl::StrCat("\"", *text, "\"");
  const std::optional<std::vector<double>> numbers = Numbers(value);
  if (!numbers.has_value()) return false;
  const absl::string_view list = absl::StripSuffix(absl::StripPrefix(row.value, "{"), "}");
  std::vector<double> want;
  for (const absl::string_view text : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    double number = text == "true" ? 1 : 0;
    if (text != "true" && text != "false" && !absl::SimpleAtod(text, &number)) return false;
    want.push_back(number);
  }
  return *numbers == want;
}

// Labels, places and layouts mean nothing for what an op computes; an element type that a record does not have is that of the result.
bool IsImmaterial(absl::string_view name, const AttrRow* row) {
  return row == nullptr || row->kind == 'p' || row->kind == 'y' || row->kind == 't' || name == "struct_name";
}

bool IsEmptyList(const AttrValue* value) {
  if (value == nullptr) return false;
  const std::optional<std::vector<double>> numbers = Numbers(*value);
  return numbers.has_value() && numbers->empty();
}

// `assign_value_`: the literal's elements say their own kind.
bool SetLiteral(JsonRef op, Op* native) {
  const absl::StatusOr<std::optional<AttrValue>> values = ReadAttr(AttrOf(op, "values"));
  if (!values.ok() || !values->has_value()) return false;
  const DType dtype = native->GetDType("dtype");
  const auto set = [&](absl::string_view name, const AttrValue& want) {
    std::optional<AttrValue> converted = ConvertAttr(**values, want);
    if (converted.has_value()) native->SetAttr(name, *std::move(converted));
    return converted.has_value();
  };
  if (dtype == DType::kI64) return set("int64_values", std::vector<int64_t>());
  if (dtype == DType::kI32) return set("int32_values", std::vector<int32_t>());
  if (dtype == DType::kF64) return set("fp64_values", std::vector<double>());
  if (dtype == DType::kF32) return set("fp32_values", std::vector<float>());
  if (dtype != DType::kBool) return false;
  const std::optional<std::vector<double>> numbers = Numbers(**values);
  if (!numbers.has_value()) return false;
  native->SetAttr("bool_values", std::vector<int32_t>(numbers->begin(), numbers->end()));
  return true;
}

// The operations that the table does not have.
bool Adjust(absl::string_view name, JsonRef op, Op* native) {
  const OpDef& def = native->def();
  if (def.FindAttr("reduce_all") != nullptr) {
    for (const char* axes : {"dim", "axis"}) {
      if (IsEmptyList(native->explicit_attr(axes))) native->SetAttr("reduce_all", true);
    }
  }
  if (name == "shape64") native->SetAttr("dtype", DType::kI64);
  if (name == "tril" || name == "triu") native->SetAttr("lower", name == "tril");
  if (name == "assign_value_" || name == "assign_value") return SetLiteral(op, native);
  if (absl::EndsWith(name, "_with_index")) native->SetAttr("pooling_type", "max");
  if (native->type() == "cast") native->SetAttr("in_dtype", native->inputs()[0]->type.dtype);
  if (name == "strided_slice") MarkEndsBeforeFirst(native);
  if (name == "sum" && native->GetDType("out_dtype") == DType::kInvalid) {
    // Sums of whole numbers and truth values are of i64.
    const absl::StatusOr<TensorType> type = ReadType(op.Find("O")[0].Find("TT"));
    if (type.ok() && type->dtype != native->inputs()[0]->type.dtype) native->SetAttr("out_dtype", type->dtype);
  }
  return true;
}

bool HasOperands(const Op& op) {
  for (size_t s = 0; s < op.def().inputs.size(); ++s) {
    if (!op.def().inputs[s].optional && op.inputs(static_cast<int>(s)).empty()) return false;
  }
  return true;
}

bool HasAttrs(const Op& op) {
  const OpDef& def = op.def();
  return std::all_of(def.attrs.begin(), def.attrs.end(),
                     [&op](const AttrDef& attr) { return !attr.required || op.explicit_attr(attr.name) != nullptr; });
}

}  // namespace

bool Importer::SetOperands(const OpRow& row, const std::vector<Operand>& operands, Block& block, Op* native) {
  const OpDef& def = native->def();
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.value == nullptr) continue;
    if (i >= row.operands.size()) return false;
    const OperandRow& want = row.operands[i];
    if (want.ignored) continue;
    if (const auto constant = constants_.find(operand.id); constant != constants_.end()) {
      const std::optional<AttrValue> value = ConstantOf(constant->second);
      std::optional<AttrValue> folded = value.has_value() ? FoldOperand(row, i, def, *value) : std::nullopt;
      if (folded.has_value()) {
        native->SetAttr(want.attr, *std::move(folded));
        continue;
      }
    }
    const bool as_list = operand.value->list && !want.list_slot.empty();
    const int slot = def.InputSlot(as_list ? want.list_slot : want.slot);
    if (slot < 0 || operand.value->folded || (operand.value->vars.size() != 1 && !def.inputs[slot].variadic)) return false;
    std::vector<Var*> vars;
    for (Var* var : operand.value->vars) vars.push_back(Read(block, var));
    native->SetInputs(slot, vars);
    // The tensor stands in for the attribute.
    const AttrDef* attr = want.attr.empty() ? nullptr : def.FindAttr(want.attr);
    if (attr != nullptr && attr->required) native->SetAttr(attr->name, attr->value);
  }
  return true;
}

absl::StatusOr<bool> Importer::SetAttrs(const OpRow& row, JsonRef op, Op* native) const {
  for (const JsonRef attr : op.Find("A")) {
    const std::optional<std::string> name = attr.Find("N").AsString();
    if (!name.has_value()) return ErrorAt(op, "an attribute without a name");
    const AttrRow* known = row.FindAttr(*name);
    absl::StatusOr<std::optional<AttrValue>> value = ReadAttr(attr.Find("AT"));
    if (!value.ok()) return ErrorAt(op, absl::StrCat("attribute '", *name, "' ", value.status().message()));
    const AttrDef* want = known == nullptr ? nullptr : native->def().FindAttr(known->attr);
    if (want == nullptr) {
      if (IsImmaterial(*name, known) || (value->has_value() && IsDefault(*known, **value))) continue;
      if (*name == "values") continue;  // of a literal: Adjust
      return false;
    }
    std::optional<AttrValue> converted = value->has_value() ? ConvertAttr(**value, want->value) : std::nullopt;
    if (!converted.has_value()) return false;
    native->SetAttr(want->name, *std::move(converted));
  }
  return true;
}

// Null where the native op does not take the op as it is.
absl::StatusOr<std::unique_ptr<Op>> Importer::MakeNative(Block& block, JsonRef op, const OpRow& row, const std::vector<Operand>& operands) {
  const OpDef* def = RecordOf(row);
  if (def == nullptr) return nullptr;
  std::unique_ptr<Op> native = block.NewOp(def);
  if (!SetOperands(row, operands, block, native.get())) return nullptr;
  AMPC_ASSIGN_OR_RETURN(const bool fits, SetAttrs(row, op, native.get()));
  if (!fits || !HasOperands(*native) || !Adjust(row.name, op, native.get()) || !HasAttrs(*native)) return nullptr;
  std::vector<bool> given(def->outputs.size(), false);
  size_t i = 0;
  for (const JsonRef result : op.Find("O")) {
    const int slot = i < row.results.size() ? def->OutputSlot(row.results[i]) : -1;
    ++i;
    const std::optional<int64_t> id = result.Find("%").AsInt();
    if (slot >= 0) given[slot] = !IsNoType(result.Find("TT"));
    if (slot < 0 && id.has_value() && used_.contains(*id)) return nullptr;
  }
  for (size_t s = 0; s < given.size(); ++s) {
    if (!given[s] && !def->outputs[s].optional) return nullptr;
  }
  return native;
}

absl::StatusOr<std::unique_ptr<Op>> Importer::MakeOpaque(Block& block, JsonRef op, const std::vector<Operand>& operands) {
  if (op.Find("regions").size() > 0) {
    return UnsupportedError(absl::StrCat(files_.model, ": op '", LongName(*op.Find("#").AsString()), "' with blocks inside is not known"));
  }
  std::vector<std::string> ins, outs;
  for (size_t i = 0; i < operands.size(); ++i) ins.push_back(absl::StrCat("x", i));
  for (size_t i = 0; i < op.Find("O").size(); ++i) outs.push_back(absl::StrCat("y", i));
  std::unique_ptr<Op> made = block.NewOp(program_.OpaqueDef(LongName(*op.Find("#").AsString()), ins, outs));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].value == nullptr) continue;
    std::vector<Var*> vars;
    for (Var* var : operands[i].value->vars) vars.push_back(Read(block, var));
    made->SetInputs(static_cast<int>(i), vars);
  }
  for (const JsonRef attr : op.Find("A")) {
    const std::optional<std::string> name = attr.Find("N").AsString();
    absl::StatusOr<std::optional<AttrValue>> value = ReadAttr(attr.Find("AT"));
    if (!name.has_value()) return ErrorAt(op, "an attribute without a name");
    if (!value.ok()) return ErrorAt(op, absl::StrCat("attribute '", *name, "' ", value.status().message()));
    if (value->has_value()) made->SetAttr(*name, **std::move(value));
  }
  return made;
}

absl::StatusOr<Value> Importer::MakeResult(Block& block, JsonRef op, JsonRef result, absl::string_view base) {
  const int64_t id = *result.Find("%").AsInt();
  const JsonRef text = result.Find("TT"), elements = ElementTypes(text);
  Value value;
  value.list = elements.exists();
  std::vector<JsonRef> types;
  if (value.list) {
    for (const JsonRef element : elements) types.push_back(element);
  } else {
    types.push_back(text);
  }
  for (size_t i = 0; i < types.size(); ++i) {
    absl::StatusOr<TensorType> type = ReadType(types[i]);
    if (!type.ok()) return ErrorAt(op, type.status().message());
    const std::string name = value.list ? absl::StrCat(base, "_", id) : std::string(base);
    value.vars.push_back(AddVar(block, value.list ? static_cast<int64_t>(i) : id, name, VarKind::kTemp, *std::move(type)));
  }
  return value;
}

// `slots`: of the results in order. A result that its op may leave out and nothing reads is left out.
absl::Status Importer::AddResults(Block& block, JsonRef op, const std::vector<std::string>& slots, Op* made) {
  const std::string undo = UndoOf(op);
  size_t i = 0;
  for (const JsonRef result : op.Find("O")) {
    const size_t at = i++;
    const std::optional<int64_t> id = result.Find("%").AsInt();
    if (!id.has_value()) return ErrorAt(op, "a result without a number");
    const int slot = at < slots.size() ? made->def().OutputSlot(slots[at]) : -1;
    if (slot < 0 || IsNoType(result.Find("TT"))) continue;
    const SlotDef& def = made->def().outputs[slot];
    if (def.optional && !made->def().opaque && !used_.contains(*id)) continue;
    AMPC_ASSIGN_OR_RETURN(Value value, MakeResult(block, op, result, BaseName(op)));
    if (value.vars.size() != 1 && !def.variadic) return ErrorAt(op, absl::StrCat("result ", at, " is a list, the op gives a tensor"));
    const paddle::VarUndo marks = ValueUndo(undo, at);
    for (size_t v = 0; v < value.vars.size(); ++v) {
      if (!marks.was.empty()) value.vars[v]->was = marks.was[std::min(v, marks.was.size() - 1)];
    }
    made->SetOutputs(slot, value.vars);
    AMPC_RETURN_IF_ERROR(Define(*id, std::move(value)));
  }
  return absl::OkStatus();
}

// Dims that the file leaves open and inference knows. If they disagree, the verifier says so.
void Importer::CompleteTypes(const Op& op) {
  const absl::StatusOr<const std::vector<std::optional<TensorType>>*> inferred = inferred_.Infer(op);
  if (!inferred.ok()) return;
  for (size_t i = 0; i < (*inferred)->size(); ++i) {
    const std::optional<TensorType>& want = (**inferred)[i];
    TensorType& type = op.outputs()[i]->type;
    if (!want.has_value() || !want->has_rank || !Compatible(type, *want)) continue;
    for (int d = 0; type.has_rank && d < type.rank(); ++d) {
      if (!IsKnown(type.dims[d])) type.dims[d] = want->dims[d];
    }
  }
}

void Importer::Append(Block& block, JsonRef text, std::unique_ptr<Op> op) {
  op->marks = DecodeMarks(OpUndo(UndoOf(text)));
  op->origin = static_cast<int>(origin_->ops.size());
  origin_->ops.push_back(text.node());
  if (op->SubBlocks().empty()) CompleteTypes(*op);
  block.Append(std::move(op));
}

// `full` and `full_int_array`: an op where something reads it as a tensor.
absl::Status Importer::ImportConstant(Block& block, JsonRef op) {
  const std::optional<int64_t> id = op.Find("O")[0].Find("%").AsInt();
  if (!id.has_value()) return ErrorAt(op, "a result without a number");
  if (!as_tensor_.contains(*id)) return Define(*id, {{}, false, true});
  const bool array = PaddleOpName(op) == "full_int_array";
  const absl::StatusOr<std::optional<AttrValue>> value = ReadAttr(AttrOf(op, "value")), dtype = ReadAttr(AttrOf(op, "dtype"));
  if (!value.ok() || !value->has_value() || !dtype.ok() || !dtype->has_value() || !std::holds_alternative<DType>(**dtype)) {
    return ErrorAt(op, "needs the attributes value and dtype");
  }
  const DType type = std::get<DType>(**dtype);
  std::unique_ptr<Op> made = block.NewOp(Ops().Find(array ? "assign_value" : "fill_constant"));
  made->SetAttr("dtype", type);
  if (array) {
    const bool narrow = type == DType::kI32;
    std::optional<AttrValue> values = narrow ? ConvertAttr(**value, std::vector<int32_t>()) : ConvertAttr(**value, std::vector<int64_t>());
    if (!values.has_value() || (!narrow && type != DType::kI64)) return ErrorAt(op, "needs whole numbers of 32 or 64 bits");
    made->SetAttr("shape", std::vector<int32_t>{static_cast<int32_t>(Numbers(*values)->size())});
    made->SetAttr(narrow ? "int32_values" : "int64_values", *std::move(values));
  } else {
    const absl::StatusOr<std::optional<AttrValue>> shape = ReadAttr(AttrOf(op, "shape"));
    std::optional<AttrValue> dims = shape.ok() && shape->has_value() ? ConvertAttr(**shape, std::vector<int64_t>()) : std::nullopt;
    const std::optional<std::vector<double>> number = Numbers(**value);
    if (!dims.has_value() || !number.has_value() || number->size() != 1)
      return ErrorAt(op, "needs the attributes shape, of integers, and value, a number");
    made->SetAttr("shape", *std::move(dims));
    const double n = (*number)[0];
    made->SetAttr("value", static_cast<float>(n));
    if (std::isfinite(n) && static_cast<double>(static_cast<float>(n)) != n && (IsInteger(type) || type == DType::kF64)) {
      made->SetAttr("str_value", IsInteger(type) ? absl::StrFormat("%.0f", n) : absl::StrFormat("%.17g", n));
    }
  }
  AMPC_RETURN_IF_ERROR(AddResults(block, op, {"Out"}, made.get()));
  Append(block, op, std::move(made));
  return absl::OkStatus();
}

absl::Status Importer::ImportCombine(JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const std::optional<int64_t> id = op.Find("O")[0].Find("%").AsInt();
  if (!id.has_value()) return ErrorAt(op, "a result without a number");
  Value list{{}, true};
  for (const Operand& operand : operands) {
    if (operand.value == nullptr || operand.value->list || operand.value->vars.size() != 1)
      return ErrorAt(op, "combines something other than tensors");
    list.vars.push_back(operand.value->vars[0]);
  }
  const size_t declared = ElementTypes(op.Find("O")[0].Find("TT")).size();
  if (declared != list.vars.size()) return ErrorAt(op, absl::StrCat("combines ", list.vars.size(), " values into a list of ", declared));
  return Define(*id, std::move(list));
}

absl::Status Importer::ImportSplit(JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const JsonRef results = op.Find("O");
  if (operands.size() != 1 || operands[0].value == nullptr || !operands[0].value->list ||
      operands[0].value->vars.size() != results.size()) {
    return ErrorAt(op, "needs one list with as many elements as there are results");
  }
  const Vars vars = operands[0].value->vars;
  size_t i = 0;
  for (const JsonRef result : results) {
    const std::optional<int64_t> id = result.Find("%").AsInt();
    if (!id.has_value()) return ErrorAt(op, "a result without a number");
    Var* var = vars[i++];
    const auto fetched = fetch_names_.find(*id);
    if (fetched != fetch_names_.end() && var->kind == VarKind::kTemp && !program_.NameTaken(fetched->second))
      var->block().RenameVar(var, fetched->second);
    AMPC_RETURN_IF_ERROR(Define(*id, {{var}}));
  }
  return absl::OkStatus();
}

absl::Status Importer::ImportElement(JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const std::optional<int64_t> id = op.Find("O")[0].Find("%").AsInt(), index = AttrOf(op, "index").Find("D").AsInt();
  if (operands.size() != 1 || operands[0].value == nullptr || !operands[0].value->list || !id.has_value() || !index.has_value() ||
      *index < 0 || *index >= static_cast<int64_t>(operands[0].value->vars.size())) {
    return ErrorAt(op, "needs one list and the index of an element");
  }
  return Define(*id, {{operands[0].value->vars[*index]}});
}

absl::Status Importer::ImportOp(Block& block, JsonRef op) {
  const std::string name = *op.Find("#").AsString();
  const bool head = name == "p" || name == "1.data" || name == "1.feed";
  if (head) return &block == &program_.main() ? absl::OkStatus() : ErrorAt(op, "stands in a nested block");
  if (name == "0.combine") return ImportCombine(op);
  if (name == "0.split") return ImportSplit(op);
  if (name == "0.slice") return ImportElement(op);
  if (name == "1.full" || name == "1.full_int_array") return ImportConstant(block, op);
  if (name == "1.if") return ImportIf(block, op);
  if (name == "1.while") return ImportWhile(block, op);
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  const OpRow* row = FindRow(PaddleOpName(op));
  std::unique_ptr<Op> made;
  if (row != nullptr && op.Find("regions").size() == 0) {
    AMPC_ASSIGN_OR_RETURN(made, MakeNative(block, op, *row, operands));
  }
  std::vector<std::string> slots;
  if (made == nullptr) {
    AMPC_ASSIGN_OR_RETURN(made, MakeOpaque(block, op, operands));
    for (const SlotDef& slot : made->def().outputs) slots.push_back(slot.name);
  } else {
    slots = row->results;
  }
  AMPC_RETURN_IF_ERROR(AddResults(block, op, slots, made.get()));
  Append(block, op, std::move(made));
  return absl::OkStatus();
}

}  // namespace ampc::pir
