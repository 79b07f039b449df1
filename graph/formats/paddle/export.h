// From the IR to a Paddle program description and its parameters.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "graph/base/atomic_file_set.h"
#include "graph/formats/format.h"
#include "graph/formats/paddle/export_names.h"
#include "graph/formats/paddle/files.h"
#include "graph/formats/paddle/origin.h"
#include "graph/program.h"

namespace ampc::paddle {

// The bytes of the program description. The parts of the program's Paddle origin that nothing changed are written byte for
// byte as they were; the rest is patched; new ops and variables get Paddle's usual order. Unsupported for an op that Paddle does
// not have, which also names it.
absl::StatusOr<std::string> ExportProgram(const Program& program, const ExportNames& names);

// Writes the values of all parameters and kept variables, sorted by name, as files of `set`.
absl::Status ExportParams(const Program& program, const ExportNames& names, const PaddleFiles& files, const SaveOptions& options,
                          AtomicFileSet* set);

// Parts of ExportProgram.
class OpWriter {
 public:
  OpWriter(const ExportNames& names, const PaddleOrigin* origin) : names_(names), origin_(origin) {}
  // Appends the op's description as field `ops` of a BlockDesc.
  absl::Status Write(const Op& op, std::string* out);

 private:
  // `listed`: names that this op takes from other variables.
  absl::Status WriteNamed(const Op& op, const absl::flat_hash_map<const Var*, const Var*>& listed, std::string* out);

  const ExportNames& names_;
  const PaddleOrigin* origin_;
  absl::flat_hash_map<const Var*, const Var*> listed_;  // what the next control op lists in the place of a variable
  OpDesc had_;                                          // reused
};
// All variables of the block, as fields `vars`.
void WriteVars(const Block& block, const ExportNames& names, const PaddleOrigin* origin, std::string* out);
// Paddle keeps the variable between runs, so it has a place in the parameter file.
bool IsPersistable(const Var& var, const PaddleOrigin* origin);
// Appends a message field.
void AppendField(int number, const google::protobuf::MessageLite& message, std::string* out);
void AppendBytesField(int number, absl::string_view bytes, std::string* out);

}  // namespace ampc::paddle
