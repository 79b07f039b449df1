#include <queue>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/importer.h"

namespace ampc::onnx {

int Scope::Define(absl::string_view name) {
  const auto [it, added] = ids.try_emplace(name, static_cast<int>(names.size()));
  if (added) names.emplace_back();
  return it->second;
}

GraphName* Scope::Find(absl::string_view name) {
  const auto it = ids.find(name);
  return it == ids.end() ? nullptr : &names[it->second];
}

absl::StatusOr<TensorType> Importer::DeclaredType(absl::string_view name, const Scope& scope) {
  const auto it = scope.declared.empty() ? scope.declared.end() : scope.declared.find(name);
  if (it == scope.declared.end()) return TensorType::Unranked(DType::kInvalid);
  TensorType type;
  if (!ImportType(it->second, &symbols_, &type)) return Damaged(absl::StrCat("the type of value '", name, "'"));
  const auto id = scope.ids.find(name);
  const bool feed = scope.parent == nullptr && id != scope.ids.end() && scope.names[id->second].input;
  if (!trusts_shapes_ && !feed && type.kind == TypeKind::kTensor) type = TensorType::Unranked(type.dtype);
  return type;
}

// The name itself, unless an enclosing graph has it, too.
std::string Importer::NameFor(absl::string_view name, const Scope& scope) const {
  const auto hides = [&scope](absl::string_view candidate) {
    for (const Scope* outer = scope.parent; outer != nullptr; outer = outer->parent) {
      if (outer->ids.contains(candidate) || outer->block->FindVar(candidate) != nullptr) return true;
    }
    return false;
  };
  if (!hides(name) && scope.block->FindVar(name) == nullptr) return std::string(name);
  for (int n = 1;; ++n) {
    std::string candidate = absl::StrCat(name, ".", n);
    if (!hides(candidate) && !scope.ids.contains(candidate) && scope.block->FindVar(candidate) == nullptr) return candidate;
  }
}

Var* Importer::NewValue(absl::string_view name, VarKind kind, TensorType type, Location location, Scope* scope) {
  return NewValue(scope->Define(name), name, kind, std::move(type), location, scope);
}

Var* Importer::NewValue(int id, absl::string_view name, VarKind kind, TensorType type, Location location, Scope* scope) {
  std::string own = scope->parent == nullptr ? std::string(name) : NameFor(name, *scope);
  const bool renamed = own != name && call_ == nullptr;
  Var* var = scope->block->AddVar(std::move(own), kind, std::move(type));
  if (renamed) var->export_name = std::string(name);
  if (const absl::string_view marks = origin_->undo.Find(location); !marks.empty()) var->was = DecodeValueMarks(marks).was;
  if (location.graph != kNoGraph) {
    var->origin = static_cast<int>(origin_->values.size());
    origin_->values.emplace_back().location = location;
  }
  scope->names[id].var = var;
  return var;
}

// A value of an enclosing graph that changes from run to run has to be listed by every op around the reader.
void Importer::Capture(Var* var, Scope* scope, const Scope* home) {
  if (var->kind != VarKind::kTemp && var->kind != VarKind::kFeed) return;
  for (; scope != home; scope = scope->parent) {
    if (scope->captured.insert(var).second) scope->captures.push_back(var);
  }
}

absl::Status Importer::NotReadable(absl::string_view name, const NodeView* reader, absl::string_view why) const {
  const std::string who = reader == nullptr ? "a graph output" : absl::StrCat(reader->type, " node '", reader->name, "'");
  return Error(absl::StrCat(who, " reads '", name, "'", why));
}

absl::StatusOr<Var*> Importer::Read(absl::string_view name, const NodeView* reader, Scope* scope) {
  for (Scope* home = scope; home != nullptr; home = home->function ? nullptr : home->parent) {
    const GraphName* found = home->Find(name);
    if (found == nullptr) continue;
    if (found->absent) return nullptr;
    if (found->var == nullptr) return NotReadable(name, reader, " before it is defined");
    Capture(found->var, scope, home);
    return found->var;
  }
  return NotReadable(name, reader, ", which nothing defines");
}

// The names that a graph reads and does not define, also through the graphs in it.
absl::Status Importer::OuterNames(absl::string_view graph, int depth, std::vector<absl::string_view>* names) {
  if (depth > kMaxDepth) return Error(absl::StrCat("subgraphs in more than ", kMaxDepth, " levels"));
  GraphView view;
  if (!ReadGraph(graph, &view)) return Damaged("a graph");
  absl::flat_hash_set<absl::string_view> defined;
  std::vector<absl::string_view> read;
  NodeView node;
  for (const absl::string_view bytes : view.inputs) defined.insert(BytesField(bytes, value_info::kName));
  for (const absl::string_view bytes : view.initializers) defined.insert(BytesField(bytes, tensor::kName));
  for (const absl::string_view bytes : view.nodes) {
    if (!ReadNode(bytes, &node)) return Damaged("a node");
    defined.insert(node.outputs.begin(), node.outputs.end());
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for (const absl::string_view attribute : node.attributes) AMPC_RETURN_IF_ERROR(NamesInAttribute(attribute, depth, &read));
  }
  for (const absl::string_view bytes : view.outputs) read.push_back(BytesField(bytes, value_info::kName));
  for (const absl::string_view name : read) {
    if (!name.empty() && !defined.contains(name)) names->push_back(name);
  }
  return absl::OkStatus();
}

absl::Status Importer::NamesInAttribute(absl::string_view attribute, int depth, std::vector<absl::string_view>* names) {
  WireReader reader(attribute);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(attribute::kG, kBytes) || field.Is(attribute::kGraphs, kBytes))
      AMPC_RETURN_IF_ERROR(OuterNames(field.bytes, depth + 1, names));
  }
  return reader.ok() ? absl::OkStatus() : Damaged("an attribute");
}

