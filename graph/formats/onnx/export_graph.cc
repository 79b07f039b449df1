#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/exporter.h"
#include "graph/formats/onnx/types.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc::onnx {
namespace {

constexpr int64_t kOldestSeparateInitializers = 4;  // IR version: initializers need not be graph inputs

bool IsBoundary(const Op& op) { return op.type() == kEnter || op.type() == kYield; }

}  // namespace

int Exporter::NumberOf(const Graph& graph) const {
  const auto it = graph_of_.find(graph.bytes.data());
  return graph.bytes.empty() || it == graph_of_.end() ? -1 : it->second;
}

// Puts the block's ops and constants to their places in the file.
void Exporter::Sort(Graph* graph) {
  const int number = NumberOf(*graph);
  if (number >= 0) (void)ReadGraph(graph->bytes, &graph->view);
  graph->ops.resize(graph->view.nodes.size());
  graph->constants.resize(graph->view.nodes.size());
  graph->values.resize(graph->view.initializers.size());
  for (const std::unique_ptr<Op>& op : graph->block->ops()) {
    if (IsBoundary(*op) || omitted_.contains(op.get())) continue;
    const OnnxOrigin::OpLocation* location = op->origin < 0 || number < 0 ? nullptr : &origin_->ops[op->origin];
    if (location != nullptr && location->graph == number && graph->ops[location->index] == nullptr) {
      graph->ops[location->index] = op.get();
      continue;
    }
    graph->new_ops.push_back(op.get());
    for (const Var* var : op->outputs()) graph->new_results[var] = op.get();
  }
  for (const std::unique_ptr<Var>& var : graph->block->vars()) {
    if (dropped_.contains(var.get())) continue;
    if (!var->export_name.empty()) graph->renamed[var->export_name] = var.get();
    const bool constant = var->kind == VarKind::kConst || var->kind == VarKind::kParam;
    const OnnxOrigin::Value* value = var->origin < 0 || number < 0 ? nullptr : &origin_->values[var->origin];
    if (value != nullptr && value->constant >= 0 && value->location.graph == number) {
      if (value->location.section == 'i') graph->values[value->location.index] = var.get();
      if (value->location.section == 'n') graph->constants[value->location.index] = var.get();
    } else if (constant && read_[var->id()]) {
      graph->new_values.push_back(var.get());
    }
    if (value != nullptr && value->location.graph == number) ++graph->alive;
  }
}

// The values that the file's graph defines and the program has no more.
void Exporter::FindGone(Graph* graph) const {
  const int number = NumberOf(*graph);
  if (number < 0 || graph->alive == values_of_[number]) return;
  NodeView node;
  for (size_t n = 0; n < graph->view.nodes.size(); ++n) {
    (void)ReadNode(graph->view.nodes[n], &node);
    for (const absl::string_view name : node.outputs) {
      if (!name.empty() && FindValue(name, *graph) == nullptr) graph->gone.insert(name);
    }
  }
  for (const absl::string_view bytes : graph->view.initializers) {
    const absl::string_view name = BytesField(bytes, tensor::kName);
    if (FindValue(name, *graph) == nullptr) graph->gone.insert(name);
  }
}

const Var* Exporter::FindValue(absl::string_view name, const Graph& graph) const {
  if (!graph.renamed.empty()) {
    const auto it = graph.renamed.find(name);
    if (it != graph.renamed.end()) return it->second;
  }
  const Var* var = graph.block->FindVar(name);
  return var == nullptr || !var->export_name.empty() ? nullptr : var;
}

// A new op comes right in front of the first node that needs it.
absl::Status Exporter::WriteNewDependencies(const Op& op, Graph* graph, Rope* out) {
  const auto is_new = [graph](const Var* var) { return graph->new_results.contains(var); };
  if (graph->new_ops.empty() || std::none_of(op.inputs().begin(), op.inputs().end(), is_new)) return absl::OkStatus();
  // Depth first without recursion: chains of new ops may be long.
  std::vector<std::pair<const Op*, size_t>> stack = {{&op, 0}};
  while (!stack.empty()) {
    auto& [current, next] = stack.back();
    if (next < current->inputs().size()) {
      const auto it = graph->new_results.find(current->inputs()[next++]);
      if (it != graph->new_results.end() && it->second != current && graph->written.insert(it->second).second)
        stack.push_back({it->second, 0});
      continue;
    }
    const Op* done = current;
    stack.pop_back();
    if (done != &op) AMPC_RETURN_IF_ERROR(WriteNewNode(*done, graph, out));
  }
  return absl::OkStatus();
}

