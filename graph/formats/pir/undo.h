// Marks in a PIR file: what `strip` needs travels as the string `ampc_undo` of an op, which Paddle does not look at.
//
//   values=MARKS,MARKS,...;MARKS OF THE OP     those of graph/formats/marks.h; in front of them, where a result has any, for each result
//   was=f32 and frozen joined by '+'
//
// of graph/formats/paddle/undo.h, and nothing for a result without.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/base/json_tape.h"
#include "graph/formats/paddle/undo.h"

namespace ampc::pir {

// The op's marks; "" for none.
std::string UndoOf(JsonRef op);
// Those of its result number `i`, and of the op itself.
paddle::VarUndo ValueUndo(absl::string_view undo, size_t i);
absl::string_view OpUndo(absl::string_view undo);

// The text of an `ampc_undo`. `values`: of each result, trailing ones without marks may be left out.
std::string EncodeUndo(const std::vector<paddle::VarUndo>& values, absl::string_view op);

}  // namespace ampc::pir
