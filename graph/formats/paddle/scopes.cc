#include "graph/formats/paddle/scopes.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

constexpr int kMaxDepth = 100;

absl::Status CheckBlocks(const ProgramLayout& program, absl::string_view where) {
  const int count = static_cast<int>(program.blocks.size());
  std::vector<int> depth(count, 0);
  for (int b = 0; b < count; ++b) {
    const BlockLayout& block = program.blocks[b];
    if (block.idx != b) return BadInputError(absl::StrCat(where, ": block ", b, " says that it is block ", block.idx));
    const bool ok = b == 0 ? block.parent == -1 : block.parent >= 0 && block.parent < b;
    if (!ok) return BadInputError(absl::StrCat(where, ": block ", b, " has parent ", block.parent, ", needs an earlier block"));
    if (b > 0) depth[b] = depth[block.parent] + 1;
    if (depth[b] > kMaxDepth) return UnsupportedError(absl::StrCat(where, ": block ", b, " is nested deeper than ", kMaxDepth, " blocks"));
    if (block.forward < -1 || block.forward >= count) {
      return BadInputError(absl::StrCat(where, ": block ", b, " has forward block ", block.forward, " of ", count));
    }
  }
  return absl::OkStatus();
}

bool IsHolder(int32_t type) { return type == kFeedMinibatch || type == kFetchList || type == kReader || type == kRaw; }

absl::Status Damaged(absl::string_view where, absl::string_view what, int index, int block) {
  return BadInputError(absl::StrCat(where, ": damaged ", what, " ", index, " of block ", block));
}

void Describe(const VarDesc& var, Storage* storage) {
  storage->kind = var.type().type();
  storage->type = ImportType(var.type());
  storage->persistable = var.persistable() && !IsHolder(storage->kind);
  storage->is_parameter = var.is_parameter();
  storage->stop_gradient = var.stop_gradient();
  for (const VarDesc_Attr& attr : var.attrs()) {
    if (attr.name() == kUndoAttr) storage->undo = std::make_unique<VarUndo>(DecodeVarUndo(attr.s()));
  }
}

}  // namespace

bool Storage::IsTensor() const { return kind == kLodTensor; }
bool Storage::IsTensorArray() const { return kind == kLodTensorArray; }

bool IsFeedOp(int block, const OpDesc& op) { return block == 0 && op.type() == "feed"; }
bool IsFetchOp(int block, const OpDesc& op) { return block == 0 && (op.type() == "fetch" || op.type() == "fetch_v2"); }

Storage& Scopes::Add(int block, absl::string_view name) {
  Storage& storage = storages_.emplace_back();
  storage.name = std::string(name);
  storage.block = block;
  storage.type = TensorType::Unranked(DType::kInvalid);
  by_name_[block][storage.name] = &storage;
  if (block > 0) nested_names_.insert(storage.name);
  return storage;
}

absl::Status Scopes::Declare(int block, absl::string_view where, PaddleOrigin* origin) {
  const int count = static_cast<int>(layout_->blocks[block].vars.size());
  by_name_[block].reserve(count);
  VarDesc var;
  for (int v = 0; v < count; ++v) {
    if (!ParseSubmessage(origin->VarBytes(block, v), &var)) return Damaged(where, "variable", v, block);
    if (by_name_[block].contains(var.name())) {
      return BadInputError(absl::StrCat(where, ": block ", block, " declares variable '", var.name(), "' twice"));
    }
    Storage& storage = Add(block, var.name());
    storage.var = v;
    Describe(var, &storage);
    origin->has_parameter_flags = origin->has_parameter_flags || storage.is_parameter;
    origin->has_var_undo = origin->has_var_undo || storage.undo != nullptr;
  }
  return absl::OkStatus();
}

Storage* Scopes::Find(int block, absl::string_view name) const {
  for (int b = block; b >= 0; b = layout_->blocks[b].parent) {
    const auto it = by_name_[b].find(name);
    if (it != by_name_[b].end()) return it->second;
  }
  return nullptr;
}

Storage& Scopes::Resolve(int block, absl::string_view name) {
  if (Storage* found = Find(block, name)) return *found;
  // A gradient block also sees the variables of the block that it differentiates.
  if (const int forward = layout_->blocks[block].forward; forward >= 0) {
    if (Storage* found = Find(forward, name)) return *found;
  }
  return Add(block, name);
}

bool Scopes::Shadows(int block, absl::string_view name) const {
  const int parent = layout_->blocks[block].parent;
  return parent >= 0 && Find(parent, name) != nullptr;
}

absl::Status Scopes::NoteWrites(int block, absl::string_view where, const PaddleOrigin& origin) {
  OpDesc op;
  for (size_t i = 0; i < layout_->blocks[block].ops.size(); ++i) {
    const int position = static_cast<int>(i);
    if (!ParseSubmessage(origin.OpBytes(block, position), &op)) return Damaged(where, "op", position, block);
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
  return absl::OkStatus();
}

absl::StatusOr<Scopes> Scopes::Build(PaddleOrigin* origin, absl::string_view where) {
  AMPC_RETURN_IF_ERROR(CheckBlocks(origin->layout, where));
  Scopes scopes(&origin->layout);
  const int count = static_cast<int>(origin->layout.blocks.size());
  for (int b = 0; b < count; ++b) AMPC_RETURN_IF_ERROR(scopes.Declare(b, where, origin));
  for (int b = 0; b < count; ++b) AMPC_RETURN_IF_ERROR(scopes.NoteWrites(b, where, *origin));
  return scopes;
}

}  // namespace ampc::paddle
