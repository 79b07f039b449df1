// The parts of a PIR file that the importer keeps, so that the exporter edits its text in place.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/base/json_tape.h"
#include "graph/program.h"
#include "graph/weight.h"

namespace ampc::pir {

inline constexpr absl::string_view kUndoKey = "ampc_undo";
inline constexpr int64_t kNewestVersion = 4;              // Paddle 3.3
inline constexpr int64_t kMostNumber = int64_t{1} << 53;  // of a value

// Immutable once the import is done. Op::origin is an index into `ops`, Var::origin one into `values`.
struct PirOrigin : FormatOrigin {
  absl::string_view format() const override { return "pir"; }

  std::shared_ptr<const WeightSource> source;  // the program's text
  JsonTape tape;
  std::vector<uint32_t> blocks;  // by block of the program: its node
  std::vector<uint32_t> ops;     // of an op in the IR: its node
  struct Value {
    int64_t id = 0;            // in the file
    bool persistable = false;  // a parameter with a place in the parameter file
  };
  std::vector<Value> values;
  // By index into `values`: a tensor's header in the parameter file, and the type that it says.
  struct StreamHeader {
    std::string lod, desc;  // tensor_stream.h
    TensorType type;
  };
  absl::flat_hash_map<int, StreamHeader> headers;
};

// The program's origin, or null when it has another one or none.
inline const PirOrigin* OriginOf(const Program& program) {
  if (program.origin == nullptr || program.origin->format() != "pir") return nullptr;
  return static_cast<const PirOrigin*>(program.origin.get());
}

inline bool IsOp(JsonRef op, absl::string_view name) { return op.Find("#").IsString(name); }  // "1.conv2d"

// The attribute of an op, {"#": kind, "D": value}, or none.
inline JsonRef AttrOf(JsonRef op, absl::string_view name) {
  for (const JsonRef attr : op.Find("A")) {
    if (attr.Find("N").IsString(name)) return attr.Find("AT");
  }
  return {};
}

// "batch_norm_" of an op of the dialect pd_op; "" for another one.
inline std::string PaddleOpName(JsonRef op) {
  std::string name = op.Find("#").AsString().value_or("");
  return name.size() > 2 && name[0] == '1' && name[1] == '.' ? name.substr(2) : std::string();
}

}  // namespace ampc::pir
