// From the IR to a PIR program and its parameters.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "graph/formats/format.h"
#include "graph/formats/pir/files.h"
#include "graph/program.h"

namespace ampc::pir {

// The text of the program: that of its origin with what changed edited in place: element types, operands, data type attributes, marks;
// casts that were inserted are written in front of what reads them, with numbers behind those of the file. Unsupported for a program that
// comes from elsewhere, and for a change that none of these says.
absl::StatusOr<std::string> ExportProgram(const Program& program);

// Writes the values of all parameters, sorted by name, as a file of `set`.
absl::Status ExportParams(const Program& program, const PirFiles& files, const SaveOptions& options, AtomicFileSet* set);

// The parameter has a place in the parameter file.
bool IsPersistable(const Var& var);

}  // namespace ampc::pir
