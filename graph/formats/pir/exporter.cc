#include "graph/formats/pir/exporter.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/pir/export.h"
#include "graph/formats/pir/undo.h"
#include "graph/formats/pir/values.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc::pir {
namespace {

constexpr absl::string_view kListOf = "list=";  // of a list that a conversion combined: the original's number

bool IsBoundary(const Op& op) { return op.type() == onnx::kEnter || op.type() == onnx::kYield; }
bool IsInsertedCast(const Op& op) {
  return op.marks.amp == AmpMark::kInserted && (op.type() == "cast" || op.type() == "amp_cast") && op.inputs().size() == 1 &&
         op.outputs().size() == 1;
}

bool IsMade(JsonRef op) {
  const std::string undo = UndoOf(op);
  if (undo.empty()) return false;
  return IsOp(op, "p") ? ValueUndo(undo, 0).frozen : DecodeMarks(OpUndo(undo)).amp == AmpMark::kInserted || absl::StartsWith(undo, kListOf);
}

}  // namespace

Exporter::Exporter(const Program& program, const PirOrigin& origin)
    : program_(program),
      origin_(origin),
      listed_(origin.ops.begin(), origin.ops.end()),
      ids_(program.num_var_ids(), 0),
      types_(program.num_var_ids()) {}

void Exporter::Assign(const Var& var, int64_t id, JsonRef type) {
  ids_[var.id()] = id;
  types_[var.id()] = type;
}

absl::StatusOr<int64_t> Exporter::IdOf(const Var& var) const {
  if (ids_[var.id()] != 0) return ids_[var.id()];
  return UnsupportedError(absl::StrCat("'", var.name(), "' is read in front of what defines it in a PIR program"));
}

// The numbers that new values must not have, and which lists are combined.
absl::Status Exporter::Survey(JsonRef block) {
  for (const JsonRef op : block.Find("ops")) {
    const JsonRef result = op.Find("O");
    const auto taken = [this](JsonRef value) {
      next_id_ = std::max(next_id_, std::min(value.Find("%").AsInt().value_or(0), kMostNumber) + 1);
    };
    if (!IsMade(op)) {
      taken(result);
      for (const JsonRef one : result) taken(one);
    }
    if (!IsOp(op, "0.combine")) continue;
    const int64_t id = result[0].Find("%").AsInt().value_or(0);
    const std::string undo = UndoOf(op);
    absl::string_view of = undo;
    int64_t original = id;
    if (absl::ConsumePrefix(&of, kListOf) && !absl::SimpleAtoi(of, &original)) original = id;
    combines_[id] = original;
  }
  return absl::OkStatus();
}

absl::Status Exporter::PairFetches() {
  std::vector<std::pair<int64_t, uint32_t>> fetches;
  for (const JsonRef op : origin_.tape.at(origin_.blocks[0]).Find("ops")) {
    if (!IsOp(op, "1.fetch")) continue;
    int64_t col = 0;
    for (const JsonRef attr : op.Find("A")) {
      if (attr.Find("N").IsString("col")) col = attr.Find("AT").Find("D").AsInt().value_or(0);
    }
    fetches.emplace_back(col, op.node());
  }
  if (fetches.size() != program_.fetches.size()) {
    return UnsupportedError(
        absl::StrCat("a PIR program with ", fetches.size(), " fetches cannot be written with ", program_.fetches.size()));
  }
  std::sort(fetches.begin(), fetches.end());
  for (size_t i = 0; i < fetches.size(); ++i) fetched_[fetches[i].second] = program_.fetches[i];
  return absl::OkStatus();
}

absl::StatusOr<std::string> Exporter::Run() {
  if (static_cast<size_t>(program_.num_blocks()) != origin_.blocks.size()) {
    return UnsupportedError("a PIR program cannot be written with other blocks than those that were read");
  }
  for (const uint32_t block : origin_.blocks) AMPC_RETURN_IF_ERROR(Survey(origin_.tape.at(block)));
  AMPC_RETURN_IF_ERROR(PairFetches());
  const JsonRef main = origin_.tape.at(origin_.blocks[0]);
  AMPC_ASSIGN_OR_RETURN(const std::string block, WriteBlock(program_.main(), main));
  const absl::string_view text = origin_.tape.text();
  return absl::StrCat(text.substr(0, main.begin_offset()), block, text.substr(main.end_offset()));
}

absl::Status Exporter::Prepare(Scope& scope) {
  for (const JsonRef op : scope.node.Find("ops")) {
    scope.position[op.node()] = scope.ops.size();
    scope.ops.push_back(op);
  }
  for (const std::unique_ptr<Op>& op : scope.block->ops()) {
    if (op->type() == onnx::kYield) scope.yield = op.get();
    if (IsBoundary(*op)) continue;
    if (IsInsertedCast(*op)) {
      scope.inserted[op->outputs()[0]] = op.get();
      continue;
    }
    const bool known = op->origin >= 0 && scope.position.contains(origin_.ops[op->origin]);
    if (!known)
      return UnsupportedError(absl::StrCat(Describe(*op), ": is not an op of the PIR program that was read; only casts are added to one"));
    const JsonRef text = origin_.tape.at(origin_.ops[op->origin]);
    scope.op_of[text.node()] = op.get();
    AMPC_ASSIGN_OR_RETURN(const auto slots, OperandSlots(*op, text));
    size_t i = 0;
    for (const JsonRef operand : text.Find("I")) {
      const auto [slot, element] = slots[i++];
      const auto list = combines_.find(operand.Find("%").AsInt().value_or(0));
      if (slot < 0 || element >= 0 || list == combines_.end()) continue;
      const absl::Span<Var* const> vars = op->inputs(slot);
      scope.combined.try_emplace(list->second, vars.begin(), vars.end());
    }
  }
  return WriteArgs(scope);
}

