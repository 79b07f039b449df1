// Marks of an op as text, for the model files of other systems: what `strip` needs travels in the file.
//
//   entries joined by ';'   inserted   listed   converts   guard=2   was.out_dtype=f32   fp32=REASON or options=TEXT (last; takes the rest)
//
// `listed` and `converts` (this op's operands, at run time) stand for the casts of graph/implicit_cast.h. `was` is a data type before mixed
// precision, '-' for an attribute that was not there; `options` what the conversion was made with (graph/converted.h). A format may put
// entries of its own in front of these.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/op.h"

namespace ampc {

// "" for no marks. `converts`: the op reads implicit casts, which the file leaves out.
std::string EncodeMarks(const OpMarks& marks, bool converts = false);
// Entries that are not understood are ignored.
OpMarks DecodeMarks(absl::string_view text);
bool Converts(absl::string_view text);

// Appends an entry.
void AddMark(absl::string_view entry, std::string* text);
// Takes the next entry off `text`; an entry that begins with `rest_key` takes all that is left.
absl::string_view NextMark(absl::string_view rest_key, absl::string_view* text);
// Data types as marks name them: '-' is kInvalid, as is what nothing is called.
absl::string_view WasName(DType dtype);
DType WasDType(absl::string_view name);

}  // namespace ampc
