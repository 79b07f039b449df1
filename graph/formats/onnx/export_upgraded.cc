// Nodes that a conversion took to a later operator set, on their way back: where an attribute had become an operand, the file of the
// conversion has the node as it was.
#include <algorithm>

#include "graph/converted.h"
#include "graph/formats/onnx/exporter.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {

absl::string_view Exporter::MarksInFile(const Op& op) const {
  if (op.origin < 0 || origin_ == nullptr) return "";
  const OnnxOrigin::OpLocation& location = origin_->ops[op.origin];
  return origin_->undo.Find({.section = 'o', .graph = location.graph, .index = location.index});
}

std::string Exporter::OriginalOf(const Op& op) const {
  return origin_ == nullptr || origin_->undo.opset() == 0 ? "" : OriginalNode(MarksInFile(op));
}

bool Exporter::MadeByOpset(const Op& op) const {
  if (origin_ == nullptr || DefOf(op.def()) == nullptr || stripped_) return false;
  return op.origin < 0 || IsMade(MarksInFile(op));
}

void Exporter::FindMade() {
  ForEachOp(program_, [this](const Op& op) {
    if (DefOf(op.def()) == nullptr || op.inputs().empty() || !(stripped_ ? IsMade(MarksInFile(op)) : MadeByOpset(op))) return;
    for (const Var* var : op.outputs()) made_[var] = &op;
    if (op.inputs().size() == 2) made_readers_[op.inputs()[0]] = &op;
  });
}

Exporter::Around Exporter::AroundOf(const Op& op) const {
  Around around;
  const auto find = [](const auto& map, const Var* var) {
    const auto it = map.find(var);
    return it == map.end() ? nullptr : it->second;
  };
  if (op.inputs().size() != 1 || op.outputs().size() != 1) return around;
  const Op *before = find(made_, op.inputs()[0]), *behind = find(made_readers_, op.outputs()[0]);
  const Op* shape = behind == nullptr ? nullptr : find(made_, behind->inputs()[1]);
  if (before != nullptr && shape != nullptr && before->inputs().size() == 1 && behind->outputs().size() == 1)
    around = {before, shape, behind};
  return around;
}

namespace {

// The Gather that repeats the entries of an operand; null for none. `made` has the nodes that were made by their results.
template <typename Made>
const Op* RepeatOf(const Made& made, const Var* var) {
  const auto it = made.find(var);
  return it == made.end() || TypeName(it->second->def()) != "Gather" ? nullptr : it->second;
}

}  // namespace

// The node reads no value that the op does not read, and gives the same.
bool Exporter::MayBecome(const Op& op, const NodeView& node) const {
  const Around around = AroundOf(op);
  const bool alone = around.before == nullptr;
  NodeNames inputs = Names(alone ? op : *around.before, true);
  for (const Var* var : op.inputs()) {
    if (const Op* repeat = RepeatOf(made_, var)) inputs.push_back(NameOf(*repeat->inputs()[0]));
  }
  const NodeNames outputs = Names(alone ? op : *around.behind, false);
  const auto read = [&inputs](absl::string_view name) {
    return name.empty() || std::find(inputs.begin(), inputs.end(), name) != inputs.end();
  };
  return std::all_of(node.inputs.begin(), node.inputs.end(), read) &&
         std::equal(outputs.begin(), outputs.end(), node.outputs.begin(), node.outputs.end());
}

void Exporter::FindRestored() {
  stripped_ = origin_ != nullptr && origin_->undo.opset() != 0 && !IsConverted(program_);  // but later versions of operators
  if (stripped_ || (origin_ != nullptr && opset_ != origin_->opset)) FindMade();
  if (!stripped_) return;
  ForEachOp(program_, [this](const Op& op) {
    std::string bytes = OriginalOf(op);
    NodeView node;
    if (bytes.empty() || !ReadNode(bytes, &node) || !MayBecome(op, node)) return;
    for (const Var* var : op.inputs()) {
      if (std::find(node.inputs.begin(), node.inputs.end(), NameOf(*var)) == node.inputs.end()) dropped_.insert(var);
    }
    for (const Var* var : op.inputs()) {
      const Op* repeat = RepeatOf(made_, var);
      if (repeat == nullptr) continue;
      omitted_.insert(repeat);
      dropped_.insert(repeat->inputs()[1]);
    }
    restored_.emplace(&op, std::move(bytes));
    const Around around = AroundOf(op);
    if (around.before == nullptr) return;
    omitted_.insert({around.before, around.shape, around.behind});
  });
  if (FitsOpset(origin_->undo.opset())) {
    opset_ = origin_->undo.opset();
    return;
  }
  restored_.clear();
  omitted_.clear();
  dropped_.clear();
}

bool Exporter::WriteRestored(const Op& op, Graph* graph, Rope* out) const {
  const auto it = restored_.find(&op);
  if (it == restored_.end()) return false;
  ++graph->nodes;
  Rope node;
  node.Text(it->second);
  out->Field(graph::kNode, node);
  return true;
}

std::string Exporter::OriginalToKeep(const Op& op, const NodeView& node, absl::string_view bytes, const Attributes& attributes) {
  if (stripped_) return "";
  if (std::string before = OriginalOf(op); !before.empty()) return before;
  const OnnxDef* def = DefOf(op.def());
  if (def == nullptr) return "";
  const auto [had_record, asked] = had_record_.try_emplace(def, false);
  if (asked) had_record->second = FindSchema(def->schema->type, origin_->opset) == def->schema;
  if (had_record->second && node.type == OperatorOf(def->schema->type)) return "";
  size_t operands = node.inputs.size();
  while (operands > 0 && node.inputs[operands - 1].empty()) --operands;
  const bool has_graphs = !op.SubBlocks().empty();
  const bool reads_made =
      std::any_of(op.inputs().begin(), op.inputs().end(), [this](const Var* var) { return RepeatOf(made_, var) != nullptr; });
  const bool same = !reads_made && node.type == OperatorOf(TypeName(op.def())) && operands == Names(op, true).size() &&
                    attributes.changed.empty() && attributes.added.empty();
  return same || has_graphs ? "" : std::string(bytes);
}

void Exporter::PlanFunctions() {
  const bool back = stripped_ && opset_ == origin_->undo.opset();
  WireReader reader(origin_->bytes());
  for (WireField field; reader.Next(&field);) {
    if (!field.Is(model::kFunctions, kBytes)) continue;
    const Location location = {.section = 'f', .index = static_cast<int>(function_texts_.size())};
    const std::string before = OriginalNode(origin_->undo.Find(location));
    std::string& now = function_texts_.emplace_back();
    if (!origin_->upgraded_functions.empty()) now = origin_->upgraded_functions[location.index];
    if (back && !before.empty()) now = before;
    if (stripped_) continue;
    if (!before.empty() || (!now.empty() && now != field.bytes))
      undo_.Add(location, WithOriginalNode(before.empty() ? field.bytes : before, ""));
  }
}

}  // namespace ampc::onnx
