#include "graph/formats/pir/importer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/undo.h"
#include "graph/formats/pir/import.h"
#include "graph/formats/pir/undo.h"
#include "graph/formats/pir/values.h"

namespace ampc::pir {
namespace {

std::optional<std::string> NameOf(JsonRef op) { return AttrOf(op, "name").Find("D").AsString(); }

}  // namespace

Importer::Importer(std::shared_ptr<PirOrigin> origin, const PirFiles& files) : files_(files), origin_(std::move(origin)) {}

absl::Status Importer::Error(absl::string_view what) const { return BadInputError(absl::StrCat(files_.model, ": ", what)); }

absl::Status Importer::ErrorAt(JsonRef op, absl::string_view what) const {
  return Error(absl::StrCat("op '", op.Find("#").AsString().value_or("?"), "' at byte ", op.begin_offset(), ": ", what));
}

absl::Status Importer::CheckHead() const {
  const JsonRef head = origin_->tape.root().Find("base_code");
  if (!head.Find("magic").IsString("pir")) return Error("not a program of Paddle 3: needs base_code with the magic 'pir'");
  const std::optional<int64_t> version = head.Find("version").AsInt();
  if (!version.has_value() || *version < 1) return Error("base_code has no version of 1 or more");
  if (*version <= kNewestVersion) return absl::OkStatus();
  return UnsupportedError(
      absl::StrCat(files_.model, ": PIR version ", *version, ", known are 1 to ", kNewestVersion, " (Paddle 3.0 to 3.3)"));
}

absl::StatusOr<uint32_t> Importer::BlockOf(JsonRef region) const {
  const JsonRef blocks = region.Find("blocks");
  if (blocks.size() != 1) return Error(absl::StrCat("a region with ", blocks.size(), " blocks, needs 1"));
  if (!blocks[0].Find("ops").Is(JsonKind::kArray)) return Error("a block without a list 'ops'");
  return blocks[0].node();
}

// Facts of the values in front that only operations further on tell: which constants must be tensors, which results are read, and the names
// that the file has.
absl::Status Importer::Survey(JsonRef block) {
  for (const JsonRef op : block.Find("ops")) {
    if (!op.Find("#").Is(JsonKind::kString)) return Error(absl::StrCat("the op at byte ", op.begin_offset(), " has no name"));
    AMPC_RETURN_IF_ERROR(SurveyOp(op));
    for (const JsonRef region : op.Find("regions")) {
      AMPC_ASSIGN_OR_RETURN(const uint32_t inner, BlockOf(region));
      AMPC_RETURN_IF_ERROR(Survey(origin_->tape.at(inner)));
    }
  }
  return absl::OkStatus();
}

absl::Status Importer::SurveyOp(JsonRef op) {
  if (IsOp(op, "p")) {
    const std::optional<std::string> name = op.Find("A")[3].AsString();
    if (!name.has_value()) return ErrorAt(op, "a parameter without a name");
    if (!reserved_.insert(*name).second) return ErrorAt(op, absl::StrCat("two values are named '", *name, "'"));
    return absl::OkStatus();
  }
  if (IsOp(op, "1.data") || IsOp(op, "1.feed")) {
    const std::optional<std::string> name = NameOf(op);
    if (!name.has_value()) return ErrorAt(op, "an input without a name");
    if (!reserved_.insert(*name).second) return ErrorAt(op, absl::StrCat("two values are named '", *name, "'"));
    return absl::OkStatus();
  }
  if (IsOp(op, "1.full") || IsOp(op, "1.full_int_array")) {
    if (const std::optional<int64_t> id = op.Find("O")[0].Find("%").AsInt()) constants_.emplace(*id, op);
  }
  SurveyOperands(op);
  const std::optional<int64_t> fetched = IsOp(op, "1.fetch") ? op.Find("I")[0].Find("%").AsInt() : std::nullopt;
  if (const std::optional<std::string> name = NameOf(op); fetched.has_value() && name.has_value() && reserved_.insert(*name).second) {
    fetch_names_.emplace(*fetched, *name);
  }
  return absl::OkStatus();
}

void Importer::SurveyOperands(JsonRef op) {
  const OpRow* row = FindRow(PaddleOpName(op));
  const OpDef* def = row == nullptr ? nullptr : RecordOf(*row);
  size_t i = 0;
  for (const JsonRef operand : op.Find("I")) {
    const size_t at = i++;
    const std::optional<int64_t> id = operand.Find("%").AsInt();
    if (!id.has_value()) continue;
    used_.insert(*id);
    const auto constant = constants_.find(*id);
    if (constant == constants_.end()) continue;
    const std::optional<AttrValue> value = def == nullptr ? std::nullopt : ConstantOf(constant->second);
    if (!value.has_value() || !FoldOperand(*row, at, *def, *value).has_value()) as_tensor_.insert(*id);
  }
}

absl::Status Importer::Define(int64_t id, Value value) {
  if (id == 0) return absl::OkStatus();
  if (id > kMostNumber || id < -kMostNumber)
    return Error(absl::StrCat("a result has the number ", id, ", at most ", kMostNumber, " is possible"));
  if (values_.emplace(id, std::move(value)).second) return absl::OkStatus();
  return Error(absl::StrCat("two results have the number ", id));
}

absl::StatusOr<const Value*> Importer::Use(int64_t id) const {
  const auto found = values_.find(id);
  if (found == values_.end()) return Error(absl::StrCat("value ", id, " is read, and nothing in front defines it"));
  return &found->second;
}

absl::StatusOr<std::vector<Importer::Operand>> Importer::Operands(JsonRef op) const {
  std::vector<Operand> operands;
  for (const JsonRef item : op.Find("I")) {
    const std::optional<int64_t> id = item.Find("%").AsInt();
    if (!id.has_value()) return ErrorAt(op, "an operand without a number");
    Operand& operand = operands.emplace_back();
    operand.id = *id;
    if (*id == 0) continue;
    AMPC_ASSIGN_OR_RETURN(operand.value, Use(*id));
  }
  return operands;
}

// Notes what blocks read of those around them.
Var* Importer::Read(Block& block, Var* var) {
  if (var->kind != VarKind::kTemp && var->kind != VarKind::kFeed) return var;
  for (const Block* inner = &block; inner != &var->block() && inner->parent() >= 0; inner = &program_.block(inner->parent())) {
    std::vector<Var*>& captured = captures_[inner->index()];
    if (std::find(captured.begin(), captured.end(), var) == captured.end()) captured.push_back(var);
  }
  return var;
}

Var* Importer::AddVar(Block& block, int64_t id, absl::string_view base, VarKind kind, TensorType type) {
  const auto fetched = fetch_names_.find(id);
  std::string name = kind == VarKind::kTemp ? absl::StrCat(base, "_", id < 0 ? -id : id) : std::string(base);
  if (kind == VarKind::kTemp && fetched != fetch_names_.end() && &block == &program_.main()) {
    name = fetched->second;
  } else if (kind == VarKind::kTemp) {
    while (reserved_.contains(name) || program_.NameTaken(name)) name += "_";
  }
  Var* var = block.AddVar(std::move(name), kind, std::move(type));
  var->origin = static_cast<int>(origin_->values.size());
  origin_->values.push_back({id, false});
  return var;
}

absl::Status Importer::AddParam(JsonRef op) {
  const JsonRef result = op.Find("O");
  const std::optional<int64_t> id = result.Find("%").AsInt();
  const std::optional<int64_t> persistable = op.Find("OA")[0].AsInt();
  if (!id.has_value() || !persistable.has_value()) return ErrorAt(op, "a parameter without a number or without its flags");
  absl::StatusOr<TensorType> type = ReadType(result.Find("TT"));
  if (!type.ok()) return ErrorAt(op, type.status().message());
  // A value that is not kept has no data; nothing but the dropout of a recurrent layer in training needs it.
  Var* var =
      AddVar(program_.main(), *id, *op.Find("A")[3].AsString(), *persistable != 0 ? VarKind::kParam : VarKind::kState, *std::move(type));
  const paddle::VarUndo undo = ValueUndo(UndoOf(op), 0);
  if (!undo.was.empty()) var->was = undo.was[0];
  var->stop_gradient = op.Find("OA")[1].AsInt().value_or(0) != 0;
  var->trainable = !undo.frozen && *persistable != 0 && op.Find("OA")[2].AsInt().value_or(0) != 0;
  origin_->values[var->origin].persistable = *persistable != 0;
  if (*persistable != 0) params_.push_back(var);
  return Define(*id, {{var}});
}

absl::Status Importer::AddFeed(JsonRef op) {
  const JsonRef result = op.Find("O")[0];
  const std::optional<int64_t> id = result.Find("%").AsInt();
  if (!id.has_value()) return ErrorAt(op, "an input without a number");
  absl::StatusOr<TensorType> type = ReadType(result.Find("TT"));
  if (!type.ok()) return ErrorAt(op, type.status().message());
  Var* var = AddVar(program_.main(), *id, *NameOf(op), VarKind::kFeed, *std::move(type));
  const paddle::VarUndo undo = ValueUndo(UndoOf(op), 0);
  if (!undo.was.empty()) var->was = undo.was[0];
  const int64_t col = AttrOf(op, "col").Find("D").AsInt().value_or(static_cast<int64_t>(feeds_.size()));
  feeds_.emplace_back(col, var);
  return Define(*id, {{var}});
}

// A value that has a name of its own, or is fetched already, is fetched as its copy: outputs are told apart by name.
absl::Status Importer::AddFetch(Block& block, JsonRef op) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
  if (operands.size() != 1 || operands[0].value == nullptr || operands[0].value->vars.size() != 1 || operands[0].value->list) {
    return ErrorAt(op, "a fetch without exactly one tensor");
  }
  if (&block != &program_.main()) return ErrorAt(op, "a fetch in a nested block");
  const std::optional<int64_t> col = AttrOf(op, "col").Find("D").AsInt();
  const std::optional<std::string> name = NameOf(op);
  if (!col.has_value() || !name.has_value()) return ErrorAt(op, "a fetch without name and col");
  Var* var = operands[0].value->vars[0];
  if (var->name() != *name) {
    if (program_.NameTaken(*name)) return ErrorAt(op, absl::StrCat("two values are named '", *name, "'"));
    static const OpDef* assign = RecordOf(*FindRow("assign"));
    std::unique_ptr<Op> copy = block.NewOp(assign);
    copy->SetInputs(0, {var});
    var = block.AddVar(*name, VarKind::kTemp, var->type);
    copy->SetOutputs(0, {var});
    Append(block, op, std::move(copy));
  }
  for (const auto& [other, earlier] : fetches_) {
    if (other == *col) return ErrorAt(op, absl::StrCat("two fetches have col ", *col));
  }
  fetches_.emplace_back(*col, var);
  return absl::OkStatus();
}

