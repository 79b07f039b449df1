// OpText: one op statement as written, before names mean anything.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graph/program.h"
#include "graph/text/cursor.h"
#include "graph/text/value.h"

namespace ampc::text {

struct OpText {
  struct Name {
    absl::string_view text;   // valid until Cursor::ForgetNames
    bool absent = false;      // `-`
    bool overwrites = false;  // results: `<-`
  };
  struct Slot {  // of the long form: names [begin, end)
    absl::string_view name;
    size_t begin = 0, end = 0;
  };

  int line = 0;
  absl::string_view type;
  bool long_operands = false, long_results = false;
  std::vector<Name> operands, results;
  std::vector<Slot> operand_slots, result_slots;  // long form only
  std::vector<Attr> attrs;
  bool typed = false;  // a `:` and types stand there
  std::vector<TensorType> types;

  OpMarks marks;
  bool opaque = false;
  // One element per result that the op defines, or a single element for all of them; empty without the mark.
  std::vector<DType> was;
  std::vector<std::string> export_names;
  std::vector<bool> stop_gradient;

  void Clear();  // keeps the memory
};

// Parses a statement whose first token is a name or `-`; when `first` is given, that name has been taken already.
absl::Status ParseOpText(Cursor& cursor, Scope& scope, std::optional<absl::string_view> first, OpText* op);

}  // namespace ampc::text
