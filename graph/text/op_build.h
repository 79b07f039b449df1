// OpBuilder: gives the names of a statement their meaning and appends the op to its block.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "graph/op_registry.h"
#include "graph/text/op_text.h"

namespace ampc::text {

class OpBuilder {
 public:
  OpBuilder(Program& program, const Cursor& cursor) : program_(program), cursor_(cursor) {}

  // Errors name the statement's line. On error the block may hold some of the op's results.
  absl::Status Append(OpText& text, Block& block);

 private:
  absl::StatusOr<const OpDef*> Def(const OpText& text);
  absl::StatusOr<const OpDef*> OpaqueRecord(const OpText& text);
  absl::Status SetOperands(const OpText& text, const Block& block, Op& op);
  absl::Status SetResults(OpText& text, Block& block, Op& op);
  absl::StatusOr<Var*> Result(const OpText::Name& name, OpText& text, Block& block);
  absl::Status SetResultMarks(const OpText& text);
  absl::Status CheckCount(const OpText& text, absl::string_view mark, size_t found) const;
  absl::Status Error(const OpText& text, absl::string_view message) const;

  Program& program_;
  const Cursor& cursor_;
  absl::flat_hash_map<std::string, const OpDef*> defs_;
  std::vector<Var*> vars_;  // of one slot
  std::vector<Var*> new_;   // results that the op defines
};

}  // namespace ampc::text
