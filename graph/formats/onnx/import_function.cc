// Calls of the model's own functions: an opaque op, as the file has it, with the nodes of the function as a block (function_body.h).
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/onnx/importer.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"

namespace ampc::onnx {
namespace {

constexpr int64_t kMostNodes = 250'000;  // of all bodies

// An AttributeProto under another name.
std::string Renamed(absl::string_view attribute, absl::string_view name) {
  std::string out;
  AppendBytesField(attribute::kName, name, &out);
  WireReader reader(attribute);
  for (WireField field; reader.Next(&field);) {
    if (field.number != attribute::kName) absl::StrAppend(&out, field.all);
  }
  return out;
}

}  // namespace

absl::Status Importer::ReadFunctions() {
  for (const absl::string_view bytes : model_.functions) {
    FunctionView view;
    if (!ReadFunction(bytes, &view)) return Damaged("a function");
    functions_[FunctionName(IsDefaultDomain(view.domain) ? "" : view.domain, view.name, view.overload)] = bytes;
  }
  return absl::OkStatus();
}

const absl::string_view* Importer::FindFunction(const NodeView& node) const {
  if (functions_.empty()) return nullptr;
  const auto it = functions_.find(FunctionName(node.IsDefaultDomain() ? "" : node.domain, node.type, node.overload));
  return it == functions_.end() ? nullptr : &it->second;
}

absl::string_view Importer::WithAttributes(absl::string_view node) {
  const auto reference = [](const WireField& field) {
    return field.Is(node::kAttribute, kBytes) ? BytesField(field.bytes, attribute::kRef) : absl::string_view();
  };
  bool refers = false;
  WireReader look(node);
  for (WireField field; call_ != nullptr && look.Next(&field);) refers = refers || !reference(field).empty();
  if (!refers) return node;
  std::string out;
  WireReader reader(node);
  for (WireField field; reader.Next(&field);) {
    const absl::string_view name = reference(field);
    const auto it = name.empty() ? call_->attributes.end() : call_->attributes.find(name);
    if (name.empty()) absl::StrAppend(&out, field.all);
    // One that neither the call nor the function gives is left out.
    if (it != call_->attributes.end())
      AppendBytesField(node::kAttribute, Renamed(it->second, BytesField(field.bytes, attribute::kName)), &out);
  }
  bytes_ = WeightBuffer(std::move(out));
  return {bytes_->bytes().data(), bytes_->bytes().size()};
}

absl::Status Importer::ImportBody(const NodeView& node, const Vars& inputs, absl::string_view function, Scope* scope, Op* op) {
  FunctionView view;
  if (!ReadFunction(function, &view)) return Damaged("a function");
  Call call;
  call.outer = call_;
  call.function = function;
  int depth = 0;
  for (const Call* outer = call_; outer != nullptr; outer = outer->outer, ++depth) {
    if (outer->function.data() == function.data()) return Error(absl::StrCat("function '", view.domain, ".", view.name, "' calls itself"));
  }
  body_nodes_ += static_cast<int64_t>(view.nodes.size());
  if (depth > kMaxDepth || body_nodes_ > kMostNodes) {
    return UnsupportedError(
        absl::StrCat(path_, ": functions in more than ", kMaxDepth, " levels, or calls that stand for more than ", kMostNodes, " nodes"));
  }
  for (const std::vector<absl::string_view>& attributes :
       {view.defaults, std::vector<absl::string_view>(node.attributes.begin(), node.attributes.end())}) {
    for (const absl::string_view attribute : attributes) call.attributes[BytesField(attribute, attribute::kName)] = attribute;
  }
  const int opset = origin_->opset;
  for (const OpsetView& own : view.opsets) {
    if (IsDefaultDomain(own.domain)) origin_->opset = static_cast<int>(own.version);
  }
  const Call* around = std::exchange(call_, &call);
  const absl::Status status = ImportBody(node, inputs, view, scope, op);
  call_ = around;
  origin_->opset = opset;
  return status;
}

absl::Status Importer::ImportBody(const NodeView& node, const Vars& inputs, const FunctionView& function, Scope* scope, Op* op) {
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size()) return absl::OkStatus();
  Scope inner;
  inner.parent = scope;
  inner.depth = scope->depth + 1;
  inner.function = true;
  inner.graph = kNoGraph;
  if (inner.depth > kMaxDepth) return Error(absl::StrCat("subgraphs in more than ", kMaxDepth, " levels"));
  inner.block = &program_.AddBlock(scope->block->index(), absl::StrCat("block", program_.num_blocks()));
  inner.view.nodes = function.nodes;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    if (function.inputs[i].empty())
      return Error(absl::StrCat("function '", function.domain, ".", function.name, "' has an operand without a name"));
    GraphName& name = inner.names[inner.Define(function.inputs[i])];
    name.input = true;
    name.absent = i >= inputs.size() || inputs[i] == nullptr;
  }
  AMPC_RETURN_IF_ERROR(DefineNames(&inner));
  AMPC_RETURN_IF_ERROR(MakeFormals(function, inputs, &inner));
  AMPC_RETURN_IF_ERROR(ImportNodes(&inner));
  return MakeFunctionResults(node, function, &inner, op);
}

// Values with the types that the call's operands have.
absl::Status Importer::MakeFormals(const FunctionView& function, const Vars& inputs, Scope* scope) {
  std::vector<Var*> formals;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    formals.push_back(NewValue(function.inputs[i], VarKind::kTemp, inputs[i]->type, {.graph = kNoGraph}, scope));
  }
  if (formals.empty()) return absl::OkStatus();
  std::unique_ptr<Op> enter = scope->block->NewOp(FindOp(kEnter));
  enter->SetOutputs(0, formals);
  scope->block->Append(std::move(enter));
  return absl::OkStatus();
}

absl::Status Importer::MakeFunctionResults(const NodeView& node, const FunctionView& function, Scope* scope, Op* op) {
  std::vector<Var*> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    AMPC_ASSIGN_OR_RETURN(Var * result, Read(function.outputs[i], nullptr, scope));
    if (result == nullptr)
      return Error(absl::StrCat("function '", function.domain, ".", function.name, "' gives an operand that the call leaves out"));
    results.push_back(result);
  }
  std::unique_ptr<Op> yield = scope->block->NewOp(FindOp(kYield));
  yield->SetInputs(0, results);
  scope->block->Append(std::move(yield));
  op->SetAttr(std::string(kFunctionBody), BlockRef{scope->block->index()});
  return absl::OkStatus();
}

}  // namespace ampc::onnx
