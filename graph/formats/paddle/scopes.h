// Which variable a name means: Paddle's ops name variables, and a name is looked up through the enclosing blocks.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/formats/paddle/origin.h"
#include "graph/formats/paddle/undo.h"
#include "graph/program.h"

namespace ampc::paddle {

// One variable of the file: every op that names it reads or writes the same storage.
struct Storage {
  std::string name;
  int block = 0;      // that owns it
  int var = -1;       // index into the block's vars, -1 for a name that no VarDesc declares
  int32_t kind = -1;  // VarType.type, -1 for the same
  TensorType type;
  std::unique_ptr<VarUndo> undo;  // marks of an earlier conversion, null for none
  bool persistable = false;       // kept between runs; not the holders of feed and fetch
  bool is_parameter = false;
  bool stop_gradient = false;
  bool written_by_nested = false;  // an op of a block inside the owner's writes it
  bool written_as_param = false;   // by an optimizer op's ParamOut
  bool written_otherwise = false;
  bool fed = false;
  // Import state: the version that a read at this point sees.
  Var* current = nullptr;
  int versions = 0;
  int suffix = 0;  // last one tried for the name of a version

  bool IsTensor() const;
  bool IsTensorArray() const;
};

class Scopes {
 public:
  // Parses every message once: checks the structure of the program (block numbers, parents, unique names) and collects who
  // writes what. `origin` needs source and layout; its flags about variables are set. `where` goes in front of errors.
  static absl::StatusOr<Scopes> Build(PaddleOrigin* origin, absl::string_view where);

  // The storage that `name` means in `block`; a name that nothing declares becomes an undeclared storage of that block.
  Storage& Resolve(int block, absl::string_view name);
  // All of them, those of VarDescs first, by block and position.
  std::deque<Storage>& all() { return storages_; }
  // The file uses that name, in whatever block.
  bool NameInFile(absl::string_view name) const { return by_name_[0].contains(name) || nested_names_.contains(name); }
  // A block around `block` has a variable of that name.
  bool Shadows(int block, absl::string_view name) const;

 private:
  explicit Scopes(const ProgramLayout* layout) : layout_(layout), by_name_(layout->blocks.size()) {}
  absl::Status Declare(int block, absl::string_view where, PaddleOrigin* origin);
  absl::Status NoteWrites(int block, absl::string_view where, const PaddleOrigin& origin);
  Storage& Add(int block, absl::string_view name);
  Storage* Find(int block, absl::string_view name) const;

  const ProgramLayout* layout_;
  std::deque<Storage> storages_;                                           // references stay valid
  std::vector<absl::flat_hash_map<absl::string_view, Storage*>> by_name_;  // by block
  absl::flat_hash_set<absl::string_view> nested_names_;                    // of all blocks but the main one
};

// Feed and fetch ops and their holders belong to the signature, not to the program.
bool IsFeedOp(int block, const OpDesc& op);
bool IsFetchOp(int block, const OpDesc& op);

}  // namespace ampc::paddle
