#include "graph/formats/paddle/scopes.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

constexpr int kMaxDepth = 100;

absl::Status CheckBlocks(const ProgramDesc& desc, absl::string_view where) {
  if (desc.blocks().empty()) return BadInputError(absl::StrCat(where, ": a program without blocks"));
  std::vector<int> depth(desc.blocks_size(), 0);
  for (int b = 0; b < desc.blocks_size(); ++b) {
    const BlockDesc& block = desc.blocks(b);
    if (block.idx() != b) return BadInputError(absl::StrCat(where, ": block ", b, " says that it is block ", block.idx()));
    const bool ok = b == 0 ? block.parent_idx() == -1 : block.parent_idx() >= 0 && block.parent_idx() < b;
    if (!ok) return BadInputError(absl::StrCat(where, ": block ", b, " has parent ", block.parent_idx(), ", needs an earlier block"));
    if (b > 0) depth[b] = depth[block.parent_idx()] + 1;
    if (depth[b] > kMaxDepth) return UnsupportedError(absl::StrCat(where, ": block ", b, " is nested deeper than ", kMaxDepth, " blocks"));
    if (block.forward_block_idx() >= desc.blocks_size()) {
      return BadInputError(absl::StrCat(where, ": block ", b, " has forward block ", block.forward_block_idx(), " of ", desc.blocks_size()));
    }
  }
  return absl::OkStatus();
}

bool IsHolder(const VarDesc& var) {
  const int32_t type = var.type().type();
  return type == kFeedMinibatch || type == kFetchList || type == kReader || type == kRaw;
}

}  // namespace

bool Storage::IsTensor() const { return desc != nullptr && desc->type().type() == kLodTensor; }
bool Storage::IsTensorArray() const { return desc != nullptr && desc->type().type() == kLodTensorArray; }

bool IsFeedOp(int block, const OpDesc& op) { return block == 0 && op.type() == "feed"; }
bool IsFetchOp(int block, const OpDesc& op) { return block == 0 && (op.type() == "fetch" || op.type() == "fetch_v2"); }

Storage& Scopes::Add(int block, absl::string_view name) {
  storages_.push_back(std::make_unique<Storage>());
  Storage& storage = *storages_.back();
  storage.name = name;
  storage.block = block;
  by_name_[block][name] = &storage;
  ++names_[name];
  return storage;
}

absl::Status Scopes::Declare(int block, absl::string_view where) {
  const BlockDesc& desc = desc_->blocks(block);
  by_name_[block].reserve(desc.vars_size());
  for (int v = 0; v < desc.vars_size(); ++v) {
    const VarDesc& var = desc.vars(v);
    if (by_name_[block].contains(var.name())) {
      return BadInputError(absl::StrCat(where, ": block ", block, " declares variable '", var.name(), "' twice"));
    }
    Storage& storage = Add(block, var.name());
    storage.var = v;
    storage.desc = &var;
    storage.persistable = var.persistable() && !IsHolder(var);
  }
  return absl::OkStatus();
}

Storage* Scopes::Find(int block, absl::string_view name) const {
  for (int b = block; b >= 0; b = desc_->blocks(b).parent_idx()) {
    const auto it = by_name_[b].find(name);
    if (it != by_name_[b].end()) return it->second;
  }
  return nullptr;
}

Storage& Scopes::Resolve(int block, absl::string_view name) {
  if (Storage* found = Find(block, name)) return *found;
  // A gradient block also sees the variables of the block that it differentiates.
  const BlockDesc& desc = desc_->blocks(block);
  if (desc.has_forward_block_idx() && desc.forward_block_idx() >= 0) {
    if (Storage* found = Find(desc.forward_block_idx(), name)) return *found;
  }
  return Add(block, name);
}

bool Scopes::Shadows(int block, absl::string_view name) const {
  const auto it = names_.find(name);
  if (it == names_.end() || it->second < 2) return false;
  const int parent = desc_->blocks(block).parent_idx();
  return parent >= 0 && Find(parent, name) != nullptr;
}

void Scopes::NoteWrites(int block) {
  for (const OpDesc& op : desc_->blocks(block).ops()) {
    const bool feed = IsFeedOp(block, op);
    for (const OpDesc_Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) {
        Storage& storage = Resolve(block, name);
        if (feed) {
          storage.fed = true;
          storage.persistable = false;
        } else if (slot.parameter() == "ParamOut") {
          storage.written_as_param = true;
        } else {
          storage.written_otherwise = true;
        }
        if (storage.block != block) storage.written_by_nested = true;
      }
    }
  }
}

absl::StatusOr<Scopes> Scopes::Build(const ProgramDesc& desc, absl::string_view where) {
  AMPC_RETURN_IF_ERROR(CheckBlocks(desc, where));
  Scopes scopes(desc);
  for (int b = 0; b < desc.blocks_size(); ++b) AMPC_RETURN_IF_ERROR(scopes.Declare(b, where));
  for (int b = 0; b < desc.blocks_size(); ++b) scopes.NoteWrites(b);
  return scopes;
}

}  // namespace ampc::paddle
