// Internal to the ONNX importer: the graph that a block comes from, while it is imported, and the names in it.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "graph/formats/onnx/messages.h"
#include "graph/program.h"

namespace ampc::onnx {

// A name of a graph.
struct GraphName {
  Var* var = nullptr;   // once its definition was reached
  int node = -1;        // the node that defines it; -1 for an input or initializer
  bool absent = false;  // an operand of a function that the call leaves out
  bool input = false;
  bool initializer = false;
};

struct Scope {
  Scope* parent = nullptr;
  int graph = 0;
  int depth = 0;
  Block* block = nullptr;
  bool function = false;  // sees no names of the graphs around
  GraphView view;
  bool may_be_late = false;                         // a node reads what no node in front of it defines, or has subgraphs that might
  absl::flat_hash_map<absl::string_view, int> ids;  // of `names`
  std::vector<GraphName> names;
  // By node: where its operands begin in `reads`, and the id of its first result; the others follow, those without a name left out.
  std::vector<int> first_read, first_result;
  std::vector<int> reads;  // the operands' ids; -1 for none, and for what nothing in front of the node defines
  absl::flat_hash_map<absl::string_view, absl::string_view> declared;  // name -> TypeProto
  // Outer values that the block's ops read, each once, in order of first use.
  std::vector<Var*> captures;
  absl::flat_hash_set<const Var*> captured;

  int Define(absl::string_view name);       // its id; it may have one already
  GraphName* Find(absl::string_view name);  // null for none
};

}  // namespace ampc::onnx
