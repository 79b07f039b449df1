// The IR: Program > Block > Op and Var.
//
// A Program is move-only; it owns its Blocks, a Block owns its Ops and Vars, so pointers to them stay valid until the
// owner drops them. Temps are single assignment; only param, state and carry may be written again, by results that the
// op's record marks as overwriting. Not thread-safe while it is changed; any number of threads may read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "graph/op.h"
#include "graph/var.h"

namespace ampc {

class Program;

class Block {
 public:
  Block(Program* program, int index, int parent, std::string name)
      : program_(program), index_(index), parent_(parent), name_(std::move(name)) {}

  Program& program() const { return *program_; }
  int index() const { return index_; }
  int parent() const { return parent_; }  // -1 for the main block
  const std::string& name() const { return name_; }

  const std::vector<std::unique_ptr<Op>>& ops() const { return ops_; }
  const std::vector<std::unique_ptr<Var>>& vars() const { return vars_; }
  // The variable of this block with that name, or null.
  Var* FindVar(absl::string_view name) const;
  // FindVar(var.name()) is the variable itself.
  bool Finds(const Var& var) const;
  // The same, looking through the enclosing blocks.
  Var* FindVisible(absl::string_view name) const;

  // Adds a variable; `name` must be new in this block (see UniqueName).
  Var* AddVar(std::string name, VarKind kind, TensorType type);
  // `base` if it is free in all blocks of the program, else base.1, base.2, ...
  std::string UniqueName(absl::string_view base) const;
  void RenameVar(Var* var, std::string name);
  // An op that is not in the block yet; append it or splice it in through TakeOps/SetOps.
  std::unique_ptr<Op> NewOp(const OpDef* def) const;
  Op* Append(std::unique_ptr<Op> op);
  // A rewrite takes the whole list, builds the new one in one sweep and gives it back.
  std::vector<std::unique_ptr<Op>> TakeOps();
  void SetOps(std::vector<std::unique_ptr<Op>> ops);
  // Drops the variables for which `dead` (indexed by Var::id) is true; nothing may refer to them any more.
  void RemoveVars(const std::vector<bool>& dead);

 private:
  friend class Program;
  // Into the table of names and out of it.
  void Enter(Var* var);
  void Leave(const Var* var);

  Program* program_;
  int index_;
  int parent_;
  std::string name_;
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<std::unique_ptr<Var>> vars_;
  absl::flat_hash_map<absl::string_view, Var*> hidden_;  // variables whose name Program::names_ has another block's for
};

// The parts of a file that its importer keeps, so that the exporter of the same format can write everything the IR does not model back as
// it was. Ops and Vars refer into it by their `origin` index.
class FormatOrigin {
 public:
  virtual ~FormatOrigin() = default;
  virtual absl::string_view format() const = 0;  // "paddle", "onnx", "ampc"
};

class Program {
 public:
  explicit Program(std::string name = "program");
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();
  // A deep copy; the origin and weight sources are shared (both are immutable).
  Program Clone() const;

  std::string name;
  int64_t version = 1;

  Block& main() { return *blocks_[0]; }
  const Block& main() const { return *blocks_[0]; }
  int num_blocks() const { return static_cast<int>(blocks_.size()); }
  Block& block(int i) { return *blocks_[i]; }
  const Block& block(int i) const { return *blocks_[i]; }
  Block& AddBlock(int parent, std::string name);

  // The signature, in the caller's order. Feeds are vars of kind feed of the main block; a fetch may be any visible var.
  std::vector<Var*> feeds;
  std::vector<Var*> fetches;

  // Symbolic dimensions: type.h.
  std::vector<std::string> symbols;
  int64_t SymbolDim(absl::string_view symbol);  // finds or adds

  // The record for an op that no registered record describes: slots as given, all optional and variadic. Owned here;
  // the same type and slots give the same record.
  const OpDef* OpaqueDef(absl::string_view type, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

  std::shared_ptr<const FormatOrigin> origin;

  // Dense ids for side tables: every Var::id() < num_var_ids(), every Op::id() < num_op_ids().
  int num_var_ids() const { return next_var_id_; }
  int num_op_ids() const { return next_op_id_; }
  // Makes room for so many more names, so that adding their variables need not.
  void ReserveNames(size_t count) { names_.reserve(names_.size() + count); }
  // True for a name that any block uses, or used.
  bool NameTaken(absl::string_view name) const;

 private:
  friend class Block;
  int next_var_id_ = 0;
  int next_op_id_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;
  absl::node_hash_map<std::string, NameUse> names_;  // of all blocks, used now or before
  absl::flat_hash_map<std::string, std::unique_ptr<OpDef>> opaque_;
};

// All blocks' variables or ops, in program order.
template <typename F>
void ForEachOp(const Program& program, F&& f) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) f(*op);
  }
}
template <typename F>
void ForEachVar(const Program& program, F&& f) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Var>& var : program.block(b).vars()) f(*var);
  }
}

// Structural equality: same blocks, vars, ops, attributes with defaults filled in, marks, signature and literals. Origins and source
// locations do not count. If they differ, `*why` (if given) says the first place.
bool SameProgram(const Program& a, const Program& b, std::string* why = nullptr);
// A hash with the same notion of equality.
uint64_t Fingerprint(const Program& program);

}  // namespace ampc
