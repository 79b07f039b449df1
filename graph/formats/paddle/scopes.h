// Which variable a name means: Paddle's ops name variables, and a name is looked up through the enclosing blocks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::paddle {

// One variable of the file: every op that names it reads or writes the same storage.
struct Storage {
  absl::string_view name;
  int block = 0;                  // that owns it
  int var = -1;                   // index into the block's vars, -1 for a name that no VarDesc declares
  const VarDesc* desc = nullptr;  // null for the same
  bool persistable = false;       // kept between runs; not the holders of feed and fetch
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
  // Checks the structure of the program (block numbers, parents, unique names) and collects who writes what.
  // `desc` must outlive the result. BadInput with `where` in front for a malformed program.
  static absl::StatusOr<Scopes> Build(const ProgramDesc& desc, absl::string_view where);

  // The storage that `name` means in `block`; a name that nothing declares becomes an undeclared storage of that block.
  Storage& Resolve(int block, absl::string_view name);
  // All of them, those of VarDescs first, by block and position.
  const std::vector<std::unique_ptr<Storage>>& all() const { return storages_; }
  // The file uses that name, in whatever block.
  bool NameInFile(absl::string_view name) const { return names_.contains(name); }
  // A block around `block` has a variable of that name.
  bool Shadows(int block, absl::string_view name) const;

 private:
  explicit Scopes(const ProgramDesc& desc) : desc_(&desc), by_name_(desc.blocks_size()) {}
  absl::Status Declare(int block, absl::string_view where);
  void NoteWrites(int block);
  Storage& Add(int block, absl::string_view name);
  Storage* Find(int block, absl::string_view name) const;

  const ProgramDesc* desc_;
  std::vector<std::unique_ptr<Storage>> storages_;
  std::vector<absl::flat_hash_map<absl::string_view, Storage*>> by_name_;  // by block
  absl::flat_hash_map<absl::string_view, int> names_;                      // how many storages have it
};

// Feed and fetch ops and their holders belong to the signature, not to the program.
bool IsFeedOp(int block, const OpDesc& op);
bool IsFetchOp(int block, const OpDesc& op);

}  // namespace ampc::paddle
