// The parts of a Paddle file that the importer keeps, so that the exporter writes everything the IR does not model back as it was.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/formats/paddle/layout.h"
#include "graph/program.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::paddle {

// Immutable once the import is done. Op::origin is an index into `ops`, Var::origin one into `values`.
struct PaddleOrigin : FormatOrigin {
  absl::string_view format() const override { return "paddle"; }

  std::shared_ptr<const WeightSource> source;  // the program's bytes
  ProgramLayout layout;

  // A version of a variable as the importer made it.
  struct Value {
    int block = 0;
    int var = -1;  // index into the block's vars; -1 for a name that no VarDesc declares
    bool persistable = false;
    TensorType type;
  };
  std::vector<Value> values;
  // By index into `values`: a tensor's header in the parameter file.
  struct StreamHeader {
    std::string lod;   // levels, "" for none
    std::string desc;  // TensorDesc
  };
  absl::flat_hash_map<int, StreamHeader> headers;

  struct OpPlace {
    int block = 0;
    int op = 0;  // index into the block's ops
  };
  std::vector<OpPlace> ops;
  // By index into `ops`: operands and results behind those of the file in one slot each, that the file does not list: what
  // the op's blocks capture.
  struct Added {
    int inputs = 0;
    int outputs = 0;
    std::string input_slot;
    std::string output_slot;
  };
  absl::flat_hash_map<int, Added> added;

  // Positions among the main block's ops of the feed and fetch ops, in the order of the signature; empty for a program that
  // travels without them.
  std::vector<int> feed_ops;
  std::vector<int> fetch_ops;
  // Length of the signature's feeds: those of feed ops, then what the program reads and nothing writes.
  size_t num_feeds = 0;
  // By block: which vars some op, the signature or the parameters use; the others are carried as they are.
  std::vector<std::vector<bool>> used_vars;
  // Some variable says that it is a parameter; inference models have that cleared.
  bool has_parameter_flags = false;
  // Some variable has marks of an earlier conversion.
  bool has_var_undo = false;
  // Parameters were one file per variable in the program's folder.
  bool separate_files = false;

  absl::string_view Bytes(const Submessage& part) const { return {source->bytes().data() + part.offset, part.size}; }
  absl::string_view VarBytes(int block, int var) const { return Bytes(layout.blocks[block].vars[var]); }
  absl::string_view OpBytes(int block, int op) const { return Bytes(layout.blocks[block].ops[op]); }
};

// Parses one message of a program that was imported, or is about to be: false when it is malformed. Reusing `message` saves its memory.
template <typename Message>
bool ParseSubmessage(absl::string_view bytes, Message* message) {
  // The partial parser and IsInitialized say the same as the full one without writing to the log.
  return message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) && message->IsInitialized();
}

// The program's origin, or null when it has another one or none.
const PaddleOrigin* OriginOf(const Program& program);

inline constexpr absl::string_view kEmptyArgument = "@EMPTY@";

}  // namespace ampc::paddle
