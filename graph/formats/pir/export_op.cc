#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/pir/exporter.h"
#include "graph/formats/pir/op_table.h"
#include "graph/formats/pir/undo.h"
#include "graph/formats/pir/values.h"

namespace ampc::pir {
namespace {

constexpr absl::string_view kNotStopped = R"("OA":[{"AT":{"#":"0.a_array","D":[{"#":"0.a_bool","D":false}]},"N":"stop_gradient"}])";

std::string Quoted(absl::string_view text) { return JsonQuote(text); }
std::string IdText(int64_t id) { return absl::StrCat("{\"%\":", id, "}"); }

paddle::VarUndo UndoOfVar(const Var& var) {
  paddle::VarUndo undo;
  if (var.was != DType::kInvalid) undo.was.push_back(var.was);
  return undo;
}

// ,"ampc_undo":"..." or nothing.
std::string UndoMember(absl::string_view undo) { return undo.empty() ? "" : absl::StrCat(",", Quoted(kUndoKey), ":", Quoted(undo)); }

}  // namespace

// By operand of the file: its slot, -1 for one that is not in the IR, and the element in it, -1 for all of them.
absl::StatusOr<std::vector<std::pair<int, int>>> Exporter::OperandSlots(const Op& op, JsonRef text) const {
  const size_t count = text.Find("I").size();
  std::vector<std::pair<int, int>> slots(count, {-1, -1});
  const std::string name = PaddleOpName(text);
  const bool loop = name == "while";
  if (op.def().opaque || name == "fetch") {
    for (size_t i = 0; i < count && i < op.def().inputs.size(); ++i) slots[i].first = static_cast<int>(i);
    return slots;
  }
  if (loop || name == "if") {
    for (size_t i = 0; i < count; ++i) {
      slots[i] = i == 0 ? std::pair(op.def().InputSlot("cond"), 0) : std::pair(op.def().InputSlot("v_initial"), static_cast<int>(i) - 1);
    }
    return slots;
  }
  const OpRow* row = FindRow(name);
  if (row == nullptr && count > 0) return InternalError(absl::StrCat(Describe(op), ": no row for '", name, "'"));
  for (size_t i = 0; i < count && i < row->operands.size(); ++i) {
    for (const std::string* slot : {&row->operands[i].slot, &row->operands[i].list_slot}) {
      const int s = slot->empty() ? -1 : op.def().InputSlot(*slot);
      if (s >= 0 && !op.inputs(s).empty()) slots[i].first = s;
    }
  }
  return slots;
}

// The slot of result `i` of the file; -1 for one that is not in the IR.
int Exporter::ResultSlot(const Op& op, JsonRef text, size_t i) const {
  if (op.def().opaque) return static_cast<int>(i);
  const OpRow* row = FindRow(PaddleOpName(text));
  if (PaddleOpName(text) == "full" || PaddleOpName(text) == "full_int_array") return 0;
  return row != nullptr && i < row->results.size() ? op.def().OutputSlot(row->results[i]) : -1;
}

void Exporter::EditType(JsonRef type, const Var& var, TextEdit* edit) const {
  const JsonRef name = ElementTypeName(type);
  const std::string want = TypeName(var.type.dtype);
  if (name.exists() && !want.empty() && !name.IsString(want)) edit->Replace(name, Quoted(want));
}

std::string Exporter::TypeText(const Var& var) const {
  const JsonRef type = types_[var.id()];
  if (!type.exists()) {
    return absl::StrCat("{\"#\":\"0.t_dtensor\",\"D\":[{\"#\":", Quoted(TypeName(var.type.dtype)), "},[", absl::StrJoin(var.type.dims, ","),
                        "],\"NCHW\",[],0]}");
  }
  TextEdit edit(origin_.tape);
  EditType(type, var, &edit);
  return edit.Apply(type.begin_offset(), type.end_offset());
}

std::string Exporter::UndoText(const Op* op, const std::vector<const Var*>& results) const {
  std::vector<paddle::VarUndo> values;
  for (const Var* var : results) values.push_back(var == nullptr ? paddle::VarUndo() : UndoOfVar(*var));
  return EncodeUndo(values, op == nullptr ? "" : EncodeMarks(op->marks));
}

// The list that an operand of the file is, as `vars` now are; a second reader with other casts gets a list of its own.
absl::StatusOr<int64_t> Exporter::ListFor(Scope& scope, int64_t id, absl::Span<Var* const> vars) {
  const auto combine = combines_.find(id);
  const int64_t original = combine == combines_.end() ? id : combine->second;
  const auto same = [&](int64_t list) {
    const auto found = lists_.find(list);
    return found != lists_.end() && std::equal(found->second.begin(), found->second.end(), vars.begin(), vars.end());
  };
  if (same(original)) return original;
  if (combine == combines_.end()) {
    return UnsupportedError(
        absl::StrCat("list ", id, " of a PIR program is passed on as a whole, and its elements are cast: exclude what reads it"));
  }
  std::vector<std::string> operands, types;
  for (const Var* var : vars) {
    AMPC_RETURN_IF_ERROR(NeedDefined(scope, *var));
    AMPC_ASSIGN_OR_RETURN(const int64_t element, IdOf(*var));
    operands.push_back(IdText(element));
    types.push_back(TypeText(*var));
  }
  const int64_t made = next_id_++;
  lists_[made] = {vars.begin(), vars.end()};
  Emit(scope,
       absl::StrCat("{\"#\":\"0.combine\",\"A\":[],\"I\":[", absl::StrJoin(operands, ","), "],\"O\":[{\"%\":", made,
                    ",\"TT\":{\"#\":\"0.t_vec\",\"D\":[", absl::StrJoin(types, ","), "]}}],", kNotStopped,
                    UndoMember(absl::StrCat("list=", original)), "}"),
       -1);
  return made;
}

absl::Status Exporter::EditOperands(Scope& scope, const Op& op, JsonRef text, TextEdit* edit) {
  AMPC_ASSIGN_OR_RETURN(const auto slots, OperandSlots(op, text));
  size_t i = 0;
  for (const JsonRef operand : text.Find("I")) {
    const auto [slot, element] = slots[i++];
    const JsonRef number = operand.Find("%");
    const int64_t had = number.AsInt().value_or(0);
    if (slot < 0 || had == 0 || op.inputs(slot).empty()) continue;
    int64_t id = had;
    if (combines_.contains(had) || lists_.contains(had)) {
      AMPC_ASSIGN_OR_RETURN(id, ListFor(scope, had, op.inputs(slot)));
    } else {
      AMPC_ASSIGN_OR_RETURN(id, IdOf(*op.inputs(slot)[element < 0 ? 0 : element]));
    }
    if (id != had) edit->Replace(number, absl::StrCat(id));
  }
  return absl::OkStatus();
}

// Data types that follow what the op computes in; nothing else of a PIR op is changed.
absl::Status Exporter::EditAttrs(const Op& op, JsonRef text, TextEdit* edit) const {
  const OpRow* row = FindRow(PaddleOpName(text));
  if (row == nullptr || op.def().opaque) return absl::OkStatus();
  for (const JsonRef attr : text.Find("A")) {
    const std::string name = attr.Find("N").AsString().value_or("");
    const AttrRow* known = row->FindAttr(name);
    const AttrDef* def = known == nullptr ? nullptr : op.def().FindAttr(known->attr);
    const absl::StatusOr<std::optional<AttrValue>> value = ReadAttr(attr.Find("AT"));
    if (def == nullptr || !value.ok() || !value->has_value()) continue;
    const std::optional<AttrValue> had = ConvertAttr(**value, def->value);
    const AttrValue* has = op.attr(known->attr);
    if (!had.has_value() || has == nullptr || SameAttr(*had, *has) || def->name == "reduce_all") continue;
    if (!std::holds_alternative<DType>(*has))
      return UnsupportedError(absl::StrCat(Describe(op), ": attribute '", known->attr, "' was changed, PIR's cannot be"));
    const DType now = std::get<DType>(*has);
    if (std::get<DType>(*had) == DType::kInvalid && !IsFloat(now)) continue;  // what the op computes anyway
    edit->Replace(attr.Find("AT").Find("D"), Quoted(AttrName(now)));
  }
  return absl::OkStatus();
}

void Exporter::EditResult(JsonRef result, absl::Span<Var* const> vars, TextEdit* edit) {
  const int64_t id = result.Find("%").AsInt().value_or(0);
  const JsonRef type = result.Find("TT"), elements = ElementTypes(type);
  if (!elements.exists()) {
    EditType(type, *vars[0], edit);
    return Assign(*vars[0], id, type);
  }
  lists_[id] = {vars.begin(), vars.end()};
  size_t i = 0;
  for (const JsonRef element : elements) {
    if (i == vars.size()) return;
    EditType(element, *vars[i], edit);
    types_[vars[i++]->id()] = element;
  }
}

absl::Status Exporter::WriteOp(Scope& scope, const Op& op, JsonRef text) {
  TextEdit edit(origin_.tape);
  AMPC_RETURN_IF_ERROR(EditOperands(scope, op, text, &edit));
  AMPC_RETURN_IF_ERROR(EditAttrs(op, text, &edit));
  // Inside first: what a block reads has its number by now.
  for (const int block : op.SubBlocks()) {
    const JsonRef node = origin_.tape.at(origin_.blocks[block]);
    AMPC_ASSIGN_OR_RETURN(std::string inner, WriteBlock(program_.block(block), node));
    edit.Replace(node, std::move(inner));
  }
  std::vector<const Var*> results;
  size_t i = 0;
  for (const JsonRef result : text.Find("O")) {
    const size_t at = i++;
    absl::Span<Var* const> vars;
    if (op.SubBlocks().empty()) {
      const int slot = ResultSlot(op, text, at);
      if (slot >= 0) vars = op.outputs(slot);
    } else if (at < op.outputs().size()) {
      vars = op.outputs().subspan(at, 1);
    }
    results.push_back(vars.empty() ? nullptr : vars[0]);
    if (!vars.empty()) EditResult(result, vars, &edit);
  }
  edit.SetLastMember(text, kUndoKey, UndoText(&op, results));
  Emit(scope, edit.Apply(text.begin_offset(), text.end_offset()), static_cast<int>(scope.position[text.node()]));
  return absl::OkStatus();
}

absl::Status Exporter::WriteInserted(Scope& scope, const Op& op) {
  const Var& from = *op.inputs()[0];
  const Var& to = *op.outputs()[0];
  AMPC_ASSIGN_OR_RETURN(const int64_t source, IdOf(from));
  Assign(to, next_id_++, types_[from.id()]);
  Emit(scope,
       absl::StrCat("{\"#\":\"1.cast\",\"A\":[{\"AT\":{\"#\":\"1.a_dtype\",\"D\":", Quoted(AttrName(to.type.dtype)),
                    "},\"N\":\"dtype\"}],\"I\":[", IdText(source), "],\"O\":[{\"%\":", ids_[to.id()], ",\"TT\":", TypeText(to), "}],",
                    kNotStopped, UndoMember(UndoText(&op, {&to})), "}"),
       -1);
  return absl::OkStatus();
}

// Inputs and parameters.
absl::Status Exporter::WriteHead(Scope& scope, JsonRef op) {
  const bool param = op.Find("#").IsString("p");
  const std::string name = (param ? op.Find("A")[3] : AttrOf(op, "name").Find("D")).AsString().value_or("");
  const Var* var = program_.main().FindVar(name);
  const bool kept = var != nullptr && var->kind != VarKind::kTemp;
  if (!kept && param && op.Find("OA")[0].AsInt().value_or(0) != 0) return absl::OkStatus();  // it went with what read it
  TextEdit edit(origin_.tape);
  if (kept) {
    const JsonRef result = param ? op.Find("O") : op.Find("O")[0];
    EditType(result.Find("TT"), *var, &edit);
    Assign(*var, result.Find("%").AsInt().value_or(0), result.Find("TT"));
    const JsonRef dtype = AttrOf(op, "dtype").Find("D");
    if (!param && dtype.exists() && !dtype.IsString(AttrName(var->type.dtype)) && IsFloat(var->type.dtype))
      edit.Replace(dtype, Quoted(AttrName(var->type.dtype)));
    edit.SetLastMember(op, kUndoKey, UndoText(nullptr, {var}));
  }
  Emit(scope, edit.Apply(op.begin_offset(), op.end_offset()), static_cast<int>(scope.position[op.node()]));
  return absl::OkStatus();
}

// Low copies of parameters that are read in fp32, too.
absl::Status Exporter::WriteNewParams(Scope& scope) {
  absl::flat_hash_set<std::string> known;
  for (const JsonRef op : scope.ops) {
    if (op.Find("#").IsString("p") && !ValueUndo(UndoOf(op), 0).frozen) known.insert(op.Find("A")[3].AsString().value_or(""));
  }
  std::vector<const Var*> made;
  for (const std::unique_ptr<Var>& var : program_.main().vars()) {
    if (var->kind == VarKind::kConst) return UnsupportedError(absl::StrCat("constant '", var->name(), "' has no place in a PIR program"));
    if (var->kind == VarKind::kParam && !known.contains(var->name())) made.push_back(var.get());
  }
  std::sort(made.begin(), made.end(), [](const Var* a, const Var* b) { return a->name() < b->name(); });
  for (const Var* var : made) {
    Assign(*var, next_id_++, JsonRef());
    paddle::VarUndo undo = UndoOfVar(*var);
    undo.frozen = true;
    Emit(scope,
         absl::StrCat("{\"#\":\"p\",\"A\":[0,1,1,", Quoted(var->name()), "],\"DA\":[],\"O\":{\"%\":", ids_[var->id()],
                      ",\"TT\":", TypeText(*var), "},\"OA\":[1,1,0],\"QA\":[]", UndoMember(EncodeUndo({undo}, "")), "}"),
         -1);
  }
  return absl::OkStatus();
}

absl::Status Exporter::WriteCombine(Scope& scope, JsonRef op) {
  const JsonRef result = op.Find("O")[0], operands = op.Find("I");
  const int64_t id = result.Find("%").AsInt().value_or(0);
  const auto readers = scope.combined.find(id);
  TextEdit edit(origin_.tape);
  if (readers != scope.combined.end()) {
    const std::vector<Var*>& vars = readers->second;
    size_t i = 0;
    for (const JsonRef operand : operands) {
      const Var& var = *vars[i++];
      AMPC_RETURN_IF_ERROR(NeedDefined(scope, var));
      AMPC_ASSIGN_OR_RETURN(const int64_t element, IdOf(var));
      if (operand.Find("%").AsInt() != element) edit.Replace(operand.Find("%"), absl::StrCat(element));
    }
    size_t t = 0;
    for (const JsonRef type : ElementTypes(result.Find("TT"))) EditType(type, *vars[t++], &edit);
    lists_[id] = vars;
  }
  Emit(scope, edit.Apply(op.begin_offset(), op.end_offset()), static_cast<int>(scope.position[op.node()]));
  return absl::OkStatus();
}

absl::Status Exporter::WriteSplit(Scope& scope, JsonRef op) {
  const auto list = lists_.find(op.Find("I")[0].Find("%").AsInt().value_or(0));
  TextEdit edit(origin_.tape);
  if (list != lists_.end()) {
    size_t i = op.Find("#").IsString("0.slice") ? static_cast<size_t>(AttrOf(op, "index").Find("D").AsInt().value_or(0)) : 0;
    for (const JsonRef result : op.Find("O")) {
      const Var& var = *list->second[i++];
      EditType(result.Find("TT"), var, &edit);
      Assign(var, result.Find("%").AsInt().value_or(0), result.Find("TT"));
    }
  }
  Emit(scope, edit.Apply(op.begin_offset(), op.end_offset()), static_cast<int>(scope.position[op.node()]));
  return absl::OkStatus();
}

// Fetches and yields.
absl::Status Exporter::WriteEnd(Scope& scope, JsonRef op) {
  TextEdit edit(origin_.tape);
  const auto fetched = fetched_.find(op.node());
  size_t i = 0;
  for (const JsonRef operand : op.Find("I")) {
    const size_t at = i++;
    const bool fetch = fetched != fetched_.end();
    if (!fetch && (scope.yield == nullptr || at >= scope.yield->inputs().size()))
      return InternalError("a block does not yield what it did");
    const Var& var = fetch ? *fetched->second : *scope.yield->inputs()[at];
    AMPC_RETURN_IF_ERROR(NeedDefined(scope, var));
    AMPC_ASSIGN_OR_RETURN(const int64_t id, IdOf(var));
    if (operand.Find("%").AsInt() != id) edit.Replace(operand.Find("%"), absl::StrCat(id));
    if (fetch) EditType(op.Find("O")[0].Find("TT"), var, &edit);
  }
  Emit(scope, edit.Apply(op.begin_offset(), op.end_offset()), static_cast<int>(scope.position[op.node()]));
  return absl::OkStatus();
}

}  // namespace ampc::pir
