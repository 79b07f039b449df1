// Internal to the ONNX exporter: one export in progress.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "graph/formats/onnx/external_layout.h"
#include "graph/formats/onnx/messages.h"
#include "graph/formats/onnx/origin.h"
#include "graph/formats/onnx/rope.h"
#include "graph/program.h"

namespace ampc::onnx {

using NodeNames = absl::InlinedVector<absl::string_view, 4>;  // of operands or results

class Exporter {
 public:
  explicit Exporter(const Program& program);
  // First: decides what goes to the file of that name with external data.
  absl::Status PlanValues(std::string location, uint64_t most_in_file);
  absl::StatusOr<Rope> Model();
  const ExternalLayout& external() const { return external_; }

 private:
  // One graph: its message, or "" for a block that no file had.
  struct Graph {
    const Block* block = nullptr;
    absl::string_view bytes;
    GraphView view;
    int number = 0;                               // in the file that is written
    int nodes = 0, initializers = 0, inputs = 0;  // written
    int alive = 0;                                // values of the file that are still in the program
    // How far the file's fields are written, and what new parts are.
    size_t next_node = 0, next_value = 0, next_input = 0;
    bool ops_done = false, values_done = false, inputs_done = false, outputs_done = false;
    std::vector<const Op*> ops;         // by node of the file
    std::vector<const Var*> constants;  // by node of the file
    std::vector<const Var*> values;     // by initializer of the file
    std::vector<const Op*> new_ops;
    absl::flat_hash_map<const Var*, const Op*> new_results;
    absl::flat_hash_set<const Op*> written;
    std::vector<const Var*> new_values;
    absl::flat_hash_map<absl::string_view, const Var*> renamed;  // by the file's name
    absl::flat_hash_set<absl::string_view> gone;                 // names whose values are no longer in the program
  };

  // exporter.cc: the model
  absl::Status ChooseOpset();
  absl::Status CheckOpset() const;
  bool FitsOpset(int opset) const;
  std::string Opset(absl::string_view had) const;
  void WriteMetadata(absl::string_view had, bool* done, Rope* out) const;
  Rope NewModel(const Rope& graph) const;

  // export_graph.cc: one graph
  absl::StatusOr<Rope> WriteGraph(const Block& block, absl::string_view bytes);
  int NumberOf(const Graph& graph) const;  // in the origin, -1 for none
  void Sort(Graph* graph);
  void FindGone(Graph* graph) const;
  absl::Status WriteGraphField(const WireField& field, Graph* graph, Rope* out);
  absl::Status WriteNewParts(int next, Graph* graph, Rope* out);
  absl::Status WriteNewDependencies(const Op& op, Graph* graph, Rope* out);
  absl::Status WriteNewOps(Graph* graph, Rope* out);
  void WriteInput(const WireField& field, Graph* graph, Rope* out);
  void WriteNewInputs(Graph* graph, Rope* out);
  void WriteOutputs(Graph* graph, Rope* out);
  void WriteValueInfo(int number, const WireField& field, const Graph& graph, Rope* out) const;
  const Var* FindValue(absl::string_view name, const Graph& graph) const;
  std::vector<const Var*> Inputs(const Graph& graph) const;
  std::vector<const Var*> Outputs(const Graph& graph) const;
  std::string PatchedInfo(absl::string_view had, const Var& var) const;
  std::string RenamedInfo(absl::string_view had, const Var& var) const;

  // export_node.cc: one node
  absl::Status WriteNode(const Op& op, const WireField& had, Graph* graph, Rope* out);
  absl::Status WriteNewNode(const Op& op, Graph* graph, Rope* out);
  struct Attributes {                                 // the fields of a node's attributes
    absl::InlinedVector<bool, 8> kept;                // by attribute of the file: it is as it was
    absl::InlinedVector<absl::string_view, 8> names;  // by attribute of the file
    std::vector<Rope> changed, added;                 // those that are not kept, in order, nothing for one that is gone; and new ones
  };
  absl::Status WriteAttributes(const Op& op, const NodeView& node, Attributes* attributes);
  absl::Status WriteNewAttributes(const Op& op, Attributes* attributes);
  absl::StatusOr<Rope> WriteGraphAttribute(const Op& op, absl::string_view had, const AttributeView& view);
  void Mark(const Op& op, absl::string_view original, Graph* graph);
  NodeNames Names(const Op& op, bool inputs) const;
  bool HasNames(const Op& op, bool inputs, const NodeNames& had) const;
  std::string NodeName(absl::string_view result);

