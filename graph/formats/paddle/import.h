// From a Paddle program description to the IR.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/formats/paddle/files.h"
#include "graph/formats/paddle/origin.h"
#include "graph/program.h"

namespace ampc::paddle {

// Parses a program description. `where` names the file in errors, BadInput (exit 3).
absl::StatusOr<ProgramDesc> ParseProgram(absl::string_view bytes, absl::string_view where);

// The program that `desc` describes, with its weights from `files.params`. The program's origin keeps `desc`.
//
// An overwritten temporary becomes one variable per version (Var::export_name keeps the name). A variable that a nested
// block writes becomes carry, a tensor array becomes state. An op without a record, or with slots or attributes that its
// record does not know, is opaque. A name that the main block reads before anything writes it is a feed.
absl::StatusOr<Program> ImportProgram(ProgramDesc desc, const PaddleFiles& files);

}  // namespace ampc::paddle
