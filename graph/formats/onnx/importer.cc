#include "graph/formats/onnx/importer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/import.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {
namespace {

constexpr int kOldestOpset = 1;

bool HasGraph(absl::string_view attribute) {
  WireReader reader(attribute);
  for (WireField field; reader.Next(&field);) {
    if (field.number == attribute::kG || field.number == attribute::kGraphs) return true;
  }
  return false;
}

}  // namespace

Importer::Importer(std::shared_ptr<OnnxOrigin> origin, const std::string& path, bool program_only, bool trusts_shapes)
    : path_(path),
      origin_(std::move(origin)),
      symbols_(&program_),
      bytes_(origin_->source),
      files_(path, !program_only),
      trusts_shapes_(trusts_shapes) {}

absl::Status Importer::Error(absl::string_view what) const { return BadInputError(absl::StrCat(path_, ": ", what)); }

absl::Status Importer::Damaged(absl::string_view what) const {
  return Error(absl::StrCat(what, " is malformed: not an ONNX model, or damaged (", origin_->bytes().size(), " bytes)"));
}

absl::Status Importer::Twice(absl::string_view name) const { return Error(absl::StrCat("value '", name, "' is defined twice")); }

absl::Status Importer::ReadHeader() {
  if (!ReadModel(origin_->bytes(), &model_)) return Damaged("the model");
  if (model_.graphs != 1) return Error(absl::StrCat("not an ONNX model: it has ", model_.graphs, " graphs, needs one"));
  for (const OpsetView& opset : model_.opsets) {
    if (!IsDefaultDomain(opset.domain)) continue;
    if (opset.version < kOldestOpset || opset.version > NewestOpset()) {
      return UnsupportedError(
          absl::StrCat(path_, ": operator set ", opset.version, " is not supported, ", kOldestOpset, " to ", NewestOpset(), " are"));
    }
    origin_->opset = static_cast<int>(opset.version);
  }
  if (model_.opsets.empty())
    return UnsupportedError(
        absl::StrCat(path_, ": a model of IR version ", model_.ir_version, " that names no operator set is not supported"));
  origin_->ir_version = model_.ir_version;
  origin_->undo = Undo::Decode(model_.undo);
  AMPC_RETURN_IF_ERROR(ReadFunctions());
  return absl::OkStatus();
}

absl::Status Importer::ReadDeclared(const std::vector<absl::string_view>& infos, Scope* scope) {
  for (const absl::string_view bytes : infos) {
    ValueInfoView info;
    if (!ReadValueInfo(bytes, &info)) return Damaged("the type of a value");
    if (info.has_type) scope->declared[info.name] = info.type;
  }
  return absl::OkStatus();
}

// Every name that the graph defines, with the place of its definition.
absl::Status Importer::DefineNames(Scope* scope) {
  const size_t constants = scope->view.initializers.size(), values = scope->view.inputs.size() + constants + scope->view.nodes.size();
  scope->ids.reserve(values);
  scope->names.reserve(values);
  origin_->values.reserve(origin_->values.size() + values);
  if (scope->parent == nullptr) program_.ReserveNames(values);
  for (const absl::string_view bytes : scope->view.inputs) {
    const absl::string_view text = BytesField(bytes, value_info::kName);
    if (std::exchange(scope->names[scope->Define(text)].input, true)) return Twice(text);
  }
  const auto initializer = [&](absl::string_view text) -> absl::Status {
    if (std::exchange(scope->names[scope->Define(text)].initializer, true)) return Twice(text);
    return absl::OkStatus();
  };
  for (const absl::string_view bytes : scope->view.initializers) AMPC_RETURN_IF_ERROR(initializer(BytesField(bytes, tensor::kName)));
  for (const absl::string_view bytes : scope->view.sparse)
    AMPC_RETURN_IF_ERROR(initializer(BytesField(BytesField(bytes, 1), tensor::kName)));
  return DefineResults(scope);
}

absl::Status Importer::DefineResults(Scope* scope) {
  const std::vector<absl::string_view>& nodes = scope->view.nodes;
  origin_->ops.reserve(origin_->ops.size() + nodes.size());
  scope->first_read.reserve(nodes.size());
  scope->first_result.reserve(nodes.size());
  scope->reads.reserve(2 * nodes.size());
  NodeView node;
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!ReadNode(nodes[n], &node)) return Damaged("a node");
    scope->first_read.push_back(static_cast<int>(scope->reads.size()));
    for (const absl::string_view input : node.inputs) {
      const auto it = input.empty() ? scope->ids.end() : scope->ids.find(input);
      scope->reads.push_back(it == scope->ids.end() ? -1 : it->second);
      scope->may_be_late = scope->may_be_late || (!input.empty() && it == scope->ids.end());
    }
    scope->may_be_late = scope->may_be_late || std::any_of(node.attributes.begin(), node.attributes.end(), HasGraph);
    scope->first_result.push_back(static_cast<int>(scope->names.size()));
    for (const absl::string_view output : node.outputs) {
      if (output.empty()) continue;
      GraphName& name = scope->names[scope->Define(output)];
      if (name.node >= 0 || name.input || name.initializer) return Twice(output);
      name.node = static_cast<int>(n);
    }
  }
  return absl::OkStatus();
}