  // export_upgraded.cc: nodes that another operator set changed
  absl::string_view MarksInFile(const Op& op) const;  // what the file says of the op's node, "" for nothing
  std::string OriginalOf(const Op& op) const;         // the NodeProto that the file says it was, "" for none; next: that it has to say
  std::string OriginalToKeep(const Op& op, const NodeView& node, absl::string_view bytes, const Attributes& attributes);
  bool MadeByOpset(const Op& op) const;  // the file did not have the node before the conversion, or says so
  bool MayBecome(const Op& op, const NodeView& node) const;
  struct Around {  // the nodes that were made around one
    const Op *before = nullptr, *shape = nullptr, *behind = nullptr;
  };
  void FindMade();
  Around AroundOf(const Op& op) const;
  void FindRestored();  // and takes the operator set back, where all ops can go back
  void PlanFunctions();
  bool WriteRestored(const Op& op, Graph* graph, Rope* out) const;

  // export_value.cc: constants
  bool Unchanged(const Var& var) const;
  absl::Status WriteInitializer(const Var& var, absl::string_view had, Graph* graph, Rope* out);
  absl::Status WriteConstantNode(const Var& var, absl::string_view had, Graph* graph, Rope* out);
  absl::StatusOr<Rope> Tensor(const Var& var, absl::string_view had, absl::string_view name);  // `had`: the TensorProto that it was, or ""
  void MarkValue(const Var& var, Location location);
  int FormMark(const Var& var, absl::string_view had_tensor) const;
  const ExternalLayout::Extent* ExtentOf(const Var& var) const;
  // The position of the value in the external file before any conversion, if that is known.
  std::optional<ValueMarks::External> Before(const Var& var) const;
  bool LayOutAsBefore();
  void LayOut(bool keep_offsets);
  const std::string& NameOf(const Var& var) const;
  bool InFunction(const Block& block) const { return functions_[block.index()]; }

  const Program& program_;
  const OnnxOrigin* origin_;
  const std::vector<bool> functions_;  // blocks that are not written: the file has the functions
  ExternalLayout external_;
  int opset_ = 0, graphs_ = 0;
  const bool converted_;
  bool stripped_ = false, node_names_known_ = false;
  absl::flat_hash_map<const OpDef*, bool> had_record_;              // the file's operator set has it; those that were asked for
  absl::flat_hash_map<const Op*, std::string> restored_;            // ops that are written as these NodeProtos
  absl::flat_hash_set<const Op*> omitted_;                          // those that were made around them
  absl::flat_hash_map<const Var*, const Op*> made_, made_readers_;  // nodes that were made: by result, by first operand
  absl::flat_hash_set<const Var*> dropped_;                         // constants that nothing reads then
  std::vector<std::string> function_texts_;                         // by place in the file; "" for as it is
  Undo undo_;
  absl::flat_hash_map<const char*, int> graph_of_;   // by place of the message: number in the origin
  std::vector<int> values_of_;                       // by number in the origin: how many values the graph had
  std::vector<bool> read_;                           // by Var::id: an op or the signature reads it
  absl::flat_hash_map<int, std::string> new_names_;  // by Var::id: where the name is taken in the file
  absl::flat_hash_set<std::string> node_names_;      // of nodes that this exporter could have named
};

// A new node: attributes, operands and results in the order in which they are written.
std::string MakeNode(const NodeNames& inputs, const NodeNames& outputs, absl::string_view name, absl::string_view type);

}  // namespace ampc::onnx
