// Internal to the PIR importer: one import in progress.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/formats/pir/files.h"
#include "graph/formats/pir/op_table.h"
#include "graph/formats/pir/origin.h"
#include "graph/infer_memo.h"
#include "graph/program.h"

namespace ampc::pir {

using Vars = std::vector<Var*>;

// The value that a number of the file stands for.
struct Value {
  Vars vars;  // one, or the elements of a list
  bool list = false;
  bool folded = false;  // a constant that exists as attributes only
  bool kept = true;     // false: a result that nothing reads and the IR leaves out
};

// The text of a constant, `full` or `full_int_array`, as an attribute.
std::optional<AttrValue> ConstantOf(JsonRef op);
// The attribute of `def` that the constant becomes as operand `i` of the op of that row; nullopt where it must stay a tensor.
std::optional<AttrValue> FoldOperand(const OpRow& row, size_t i, const OpDef& def, const AttrValue& constant);
// Of strided_slice: the end of a backward slice that lies before the first element is below all numbers in PIR, and -1 in the record.
void MarkEndsBeforeFirst(Op* slice);
// The record of a row's native op, null for none.
const OpDef* RecordOf(const OpRow& row);

class Importer {
 public:
  Importer(std::shared_ptr<PirOrigin> origin, const PirFiles& files);
  absl::StatusOr<Program> Run();

 private:
  struct Operand {
    int64_t id = 0;
    const Value* value = nullptr;  // null for an absent one
  };

  // importer.cc: blocks, values, signature
  absl::Status CheckHead() const;
  absl::StatusOr<uint32_t> BlockOf(JsonRef region) const;
  absl::Status Survey(JsonRef block);
  absl::Status SurveyOp(JsonRef op);
  void SurveyOperands(JsonRef op);
  absl::Status ImportOps(Block& block, JsonRef node, Vars* yields);
  absl::Status AddParam(JsonRef op);
  absl::Status AddFeed(JsonRef op);
  absl::Status AddFetch(Block& block, JsonRef op);
  absl::Status Define(int64_t id, Value value);
  absl::StatusOr<const Value*> Use(int64_t id) const;
  absl::StatusOr<std::vector<Operand>> Operands(JsonRef op) const;
  Var* Read(Block& block, Var* var);
  Var* AddVar(Block& block, int64_t id, absl::string_view base, VarKind kind, TensorType type);
  absl::Status Error(absl::string_view what) const;
  absl::Status ErrorAt(JsonRef op, absl::string_view what) const;

  // import_op.cc: one op
  absl::Status ImportOp(Block& block, JsonRef op);
  absl::Status ImportConstant(Block& block, JsonRef op);
  absl::Status ImportCombine(JsonRef op);
  absl::Status ImportSplit(JsonRef op);
  absl::Status ImportElement(JsonRef op);
  absl::StatusOr<std::unique_ptr<Op>> MakeNative(Block& block, JsonRef op, const OpRow& row, const std::vector<Operand>& operands);
  bool SetOperands(const OpRow& row, const std::vector<Operand>& operands, Block& block, Op* native);
  absl::StatusOr<bool> SetAttrs(const OpRow& row, JsonRef op, Op* native) const;
  absl::StatusOr<std::unique_ptr<Op>> MakeOpaque(Block& block, JsonRef op, const std::vector<Operand>& operands);
  absl::Status AddResults(Block& block, JsonRef op, const std::vector<std::string>& slots, Op* made);
  absl::StatusOr<Value> MakeResult(Block& block, JsonRef op, JsonRef result, absl::string_view base);
  void Append(Block& block, JsonRef text, std::unique_ptr<Op> op);
  void CompleteTypes(const Op& op);

  // import_control.cc: if and while
  absl::Status ImportIf(Block& block, JsonRef op);
  absl::Status ImportWhile(Block& block, JsonRef op);
  using Entry = std::pair<std::string, TensorType>;
  absl::StatusOr<Block*> ImportRegion(Block& block, JsonRef region, const std::vector<Entry>& first, std::vector<Var*>* captures,
                                      size_t* yields);
  absl::Status AddStates(Block& block, JsonRef op, absl::string_view slot, Op* made);

  // import_params.cc: weights
  absl::Status AttachParams();

  const PirFiles& files_;
  std::shared_ptr<PirOrigin> origin_;
  Program program_;
  absl::flat_hash_map<int64_t, Value> values_;
  absl::flat_hash_map<int64_t, JsonRef> constants_;
  absl::flat_hash_set<int64_t> as_tensor_;  // constants that some op reads as a tensor
  absl::flat_hash_set<int64_t> used_;
  absl::flat_hash_map<int64_t, std::string> fetch_names_;  // of a value that is fetched: the name of its first fetch
  absl::flat_hash_set<std::string> reserved_;              // names that are the file's own
  std::vector<std::pair<int64_t, Var*>> feeds_, fetches_;  // by col
  std::vector<Var*> params_;                               // with a place in the parameter file
  std::vector<std::vector<Var*>> captures_;                // by block: outer values that it reads
  int depth_ = 0;
  InferMemo inferred_;
};

}  // namespace ampc::pir