absl::Status Exporter::WriteNewOps(Graph* graph, Rope* out) {
  for (const Op* op : graph->new_ops) {
    if (graph->written.contains(op)) continue;
    graph->written.insert(op);
    AMPC_RETURN_IF_ERROR(WriteNewDependencies(*op, graph, out));
    AMPC_RETURN_IF_ERROR(WriteNewNode(*op, graph, out));
  }
  return absl::OkStatus();
}

std::vector<const Var*> Exporter::Inputs(const Graph& graph) const {
  if (graph.block->index() == 0) return {program_.feeds.begin(), program_.feeds.end()};
  const auto& ops = graph.block->ops();
  if (ops.empty() || ops.front()->type() != kEnter) return {};
  return {ops.front()->outputs().begin(), ops.front()->outputs().end()};
}

std::vector<const Var*> Exporter::Outputs(const Graph& graph) const {
  if (graph.block->index() == 0) return {program_.fetches.begin(), program_.fetches.end()};
  const auto& ops = graph.block->ops();
  if (ops.empty() || ops.back()->type() != kYield) return {};
  return {ops.back()->inputs().begin(), ops.back()->inputs().end()};
}

// `had`, a ValueInfoProto, with the type that the value has now; "" for no change.
std::string Exporter::PatchedInfo(absl::string_view had, const Var& var) const {
  if (var.type.kind != TypeKind::kTensor) return "";
  bool dims = false;
  if (var.origin >= 0 && origin_ != nullptr) {
    const TensorType& then = origin_->TypeOf(origin_->values[var.origin]);
    dims = then.kind == TypeKind::kTensor && !Compatible(var.type.WithDType(then.dtype), then);
    if (!dims && (then.dtype == var.type.dtype || var.type.dtype == DType::kInvalid)) return "";
  }
  std::string out;
  WireReader reader(had);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(value_info::kType, kBytes)) {
      AppendBytesField(value_info::kType, PatchedType(field.bytes, var.type, dims, program_), &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  return out == had ? "" : out;
}

void Exporter::WriteValueInfo(int number, const WireField& field, const Graph& graph, Rope* out) const {
  const absl::string_view name = BytesField(field.bytes, value_info::kName);
  const Var* var = FindValue(name, graph);
  if (var == nullptr && graph.gone.contains(name)) return;
  const std::string patched = var == nullptr ? "" : PatchedInfo(field.bytes, *var);
  if (patched.empty()) return out->Keep(field.all);
  std::string text;
  AppendBytesField(number, patched, &text);
  out->Text(text);
}

void Exporter::WriteNewInputs(Graph* graph, Rope* out) {
  std::string text;
  const auto add = [&](const Var& var) {
    AppendBytesField(graph::kInput, MakeValueInfo(NameOf(var), var.type, program_), &text);
    MarkValue(var, {.section = 'p', .graph = graph->number, .index = graph->inputs++});
  };
  for (const Var* var : Inputs(*graph)) {
    const bool had =
        var->origin >= 0 && origin_ != nullptr && origin_->values[var->origin].location.section == 'p' && !graph->bytes.empty();
    if (!had) add(*var);
  }
  if (origin_ != nullptr && origin_->ir_version < kOldestSeparateInitializers && graph->number == 0) {
    for (const Var* var : graph->new_values) {
      AppendBytesField(graph::kInput, MakeValueInfo(NameOf(*var), var->type, program_), &text);
      ++graph->inputs;
    }
  }
  out->Text(text);
}

void Exporter::WriteInput(const WireField& field, Graph* graph, Rope* out) {
  ++graph->next_input;
  const Var* var = FindValue(BytesField(field.bytes, value_info::kName), *graph);
  if (var == nullptr || dropped_.contains(var)) return;
  MarkValue(*var, {.section = 'p', .graph = graph->number, .index = graph->inputs++});
  WriteValueInfo(graph::kInput, field, *graph, out);
}

// `had`, a ValueInfoProto, for another value in its place.
std::string Exporter::RenamedInfo(absl::string_view had, const Var& var) const {
  std::string out;
  WireReader reader(had);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(value_info::kName, kBytes)) {
      AppendBytesField(value_info::kName, NameOf(var), &out);
    } else if (field.Is(value_info::kType, kBytes) && var.type.kind == TypeKind::kTensor) {
      AppendBytesField(value_info::kType, PatchedType(field.bytes, var.type, false, program_), &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  return out;
}

// Outputs are written in the order of the program; what the file says about one of the same name, or else of the same position, stays.
void Exporter::WriteOutputs(Graph* graph, Rope* out) {
  const std::vector<const Var*> outputs = Outputs(*graph);
  std::vector<WireField> fields;
  absl::flat_hash_map<absl::string_view, size_t> by_name;
  WireReader reader(graph->bytes);
  for (WireField field; reader.Next(&field);) {
    if (!field.Is(graph::kOutput, kBytes)) continue;
    by_name.try_emplace(BytesField(field.bytes, value_info::kName), fields.size());
    fields.push_back(field);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Var& var = *outputs[i];
    const std::string& name = NameOf(var);
    const auto it = by_name.find(name);
    const bool same = i < fields.size() && BytesField(fields[i].bytes, value_info::kName) == name;
    std::string patched;
    if (same || it != by_name.end()) {
      const WireField& field = fields[same ? i : it->second];
      patched = PatchedInfo(field.bytes, var);
      if (patched.empty()) {
        out->Keep(field.all);
        continue;
      }
    } else {
      patched = outputs.size() == fields.size() ? RenamedInfo(fields[i].bytes, var) : MakeValueInfo(name, var.type, program_);
    }
    std::string text;
    AppendBytesField(graph::kOutput, patched, &text);
    out->Text(text);
  }
}

// A new field comes behind the last of its kind, or where a serializer would put it: in front of the field `next`.
absl::Status Exporter::WriteNewParts(int next, Graph* graph, Rope* out) {
  if (!graph->ops_done && graph->next_node == graph->view.nodes.size() && next > graph::kNode) {
    graph->ops_done = true;
    AMPC_RETURN_IF_ERROR(WriteNewOps(graph, out));
  }
  if (!graph->values_done && graph->next_value == graph->view.initializers.size() && next > graph::kInitializer) {
    graph->values_done = true;
    for (const Var* var : graph->new_values) AMPC_RETURN_IF_ERROR(WriteInitializer(*var, "", graph, out));
  }
  if (!graph->inputs_done && graph->next_input == graph->view.inputs.size() && next > graph::kInput) {
    graph->inputs_done = true;
    WriteNewInputs(graph, out);
  }
  if (!graph->outputs_done && graph->view.outputs.empty() && next > graph::kOutput) {
    graph->outputs_done = true;
    WriteOutputs(graph, out);
  }
  return absl::OkStatus();
}

absl::Status Exporter::WriteGraphField(const WireField& field, Graph* graph, Rope* out) {
  switch (field.number) {
    case graph::kNode: {
      const size_t node = graph->next_node++;
      if (graph->constants[node] != nullptr) return WriteConstantNode(*graph->constants[node], field.all, graph, out);
      if (graph->ops[node] == nullptr) return absl::OkStatus();
      AMPC_RETURN_IF_ERROR(WriteNewDependencies(*graph->ops[node], graph, out));
      return WriteNode(*graph->ops[node], field, graph, out);
    }
    case graph::kInitializer: {
      const Var* var = graph->values[graph->next_value++];
      return var == nullptr ? absl::OkStatus() : WriteInitializer(*var, field.all, graph, out);
    }
    case graph::kInput: WriteInput(field, graph, out); break;
    case graph::kOutput:
      if (!std::exchange(graph->outputs_done, true)) WriteOutputs(graph, out);
      break;
    case graph::kValueInfo: WriteValueInfo(graph::kValueInfo, field, *graph, out); break;
    default: out->Keep(field.all);
  }
  return absl::OkStatus();
}

absl::StatusOr<Rope> Exporter::WriteGraph(const Block& block, absl::string_view bytes) {
  Graph graph;
  graph.block = &block;
  graph.bytes = bytes;
  graph.number = graphs_++;
  Sort(&graph);
  FindGone(&graph);
  Rope out;
  WireReader reader(graph.bytes);
  for (WireField field; reader.Next(&field);) {
    if (field.type != kBytes) {
      out.Keep(field.all);
      continue;
    }
    AMPC_RETURN_IF_ERROR(WriteNewParts(field.number, &graph, &out));
    AMPC_RETURN_IF_ERROR(WriteGraphField(field, &graph, &out));
  }
  constexpr int kEnd = 1 << 30;
  if (graph.bytes.empty()) {
    AMPC_RETURN_IF_ERROR(WriteNewParts(graph::kName, &graph, &out));
    std::string name;
    AppendBytesField(graph::kName, block.name(), &name);
    out.Text(name);
  }
  AMPC_RETURN_IF_ERROR(WriteNewParts(kEnd, &graph, &out));
  return out;
}

}  // namespace ampc::onnx
