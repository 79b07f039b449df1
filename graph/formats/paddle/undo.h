// Marks in a Paddle file: what `strip` needs travels as an attribute `ampc_undo` of ops (STRING) and variables.
//
//   op:        graph/formats/marks.h
//   variable:  entries joined by ';'   was=f32    frozen    as=NAME (last; takes the rest)
//
// `was` is the data type before mixed precision. A variable that is written again
// has one `was` per version, in order, joined by ',' unless all are equal; '-' for a version that was not retyped. `as`
// is the name in the original of a version that needs a name of its own in this file. `frozen` is a parameter that is not
// trained: a low copy of another one.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/dtype.h"

namespace ampc::paddle {

inline constexpr absl::string_view kUndoAttr = "ampc_undo";

struct VarUndo {
  std::vector<DType> was;  // by version; the last counts for all further ones; empty for none
  std::string as;
  bool frozen = false;
};
std::string EncodeVarUndo(const VarUndo& undo);
VarUndo DecodeVarUndo(absl::string_view text);

}  // namespace ampc::paddle
