// The positions of the parts of a Paddle program in its bytes. The messages of a large program take ten times the space of its file, so
// they are never all in memory: each op and variable is parsed when it is looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc::paddle {

// A message within the bytes of the program.
struct Submessage {
  uint32_t offset = 0;
  uint32_t size = 0;
};

struct BlockLayout {
  int idx = -1;
  int parent = -1;
  int forward = -1;  // the block that this one differentiates
  std::vector<Submessage> vars;
  std::vector<Submessage> ops;
  std::string other;  // all other fields with their tags, in file order
};

struct ProgramLayout {
  std::vector<BlockLayout> blocks;
  std::string other;
};

// BadInput, `where` in front, for bytes that are no program description. The messages of ops and variables are not looked into.
absl::StatusOr<ProgramLayout> ScanProgram(absl::string_view bytes, absl::string_view where);

// The content of the string field `number` of a message, of one that is given several times the last, as protobuf reads it; "" when
// there is none.
absl::string_view StringField(absl::string_view message, int number);

}  // namespace ampc::paddle
