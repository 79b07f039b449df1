// The parts of an ONNX file that the importer keeps, so that the exporter writes everything the IR does not model back as it was.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/formats/onnx/undo.h"
#include "graph/program.h"

namespace ampc::onnx {

// Immutable once the import is done; a pass that changes functions gives the program another one. Op::origin is an index into `ops`,
// Var::origin one into `values`.
struct OnnxOrigin : FormatOrigin {
  absl::string_view format() const override { return "onnx"; }
  absl::string_view bytes() const { return {source->bytes().data(), source->bytes().size()}; }

  std::shared_ptr<const WeightSource> source;  // the model's bytes
  int opset = 0;                               // of the default domain
  int64_t ir_version = 0;
  bool external = false;  // some weight lies in a file of its own
  Undo undo;              // of an earlier conversion
  // The model's local functions where another operator set changed them: FunctionProtos by their place in the file; empty where none was.
  std::vector<std::string> upgraded_functions;

  struct OpLocation {
    absl::string_view bytes;  // its NodeProto
    int graph = 0;            // counted depth first, 0 for the model's own
    int index = 0;            // among the graph's nodes
    int added = 0;            // operands that the file does not list, behind those that it lists: what its blocks read
  };
  std::vector<OpLocation> ops;

  // A value as the importer made it.
  struct Value {
    Location location;
    int type = 0;       // index into `types`
    int constant = -1;  // of an initializer or a Constant node: index into `constants`
  };
  std::vector<Value> values;
  struct Constant {
    std::shared_ptr<const HostTensor> literal;
    bool external = false;                        // stored in a file of its own
    const WeightSource* source = nullptr;         // of the stored value, null when it was not looked for
    uint64_t offset = 0;                          // of the value in it
    bool says_offset = true, says_length = true;  // of an external one: the model names them
    uint64_t file_size = 0;                       // of the file that it lies in
  };
  std::vector<Constant> constants;
  std::vector<TensorType> types;  // no two neighbours are the same

  const TensorType& TypeOf(const Value& value) const { return types[value.type]; }
  const Constant* ConstantOf(const Value& value) const { return value.constant < 0 ? nullptr : &constants[value.constant]; }
  bool IsExternal(const Value& value) const { return value.constant >= 0 && constants[value.constant].external; }

  // By graph: its message.
  std::vector<absl::string_view> graphs;
  // The values that are stored in files of their own are all in one.
  bool one_file = true;
};

// The program's origin, or null when it has another one or none.
inline const OnnxOrigin* OriginOf(const Program& program) {
  if (program.origin == nullptr || program.origin->format() != "onnx") return nullptr;
  return static_cast<const OnnxOrigin*>(program.origin.get());
}

}  // namespace ampc::onnx
