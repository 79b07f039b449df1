// The IR as messages of proto/program.proto and back.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "proto/program.pb.h"

namespace ampc {

inline constexpr uint32_t kFormatVersion = 1;

// Fields that this version does not know, kept from the file that the program was read from.
struct AmpcOrigin : FormatOrigin {
  absl::string_view format() const override { return "ampc"; }
  proto::Program message;  // with the unknown fields; Op::origin and Var::origin count its ops and vars over all blocks
};

// `keys` as from WeightKeys, by Var::id; all "" for a program without weights.
proto::Program EncodeProgram(const Program& program, const std::vector<std::string>& keys);

struct DecodedProgram {
  Program program;
  // Var::id -> key in the weight file, "" for none.
  std::vector<std::string> keys;
};
// BadInput for a malformed message (`where` in front), Unsupported for one that needs a newer reader.
absl::StatusOr<DecodedProgram> DecodeProgram(const proto::Program& message, absl::string_view where);

// Attribute values; false when `from` holds none.
void EncodeAttr(const AttrValue& value, proto::Attr* to);
bool DecodeAttr(const proto::Attr& from, AttrValue* to);

}  // namespace ampc