// Feeds of the model, or the inputs of a subgraph.
absl::Status Importer::MakeInputs(Scope* scope) {
  std::vector<Var*> inputs;
  for (size_t i = 0; i < scope->view.inputs.size(); ++i) {
    const absl::string_view name = BytesField(scope->view.inputs[i], value_info::kName);
    if (scope->Find(name)->initializer) continue;
    if (name.empty()) return Error("a graph input has no name");
    AMPC_ASSIGN_OR_RETURN(TensorType type, DeclaredType(name, *scope));
    const VarKind kind = scope->parent == nullptr ? VarKind::kFeed : VarKind::kTemp;
    inputs.push_back(NewValue(name, kind, std::move(type), {.section = 'p', .graph = scope->graph, .index = static_cast<int>(i)}, scope));
  }
  if (scope->parent == nullptr) {
    program_.feeds = std::move(inputs);
  } else if (!inputs.empty()) {
    std::unique_ptr<Op> enter = scope->block->NewOp(FindOp(kEnter));
    enter->SetOutputs(0, inputs);
    scope->block->Append(std::move(enter));
  }
  return absl::OkStatus();
}

absl::Status Importer::MakeOutputs(Scope* scope) {
  std::vector<Var*> outputs;
  for (const absl::string_view bytes : scope->view.outputs) {
    AMPC_ASSIGN_OR_RETURN(Var * var, Read(BytesField(bytes, value_info::kName), nullptr, scope));
    outputs.push_back(var);
  }
  if (scope->parent == nullptr) {
    program_.fetches = std::move(outputs);
    return absl::OkStatus();
  }
  std::unique_ptr<Op> yield = scope->block->NewOp(FindOp(kYield));
  yield->SetInputs(0, outputs);
  scope->block->Append(std::move(yield));
  return absl::OkStatus();
}

absl::Status Importer::ImportNodes(Scope* scope) {
  AMPC_ASSIGN_OR_RETURN(const std::vector<int> order, NodeOrder(*scope));
  for (size_t i = 0; i < scope->view.nodes.size(); ++i) {
    const int index = order.empty() ? static_cast<int>(i) : order[i];
    AMPC_RETURN_IF_ERROR(ImportNode(scope->view.nodes[index], index, scope));
  }
  return absl::OkStatus();
}

absl::Status Importer::ImportGraph(absl::string_view bytes, Scope* scope) {
  if (scope->depth > kMaxDepth) return Error(absl::StrCat("subgraphs in more than ", kMaxDepth, " levels"));
  scope->graph = call_ == nullptr ? static_cast<int>(origin_->graphs.size()) : kNoGraph;
  if (call_ == nullptr) origin_->graphs.push_back(bytes);
  if (!ReadGraph(bytes, &scope->view)) return Damaged("a graph");
  AMPC_RETURN_IF_ERROR(DefineNames(scope));
  AMPC_RETURN_IF_ERROR(ReadDeclared(scope->view.value_infos, scope));
  AMPC_RETURN_IF_ERROR(ReadDeclared(scope->view.inputs, scope));
  AMPC_RETURN_IF_ERROR(ReadDeclared(scope->view.outputs, scope));
  AMPC_RETURN_IF_ERROR(MakeInputs(scope));
  AMPC_RETURN_IF_ERROR(ImportInitializers(scope));
  AMPC_RETURN_IF_ERROR(ImportNodes(scope));
  return MakeOutputs(scope);
}

absl::StatusOr<Program> Importer::Run() {
  AMPC_RETURN_IF_ERROR(ReadHeader());
  Scope scope;
  scope.block = &program_.main();
  AMPC_RETURN_IF_ERROR(ImportGraph(model_.graph, &scope));
  SolveTypes();
  ForEachVar(program_, [this](const Var& var) {
    if (var.origin < 0) return;
    if (origin_->types.empty() || !(origin_->types.back() == var.type)) origin_->types.push_back(var.type);
    origin_->values[var.origin].type = static_cast<int>(origin_->types.size()) - 1;
  });
  program_.origin = origin_;
  return std::move(program_);
}

absl::StatusOr<Program> ImportModel(std::shared_ptr<const WeightSource> source, const std::string& path, bool program_only) {
  // A file's declarations of values are hints: if they do not fit, it is read again without them.
  for (const bool trusts_shapes : {true, false}) {
    auto origin = std::make_shared<OnnxOrigin>();
    origin->source = source;
    Importer importer(std::move(origin), path, program_only, trusts_shapes);
    absl::StatusOr<Program> program = importer.Run();
    if (!program.ok() || !importer.contradicts_itself() || !trusts_shapes) return program;
  }
  return InternalError(absl::StrCat(path, ": was not read"));
}

}  // namespace ampc::onnx
