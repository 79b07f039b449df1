// Marks in a Paddle file: what `strip` needs travels as an attribute `ampc_undo` of ops (STRING) and variables.
//
//   op:        entries joined by ';'   inserted   listed   converts   guard=2   was.out_dtype=f32   fp32=REASON (last; takes the rest)
//   variable:  entries joined by ';'   was=f32    frozen    as=NAME (last; takes the rest)
//
// `listed` and `converts` (this op's operands, at run time) stand for the casts of graph/implicit_cast.h.
// `was` is a data type before mixed precision, '-' for an attribute that was not there. A variable that is written again
// has one `was` per version, in order, joined by ',' unless all are equal; '-' for a version that was not lowered. `as`
// is the name in the original of a version that needs a name of its own in this file. `frozen` is a parameter that is not
// trained: a low copy of another one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/op.h"

namespace ampc::paddle {

inline constexpr absl::string_view kUndoAttr = "ampc_undo";

// "" for no marks. `converts`: the op reads implicit casts, which the file leaves out.
std::string EncodeMarks(const OpMarks& marks, bool converts = false);
// Entries that are not understood are ignored.
OpMarks DecodeMarks(absl::string_view text);
bool Converts(absl::string_view text);

struct VarUndo {
  std::vector<DType> was;  // by version; the last counts for all further ones; empty for none
  std::string as;
  bool frozen = false;
};
std::string EncodeVarUndo(const VarUndo& undo);
VarUndo DecodeVarUndo(absl::string_view text);

}  // namespace ampc::paddle
