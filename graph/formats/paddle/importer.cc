#include "graph/formats/paddle/importer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/import.h"
#include "graph/formats/paddle/types.h"
#include "graph/formats/paddle/undo.h"

namespace ampc::paddle {
namespace {

const OpDesc_Var* FindSlot(const google::protobuf::RepeatedPtrField<OpDesc_Var>& slots, absl::string_view name) {
  for (const OpDesc_Var& slot : slots) {
    if (slot.parameter() == name) return &slot;
  }
  return nullptr;
}

int Column(const OpDesc& op) {
  for (const OpDesc_Attr& attr : op.attrs()) {
    if (attr.name() == "col") return attr.i();
  }
  return 0;
}

VarUndo UndoOf(const VarDesc& var) {
  for (const VarDesc_Attr& attr : var.attrs()) {
    if (attr.name() == kUndoAttr) return DecodeVarUndo(attr.s());
  }
  return {};
}

bool HasParameterFlags(const ProgramDesc& desc) {
  for (const BlockDesc& block : desc.blocks()) {
    if (std::any_of(block.vars().begin(), block.vars().end(), [](const VarDesc& v) { return v.is_parameter(); })) return true;
  }
  return false;
}

}  // namespace

Importer::Importer(std::shared_ptr<PaddleOrigin> origin, Scopes scopes, const PaddleFiles& files)
    : files_(files),
      origin_(std::move(origin)),
      scopes_(std::move(scopes)),
      captures_(origin_->desc.blocks_size()),
      entered_(origin_->desc.blocks_size(), false) {
  origin_->has_parameter_flags = HasParameterFlags(origin_->desc);
}

absl::Status Importer::Error(absl::string_view what) const { return BadInputError(absl::StrCat(files_.model, ": ", what)); }

std::string Importer::FreshName(Storage& storage) const {
  for (;;) {
    std::string name = absl::StrCat(storage.name, ".", ++storage.suffix);
    if (!scopes_.NameInFile(name) && !program_.NameTaken(name)) return name;
  }
}

Var* Importer::NewVersion(Storage& storage, VarKind kind) {
  const bool own_name = storage.versions == 0 && storage.name != kEmptyArgument && !scopes_.Shadows(storage.block, storage.name);
  const TensorType type = storage.desc == nullptr ? TensorType::Unranked(DType::kInvalid) : ImportType(storage.desc->type());
  Var* var = program_.block(storage.block).AddVar(own_name ? std::string(storage.name) : FreshName(storage), kind, type);
  if (!own_name) var->export_name = std::string(storage.name);
  if (storage.desc != nullptr) {
    var->stop_gradient = storage.desc->stop_gradient();
    var->trainable = kind == VarKind::kParam && storage.desc->is_parameter() && !storage.desc->stop_gradient();
    const VarUndo undo = UndoOf(*storage.desc);
    if (undo.frozen) var->trainable = false;
    if (!undo.was.empty()) var->was = undo.was[std::min<size_t>(storage.versions, undo.was.size() - 1)];
    if (!undo.as.empty()) var->export_name = undo.as;
    origin_->used_vars[storage.block][storage.var] = true;
  }
  var->origin = static_cast<int>(origin_->values.size());
  origin_->values.push_back({storage.block, storage.var, {}, kind, "", ""});
  ++storage.versions;
  storage.current = var;
  return var;
}

// Statistics and accumulators are state, what an optimizer trains or nothing writes is a parameter. A file that flags its
// parameters also says by absence which of its constants (a learning rate) are none.
VarKind Importer::KeptKind(const Storage& storage) const {
  if (!storage.IsTensor()) return VarKind::kState;
  if (storage.desc->is_parameter() && !storage.desc->stop_gradient()) return VarKind::kParam;
  if (storage.written_otherwise) return VarKind::kState;
  const bool flagged = storage.desc->is_parameter() || !origin_->has_parameter_flags;
  return storage.written_as_param || flagged ? VarKind::kParam : VarKind::kState;
}

void Importer::MakeKeptVars() {
  for (const std::unique_ptr<Storage>& storage : scopes_.all()) {
    if (storage->fed) continue;
    if (storage->persistable) {
      NewVersion(*storage, KeptKind(*storage));
    } else if (storage->IsTensorArray()) {
      NewVersion(*storage, VarKind::kState);  // ops change arrays in place, without naming what they read
    } else if (storage->written_by_nested) {
      NewVersion(*storage, VarKind::kCarry);
    }
  }
}

absl::Status Importer::MakeFeeds() {
  const BlockDesc& main = origin_->desc.blocks(0);
  std::vector<std::pair<int, int>> order;  // col, position
  for (int i = 0; i < main.ops_size(); ++i) {
    if (IsFeedOp(0, main.ops(i))) order.emplace_back(Column(main.ops(i)), i);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].first == order[i - 1].first) return Error(absl::StrCat("two feed ops have col ", order[i].first));
    const OpDesc& op = main.ops(order[i].second);
    const OpDesc_Var* out = FindSlot(op.outputs(), "Out");
    if (out == nullptr || out->arguments_size() != 1) return Error("a feed op without exactly one result");
    Storage& storage = scopes_.Resolve(0, out->arguments(0));
    if (storage.current != nullptr) return Error(absl::StrCat("variable '", storage.name, "' is fed twice"));
    program_.feeds.push_back(NewVersion(storage, VarKind::kFeed));
    origin_->feed_ops.push_back(order[i].second);
  }
  return absl::OkStatus();
}