absl::Status Exporter::WriteArgs(const Scope& scope) {
  const JsonRef args = scope.node.Find("args");
  if (args.size() == 0) return absl::OkStatus();
  const auto& ops = scope.block->ops();
  if (ops.empty() || ops.front()->type() != onnx::kEnter || ops.front()->outputs().size() < args.size()) {
    return UnsupportedError(absl::StrCat("block '", scope.block->name(), "' no longer has its arguments"));
  }
  const absl::Span<Var* const> entries = ops.front()->outputs();
  size_t i = entries.size() - args.size();
  for (const JsonRef arg : args) {
    const Var& var = *entries[i++];
    const JsonRef name = ElementTypeName(arg.Find("TT"));
    if (name.exists() && !name.IsString(TypeName(var.type.dtype))) {
      return UnsupportedError(absl::StrCat("'", var.name(), "' is ", Name(var.type.dtype), ", the block's argument has another type"));
    }
    Assign(var, arg.Find("#").AsInt().value_or(0), arg.Find("TT"));
  }
  return absl::OkStatus();
}

// `position`: among the ops of the file; -1 for a new one.
void Exporter::Emit(Scope& scope, absl::string_view text, int position) {
  const absl::string_view source = origin_.tape.text();
  const auto gap = [&](size_t i) {
    return source.substr(scope.ops[i - 1].end_offset(), scope.ops[i].begin_offset() - scope.ops[i - 1].end_offset());
  };
  if (scope.first) {
    absl::StrAppend(&scope.out, source.substr(scope.node.begin_offset(), scope.ops[0].begin_offset() - scope.node.begin_offset()));
  } else if (position > 0) {
    absl::StrAppend(&scope.out, gap(position));
  } else {
    absl::StrAppend(&scope.out, scope.ops.size() > 1 ? gap(1) : absl::string_view(","));
  }
  scope.first = false;
  absl::StrAppend(&scope.out, text);
}

absl::StatusOr<std::string> Exporter::WriteBlock(const Block& block, JsonRef node) {
  Scope scope;
  scope.block = &block;
  scope.node = node;
  AMPC_RETURN_IF_ERROR(Prepare(scope));
  if (scope.ops.empty()) return std::string(node.text());
  if (block.index() == 0) AMPC_RETURN_IF_ERROR(WriteNewParams(scope));
  for (const std::unique_ptr<Op>& op : block.ops()) {
    if (IsBoundary(*op) || IsInsertedCast(*op)) continue;
    const JsonRef text = origin_.tape.at(origin_.ops[op->origin]);
    AMPC_RETURN_IF_ERROR(WriteUpTo(scope, scope.position[text.node()]));
    for (const Var* var : op->inputs()) AMPC_RETURN_IF_ERROR(NeedDefined(scope, *var));
    if (IsOp(text, "1.fetch")) {
      // A fetched copy has no op of its own in the file.
      const Var& from = *op->inputs()[0];
      Assign(*op->outputs()[0], ids_[from.id()], types_[from.id()]);
      continue;
    }
    AMPC_RETURN_IF_ERROR(WriteOp(scope, *op, text));
  }
  AMPC_RETURN_IF_ERROR(WriteUpTo(scope, scope.ops.size()));
  if (scope.first) return UnsupportedError("a PIR program without ops cannot be written");
  const size_t end = scope.ops.back().end_offset();
  absl::StrAppend(&scope.out, origin_.tape.text().substr(end, node.end_offset() - end));
  return std::move(scope.out);
}

// The operations of the file in front of `position` for which the IR has no ops.
absl::Status Exporter::WriteUpTo(Scope& scope, size_t position) {
  for (; scope.next < position; ++scope.next) {
    const JsonRef op = scope.ops[scope.next];
    if (IsMade(op) || (listed_.contains(op.node()) && !IsOp(op, "1.fetch"))) continue;
    AMPC_RETURN_IF_ERROR(WriteUnlisted(scope, op));
  }
  return absl::OkStatus();
}

absl::Status Exporter::WriteUnlisted(Scope& scope, JsonRef op) {
  if (IsOp(op, "p") || IsOp(op, "1.data") || IsOp(op, "1.feed")) return WriteHead(scope, op);
  if (IsOp(op, "0.combine")) return WriteCombine(scope, op);
  if (IsOp(op, "0.split") || IsOp(op, "0.slice")) return WriteSplit(scope, op);
  if (IsOp(op, "1.fetch") || IsOp(op, "2.yield")) return WriteEnd(scope, op);
  Emit(scope, op.text(), static_cast<int>(scope.position[op.node()]));  // a constant
  return absl::OkStatus();
}

absl::Status Exporter::NeedDefined(Scope& scope, const Var& var) {
  if (ids_[var.id()] != 0) return absl::OkStatus();
  const auto cast = scope.inserted.find(&var);
  if (cast == scope.inserted.end()) return absl::OkStatus();  // IdOf says so where the number is needed
  const Op& op = *cast->second;
  scope.inserted.erase(cast);
  AMPC_RETURN_IF_ERROR(NeedDefined(scope, *op.inputs()[0]));
  return WriteInserted(scope, op);
}

absl::StatusOr<std::string> ExportProgram(const Program& program) {
  const PirOrigin* origin = OriginOf(program);
  if (origin == nullptr) return UnsupportedError("a program that was not read from PIR (inference.json) cannot be written as PIR");
  return Exporter(program, *origin).Run();
}

}  // namespace ampc::pir
