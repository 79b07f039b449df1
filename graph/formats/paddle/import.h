// From a Paddle program description to the IR.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "graph/formats/paddle/files.h"
#include "graph/program.h"

namespace ampc::paddle {

// The program that the bytes of `source` describe, with its weights from `files.params`. The program's origin keeps `source`.
// BadInput (exit 3) for malformed files.
//
// An overwritten temporary becomes one variable per version (Var::export_name keeps the name). A variable that a nested
// block writes becomes carry, a tensor array becomes state. An op without a record, or with slots or attributes that its
// record does not know, is opaque. A name that the main block reads before anything writes it is a feed.
absl::StatusOr<Program> ImportProgram(std::shared_ptr<const WeightSource> source, const PaddleFiles& files);

}  // namespace ampc::paddle
