// Internal to the ONNX importer: one import in progress.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "graph/formats/onnx/messages.h"
#include "graph/formats/onnx/origin.h"
#include "graph/formats/onnx/scope.h"
#include "graph/formats/onnx/types.h"
#include "graph/formats/onnx/values.h"
#include "graph/infer_memo.h"
#include "graph/program.h"

namespace ampc::onnx {

class Importer {
 public:
  // `trusts_shapes`: those that the file declares of values besides its inputs.
  Importer(std::shared_ptr<OnnxOrigin> origin, const std::string& path, bool program_only, bool trusts_shapes);
  absl::StatusOr<Program> Run();
  // Some op cannot be what it is with the types that its operands have.
  bool contradicts_itself() const { return contradicts_itself_; }

 private:
  using Vars = absl::InlinedVector<Var*, 4>;  // null for ""

  // The body of a function for one call: what the attributes that its nodes refer to are.
  struct Call {
    const Call* outer = nullptr;
    absl::string_view function;  // its message
    absl::flat_hash_map<absl::string_view, absl::string_view> attributes;
  };

  // importer.cc: the model, graphs
  absl::Status ReadHeader();
  absl::Status ImportGraph(absl::string_view bytes, Scope* scope);
  absl::Status DefineNames(Scope* scope);
  absl::Status DefineResults(Scope* scope);
  absl::Status ReadDeclared(const std::vector<absl::string_view>& infos, Scope* scope);
  absl::Status MakeInputs(Scope* scope);
  absl::Status ImportNodes(Scope* scope);
  absl::Status MakeOutputs(Scope* scope);
  absl::Status Error(absl::string_view what) const;
  absl::Status Damaged(absl::string_view what) const;
  absl::Status Twice(absl::string_view name) const;

  // scope.cc: names
  // `reader`: the node, or null for an output of the graph.
  absl::StatusOr<Var*> Read(absl::string_view name, const NodeView* reader, Scope* scope);
  absl::Status NotReadable(absl::string_view name, const NodeView* reader, absl::string_view why) const;
  void Capture(Var* var, Scope* scope, const Scope* home);
  std::string NameFor(absl::string_view name, const Scope& scope) const;
  Var* NewValue(absl::string_view name, VarKind kind, TensorType type, Location location, Scope* scope);
  Var* NewValue(int id, absl::string_view name, VarKind kind, TensorType type, Location location, Scope* scope);
  absl::StatusOr<TensorType> DeclaredType(absl::string_view name, const Scope& scope);
  absl::StatusOr<std::vector<int>> NodeOrder(const Scope& scope);
  absl::Status Waits(const Scope& scope, std::vector<std::vector<int>>* readers, bool* late);
  absl::Status NamesInAttribute(absl::string_view attribute, int depth, std::vector<absl::string_view>* names);
  absl::Status OuterNames(absl::string_view graph, int depth, std::vector<absl::string_view>* names);

  // import_value.cc: constants
  absl::Status ImportInitializers(Scope* scope);
  absl::Status AddConstant(absl::string_view name, StoredValue value, Location location, Scope* scope);
  absl::Status ImportConstantNode(const NodeView& node, int index, Scope* scope);

  // import_node.cc: one node
  absl::Status ImportNode(absl::string_view bytes, int index, Scope* scope);
  // Its attributes are all its own.
  absl::Status ImportWholeNode(absl::string_view bytes, int index, Scope* scope);
  absl::Status GatherInputs(const NodeView& node, int index, Scope* scope, Vars* inputs);
  absl::StatusOr<std::unique_ptr<Op>> MakeOp(const NodeView& node, const Vars& inputs, Scope* scope, int* added);
  // Null when it is not one that the native op can say.
  std::unique_ptr<Op> MakeCast(const NodeView& node, const Vars& inputs, Scope* scope);
  absl::StatusOr<std::unique_ptr<Op>> MakeOpaque(const NodeView& node, const Vars& inputs, Scope* scope, int* added);
  absl::Status AddResults(const NodeView& node, int index, const Vars& inputs, Scope* scope, Op* op);
  absl::Status ImportSubgraphs(const NodeView& node, Scope* scope, Op* op, std::vector<Var*>* captures);
  absl::StatusOr<BlockRef> ImportSubgraph(absl::string_view bytes, Scope* scope, std::vector<Var*>* captures);
  // The record of the operator; null for none.
  const OpDef* DefOf(const NodeView& node);

  // import_function.cc: calls of the model's functions
  absl::Status ReadFunctions();
  // The message of the function that the node calls; null for none.
  const absl::string_view* FindFunction(const NodeView& node) const;
  // Gives the call, whose operands are set, a block with the function's nodes, and its results their types. Nothing happens to a call that
  // does not fit.
  absl::Status ImportBody(const NodeView& node, const Vars& inputs, absl::string_view function, Scope* scope, Op* op);
  absl::Status ImportBody(const NodeView& node, const Vars& inputs, const FunctionView& function, Scope* scope, Op* op);
  absl::Status MakeFormals(const FunctionView& function, const Vars& inputs, Scope* scope);
  absl::Status MakeFunctionResults(const NodeView& node, const FunctionView& function, Scope* scope, Op* op);
  // The node with the attributes that it refers to in their places, and its bytes as bytes_; the node itself when it refers to none.
  absl::string_view WithAttributes(absl::string_view node);

  // solve_types.cc: element types that neither a declaration nor the value's own op says
  void SolveTypes();
  static bool LacksTypes(const Op& op);
  bool lacks_types_ = false;  // an op does

  const std::string& path_;
  std::shared_ptr<OnnxOrigin> origin_;
  Program program_;
  Symbols symbols_;
  std::shared_ptr<const WeightSource> bytes_;  // where the message that is read lies: the model
  ExternalFiles files_;
  const bool trusts_shapes_;
  bool contradicts_itself_ = false;
  const WeightSource* external_ = nullptr;  // the file of the external value before
  ModelView model_;
  absl::flat_hash_map<absl::string_view, const OpDef*> defs_;                                // those that were asked for
  using FunctionName = std::tuple<absl::string_view, absl::string_view, absl::string_view>;  // domain, name, overload
  absl::flat_hash_map<FunctionName, absl::string_view> functions_;
  const Call* call_ = nullptr;  // the body that is imported
  int64_t body_nodes_ = 0;
  InferMemo inferred_;
};

// Fills what the file does not say about results from the op's inference, which is right where they disagree. False where that fails.
bool CompleteTypes(const Op& op, InferMemo* memo);

// A subgraph deeper than this is refused, and so are functions.
inline constexpr int kMaxDepth = 64;
// Scope::graph and Location::graph inside of functions, of which the origin keeps nothing.
inline constexpr int kNoGraph = -1;

}  // namespace ampc::onnx