absl::Status Importer::ImportOps(Block& block, JsonRef node, Vars* yields) {
  constexpr int kMostNested = 12;
  if (++depth_ > kMostNested) return UnsupportedError(absl::StrCat(files_.model, ": blocks are nested deeper than ", kMostNested));
  bool ended = false;
  for (const JsonRef op : node.Find("ops")) {
    if (ended) return ErrorAt(op, "stands behind the end of its block");
    if (IsOp(op, "2.yield")) {
      if (yields == nullptr) return ErrorAt(op, "the main block yields nothing");
      AMPC_ASSIGN_OR_RETURN(const std::vector<Operand> operands, Operands(op));
      for (const Operand& operand : operands) {
        if (operand.value == nullptr || operand.value->vars.size() != 1 || operand.value->list)
          return ErrorAt(op, "yields something other than a tensor");
        yields->push_back(Read(block, operand.value->vars[0]));
      }
      ended = true;
    } else if (IsOp(op, "1.fetch")) {
      AMPC_RETURN_IF_ERROR(AddFetch(block, op));
    } else {
      AMPC_RETURN_IF_ERROR(ImportOp(block, op));
    }
  }
  --depth_;
  if (yields == nullptr || ended) return absl::OkStatus();
  return Error(absl::StrCat("the block at byte ", node.begin_offset(), " does not end with a yield"));
}

