// Internal to the PIR exporter: one export in progress.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/formats/pir/origin.h"
#include "graph/formats/pir/text_edit.h"
#include "graph/program.h"

namespace ampc::pir {

class Exporter {
 public:
  Exporter(const Program& program, const PirOrigin& origin);
  absl::StatusOr<std::string> Run();

 private:
  // A block while its ops are written.
  struct Scope {
    const Block* block = nullptr;
    JsonRef node;
    std::vector<JsonRef> ops;                             // of the file
    size_t next = 0;                                      // the first of them that is not written
    absl::flat_hash_map<uint32_t, const Op*> op_of;       // by node
    absl::flat_hash_map<uint32_t, size_t> position;       // by node: its index in `ops`
    absl::flat_hash_map<const Var*, const Op*> inserted;  // by result: casts that are not written yet
    absl::flat_hash_map<int64_t, std::vector<Var*>>
        combined;  // by number of a list that the file combines: its elements as its first reader has them
    const Op* yield = nullptr;
    bool first = true;  // nothing is written yet
    std::string out;
  };

  // exporter.cc: the order of ops
  absl::StatusOr<std::string> WriteBlock(const Block& block, JsonRef node);
  absl::Status Survey(JsonRef block);
  absl::Status PairFetches();
  absl::Status Prepare(Scope& scope);
  absl::Status WriteArgs(const Scope& scope);
  absl::Status WriteUpTo(Scope& scope, size_t position);
  absl::Status WriteUnlisted(Scope& scope, JsonRef op);
  absl::Status WriteInserted(Scope& scope, const Op& op);
  absl::Status NeedDefined(Scope& scope, const Var& var);
  absl::Status WriteNewParams(Scope& scope);
  void Emit(Scope& scope, absl::string_view text, int position);

  // export_op.cc: the text of one op
  absl::Status WriteOp(Scope& scope, const Op& op, JsonRef text);
  absl::StatusOr<std::vector<std::pair<int, int>>> OperandSlots(const Op& op, JsonRef text) const;
  int ResultSlot(const Op& op, JsonRef text, size_t i) const;
  absl::Status EditOperands(Scope& scope, const Op& op, JsonRef text, TextEdit* edit);
  absl::StatusOr<int64_t> ListFor(Scope& scope, int64_t id, absl::Span<Var* const> vars);
  absl::Status EditAttrs(const Op& op, JsonRef text, TextEdit* edit) const;
  void EditResult(JsonRef result, absl::Span<Var* const> vars, TextEdit* edit);
  void EditType(JsonRef type, const Var& var, TextEdit* edit) const;
  std::string TypeText(const Var& var) const;
  absl::Status WriteHead(Scope& scope, JsonRef op);
  std::string UndoText(const Op* op, const std::vector<const Var*>& results) const;
  absl::Status WriteCombine(Scope& scope, JsonRef op);
  absl::Status WriteSplit(Scope& scope, JsonRef op);
  absl::Status WriteEnd(Scope& scope, JsonRef op);

  void Assign(const Var& var, int64_t id, JsonRef type);
  absl::StatusOr<int64_t> IdOf(const Var& var) const;

  const Program& program_;
  const PirOrigin& origin_;
  absl::flat_hash_set<uint32_t> listed_;                   // nodes that the IR had ops for
  std::vector<int64_t> ids_;                               // by Var::id; 0 for none yet
  std::vector<JsonRef> types_;                             // by Var::id: a type with its dims
  absl::flat_hash_map<int64_t, std::vector<Var*>> lists_;  // by number of a list: what it holds
  absl::flat_hash_map<uint32_t, const Var*> fetched_;      // by node of a fetch
  absl::flat_hash_map<int64_t, int64_t>
      combines_;  // by number of a combined list: that of the original's, itself where no conversion made it
  int64_t next_id_ = 1;
};

}  // namespace ampc::pir