absl::Status Importer::TakeFetch(const OpDesc& op, int position) {
  const OpDesc_Var* x = FindSlot(op.inputs(), "X");
  if (x == nullptr || x->arguments_size() != 1) return Error("a fetch op without exactly one operand");
  fetches_.emplace_back(Column(op), Read(0, x->arguments(0)));
  fetch_positions_.push_back(position);
  return absl::OkStatus();
}

void Importer::SortFetches() {
  std::vector<size_t> order(fetches_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) { return fetches_[a].first < fetches_[b].first; });
  for (const size_t i : order) {
    program_.fetches.push_back(fetches_[i].second);
    origin_->fetch_ops.push_back(fetch_positions_[i]);
  }
}

Var* Importer::Read(int block, absl::string_view name) {
  Storage& storage = scopes_.Resolve(block, name);
  if (storage.current == nullptr) {
    // Nothing has written it: data of a program without feed ops, or what a framework op places into its block.
    const bool feed = storage.block == 0 && name != kEmptyArgument;
    NewVersion(storage, feed ? VarKind::kFeed : VarKind::kState);
    if (feed) program_.feeds.push_back(storage.current);
  }
  Var* var = storage.current;
  const bool listed = var->kind == VarKind::kTemp || var->kind == VarKind::kFeed || var->kind == VarKind::kCarry;
  if (storage.block != block && listed && captures_[block].seen_reads.insert(var).second) captures_[block].reads.push_back(var);
  return var;
}

Var* Importer::Write(int block, absl::string_view name) {
  Storage& storage = scopes_.Resolve(block, name);
  const bool kept = storage.persistable || storage.written_by_nested || storage.IsTensorArray();
  if (!kept || storage.current == nullptr) return NewVersion(storage, VarKind::kTemp);
  Var* var = storage.current;
  if (storage.block != block && var->kind == VarKind::kCarry && captures_[block].seen_writes.insert(var).second) {
    captures_[block].writes.push_back(var);
  }
  return var;
}

absl::Status Importer::ImportBlock(int block) {
  entered_[block] = true;
  const BlockDesc& desc = origin_->desc.blocks(block);
  for (int i = 0; i < desc.ops_size(); ++i) {
    if (IsFeedOp(block, desc.ops(i))) continue;
    if (IsFetchOp(block, desc.ops(i))) {
      AMPC_RETURN_IF_ERROR(TakeFetch(desc.ops(i), i));
    } else {
      AMPC_RETURN_IF_ERROR(ImportOp(block, i));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Program> Importer::Run() {
  const ProgramDesc& desc = origin_->desc;
  for (int b = 0; b < desc.blocks_size(); ++b) {
    origin_->used_vars.emplace_back(desc.blocks(b).vars_size(), false);
    if (b > 0) program_.AddBlock(desc.blocks(b).parent_idx(), absl::StrCat("block", b));
  }
  AMPC_RETURN_IF_ERROR(MakeFeeds());
  MakeKeptVars();
  AMPC_RETURN_IF_ERROR(AttachParams());
  AMPC_RETURN_IF_ERROR(ImportBlock(0));
  // Blocks that no op owns.
  for (int b = 1; b < desc.blocks_size(); ++b) {
    if (!entered_[b]) AMPC_RETURN_IF_ERROR(ImportBlock(b));
  }
  SortFetches();
  ForEachVar(program_, [this](const Var& var) { origin_->values[var.origin].type = var.type; });
  origin_->num_feeds = program_.feeds.size();
  origin_->separate_files = files_.layout == ParamsLayout::kSeparate;
  program_.origin = origin_;
  return std::move(program_);
}

absl::StatusOr<ProgramDesc> ParseProgram(absl::string_view bytes, absl::string_view where) {
  ProgramDesc desc;
  // The partial parser and IsInitialized say the same as the full one without writing to the log.
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return UnsupportedError(absl::StrCat(where, ": a program of ", bytes.size(), " bytes, at most 2 GiB are possible"));
  }
  if (!desc.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) || !desc.IsInitialized()) {
    return BadInputError(absl::StrCat(where, ": not a Paddle program, or damaged (", bytes.size(), " bytes)"));
  }
  return desc;
}

absl::StatusOr<Program> ImportProgram(ProgramDesc desc, const PaddleFiles& files) {
  auto origin = std::make_shared<PaddleOrigin>();
  origin->desc = std::move(desc);
  AMPC_ASSIGN_OR_RETURN(Scopes scopes, Scopes::Build(origin->desc, files.model));
  return Importer(std::move(origin), std::move(scopes), files).Run();
}

const PaddleOrigin* OriginOf(const Program& program) {
  if (program.origin == nullptr || program.origin->format() != "paddle") return nullptr;
  return static_cast<const PaddleOrigin*>(program.origin.get());
}

}  // namespace ampc::paddle
