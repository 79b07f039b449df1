// What the importer keeps of a Paddle file, so that the exporter writes everything the IR does not model back as it was.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/program.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::paddle {

// Immutable once the import is done. Op::origin is an index into `ops`, Var::origin one into `values`.
struct PaddleOrigin : FormatOrigin {
  absl::string_view format() const override { return "paddle"; }

  ProgramDesc desc;

  // A version of a variable as the importer made it.
  struct Value {
    int block = 0;
    int var = -1;  // index into the block's vars; -1 for a name that no VarDesc declares
    TensorType type;
    VarKind kind = VarKind::kTemp;
    // The tensor's header in the parameter file: LoD levels (count and contents; "" for none) and TensorDesc.
    std::string stream_lod;
    std::string stream_desc;
  };
  std::vector<Value> values;

  struct OpInfo {
    int block = 0;
    int op = 0;  // index into the block's ops
    // Operands and results at the end of slots that the file does not list: what the op's blocks capture.
    int added_inputs = 0;
    int added_outputs = 0;
    std::string input_slot;  // where they are
    std::string output_slot;
  };
  std::vector<OpInfo> ops;

  // Positions in `desc.blocks(0).ops` of the feed and fetch ops, in the order of the signature; empty for a program that
  // travels without them.
  std::vector<int> feed_ops;
  std::vector<int> fetch_ops;
  // Length of the signature's feeds: those of feed ops, then what the program reads and nothing writes.
  size_t num_feeds = 0;
  // By block: which vars some op, the signature or the parameters use; the others are carried as they are.
  std::vector<std::vector<bool>> used_vars;
  // Some variable says that it is a parameter; inference models have that cleared.
  bool has_parameter_flags = false;
  // Parameters were one file per variable in the program's folder.
  bool separate_files = false;

  const OpDesc& op_desc(int index) const { return desc.blocks(ops[index].block).ops(ops[index].op); }
  // Null for an undeclared name.
  const VarDesc* var_desc(int value) const {
    const Value& v = values[value];
    return v.var < 0 ? nullptr : &desc.blocks(v.block).vars(v.var);
  }
};

// The program's origin, or null when it has another one or none.
const PaddleOrigin* OriginOf(const Program& program);

inline constexpr absl::string_view kEmptyArgument = "@EMPTY@";

}  // namespace ampc::paddle