absl::StatusOr<Program> Importer::Run() {
  AMPC_RETURN_IF_ERROR(CheckHead());
  const JsonRef regions = origin_->tape.root().Find("program").Find("regions");
  if (regions.size() != 1) return Error(absl::StrCat("the program has ", regions.size(), " regions, needs 1"));
  AMPC_ASSIGN_OR_RETURN(const uint32_t main, BlockOf(regions[0]));
  origin_->blocks.push_back(main);
  captures_.emplace_back();
  const JsonRef block = origin_->tape.at(main);
  AMPC_RETURN_IF_ERROR(Survey(block));
  for (const JsonRef op : block.Find("ops")) {
    if (IsOp(op, "p")) AMPC_RETURN_IF_ERROR(AddParam(op));
    if (IsOp(op, "1.data") || IsOp(op, "1.feed")) AMPC_RETURN_IF_ERROR(AddFeed(op));
  }
  AMPC_RETURN_IF_ERROR(AttachParams());
  AMPC_RETURN_IF_ERROR(ImportOps(program_.main(), block, nullptr));
  const auto by_col = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(feeds_.begin(), feeds_.end(), by_col);
  std::stable_sort(fetches_.begin(), fetches_.end(), by_col);
  for (const auto& [col, var] : feeds_) program_.feeds.push_back(var);
  for (const auto& [col, var] : fetches_) program_.fetches.push_back(var);
  program_.origin = origin_;
  return std::move(program_);
}

absl::StatusOr<Program> ImportProgram(std::shared_ptr<const WeightSource> source, const PirFiles& files) {
  auto origin = std::make_shared<PirOrigin>();
  const absl::Span<const char> bytes = source->bytes();
  origin->source = std::move(source);
  absl::StatusOr<JsonTape> tape = JsonTape::Parse(absl::string_view(bytes.data(), bytes.size()));
  if (!tape.ok()) return Annotate(tape.status(), files.model);
  origin->tape = *std::move(tape);
  return Importer(std::move(origin), files).Run();
}

}  // namespace ampc::pir