// By node: the nodes that read its results. `late`: one of them does not come behind it.
absl::Status Importer::Waits(const Scope& scope, std::vector<std::vector<int>>* readers, bool* late) {
  NodeView node;
  std::vector<absl::string_view> names;
  for (size_t n = 0; n < scope.view.nodes.size(); ++n) {
    if (!ReadNode(scope.view.nodes[n], &node)) return Damaged("a node");
    names.assign(node.inputs.begin(), node.inputs.end());
    for (const absl::string_view attribute : node.attributes) AMPC_RETURN_IF_ERROR(NamesInAttribute(attribute, scope.depth, &names));
    for (const absl::string_view name : names) {
      const auto it = scope.ids.find(name);
      const int node_of = it == scope.ids.end() ? -1 : scope.names[it->second].node;
      if (node_of < 0) continue;
      *late = *late || node_of >= static_cast<int>(n);
      if (readers != nullptr) (*readers)[node_of].push_back(static_cast<int>(n));
    }
  }
  return absl::OkStatus();
}

// The order in which nodes are imported; empty for that of the file. Sorted, a node comes as early as those in front of it in the file let
// it.
absl::StatusOr<std::vector<int>> Importer::NodeOrder(const Scope& scope) {
  std::vector<int> order;
  bool late = false;
  if (scope.may_be_late) AMPC_RETURN_IF_ERROR(Waits(scope, nullptr, &late));
  if (!late) return order;
  const size_t count = scope.view.nodes.size();
  std::vector<std::vector<int>> readers(count);
  AMPC_RETURN_IF_ERROR(Waits(scope, &readers, &late));
  std::vector<int> missing(count, 0);
  for (const std::vector<int>& list : readers) {
    for (const int reader : list) ++missing[reader];
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (size_t n = 0; n < count; ++n) {
    if (missing[n] == 0) ready.push(static_cast<int>(n));
  }
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const int reader : readers[next]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == count) return order;
  size_t stuck = 0;
  while (missing[stuck] == 0) ++stuck;
  NodeView node;
  (void)ReadNode(scope.view.nodes[stuck], &node);
  return Error(absl::StrCat("the graph is cyclic: node '", node.name.empty() ? node.type : node.name, "' can never run"));
}

}  // namespace ampc::onnx
