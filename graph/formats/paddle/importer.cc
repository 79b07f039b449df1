#include "graph/formats/paddle/importer.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/import.h"

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

}  // namespace

Importer::Importer(std::shared_ptr<PaddleOrigin> origin, Scopes scopes, const PaddleFiles& files)
    : files_(files),
      origin_(std::move(origin)),
      scopes_(std::move(scopes)),
      captures_(origin_->layout.blocks.size()),
      entered_(origin_->layout.blocks.size(), false) {}

absl::Status Importer::Error(absl::string_view what) const { return BadInputError(absl::StrCat(files_.model, ": ", what)); }

std::string Importer::FreshName(Storage& storage) const {
  for (;;) {
    std::string name = absl::StrCat(storage.name, ".", ++storage.suffix);
    if (!scopes_.NameInFile(name) && !program_.NameTaken(name)) return name;
  }
}

Var* Importer::NewVersion(Storage& storage, VarKind kind) {
  const bool own_name = storage.versions == 0 && storage.name != kEmptyArgument && !scopes_.Shadows(storage.block, storage.name);
  Var* var = program_.block(storage.block).AddVar(own_name ? storage.name : FreshName(storage), kind, storage.type);
  if (!own_name) var->export_name = storage.name;
  var->stop_gradient = storage.stop_gradient;
  var->trainable = kind == VarKind::kParam && storage.is_parameter && !storage.stop_gradient;
  if (storage.undo != nullptr) {
    const VarUndo& undo = *storage.undo;
    if (undo.frozen) var->trainable = false;
    if (!undo.was.empty()) var->was = undo.was[std::min<size_t>(storage.versions, undo.was.size() - 1)];
    if (!undo.as.empty()) var->export_name = undo.as;
  }
  if (storage.var >= 0) origin_->used_vars[storage.block][storage.var] = true;
  var->origin = static_cast<int>(origin_->values.size());
  origin_->values.push_back({storage.block, storage.var, storage.persistable, {}});
  ++storage.versions;
  storage.current = var;
  return var;
}

// Statistics and accumulators are state, what an optimizer trains or nothing writes is a parameter. A file that flags its
// parameters also says by absence which of its constants (a learning rate) are none.
VarKind Importer::KeptKind(const Storage& storage) const {
  if (!storage.IsTensor()) return VarKind::kState;
  if (storage.is_parameter && !storage.stop_gradient) return VarKind::kParam;
  if (storage.written_otherwise) return VarKind::kState;
  const bool flagged = storage.is_parameter || !origin_->has_parameter_flags;
  return storage.written_as_param || flagged ? VarKind::kParam : VarKind::kState;
}

void Importer::MakeKeptVars() {
  for (Storage& storage : scopes_.all()) {
    if (storage.fed) continue;
    if (storage.persistable) {
      NewVersion(storage, KeptKind(storage));
    } else if (storage.IsTensorArray()) {
      NewVersion(storage, VarKind::kState);  // ops change arrays in place, without naming what they read
    } else if (storage.written_by_nested) {
      NewVersion(storage, VarKind::kCarry);
    }
  }
}

absl::Status Importer::MakeFeeds() {
  std::vector<std::pair<int, int>> order;  // col, position
  OpDesc op;
  for (size_t i = 0; i < origin_->layout.blocks[0].ops.size(); ++i) {
    const int position = static_cast<int>(i);
    // The type alone first: there are few feed ops among many.
    if (StringField(origin_->OpBytes(0, position), 3) == "feed") order.emplace_back(Column(ParseOp(0, position, &op)), position);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].first == order[i - 1].first) return Error(absl::StrCat("two feed ops have col ", order[i].first));
    ParseOp(0, order[i].second, &op);
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

const OpDesc& Importer::ParseOp(int block, int position, OpDesc* desc) const {
  (void)ParseSubmessage(origin_->OpBytes(block, position), desc);  // the scopes' pass over all ops has checked it
  return *desc;
}

absl::Status Importer::ImportBlock(int block) {
  entered_[block] = true;
  OpDesc op;
  for (size_t i = 0; i < origin_->layout.blocks[block].ops.size(); ++i) {
    const int position = static_cast<int>(i);
    ParseOp(block, position, &op);
    if (IsFeedOp(block, op)) continue;
    if (IsFetchOp(block, op)) {
      AMPC_RETURN_IF_ERROR(TakeFetch(op, position));
    } else {
      AMPC_RETURN_IF_ERROR(ImportOp(block, position, op));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Program> Importer::Run() {
  const std::vector<BlockLayout>& blocks = origin_->layout.blocks;
  for (size_t b = 0; b < blocks.size(); ++b) {
    origin_->used_vars.emplace_back(blocks[b].vars.size(), false);
    if (b > 0) program_.AddBlock(blocks[b].parent, absl::StrCat("block", b));
  }
  AMPC_RETURN_IF_ERROR(MakeFeeds());
  MakeKeptVars();
  AMPC_RETURN_IF_ERROR(AttachParams());
  AMPC_RETURN_IF_ERROR(ImportBlock(0));
  // Blocks that no op owns.
  for (size_t b = 1; b < blocks.size(); ++b) {
    if (!entered_[b]) AMPC_RETURN_IF_ERROR(ImportBlock(static_cast<int>(b)));
  }
  SortFetches();
  ForEachVar(program_, [this](const Var& var) {
    if (var.origin >= 0) origin_->values[var.origin].type = var.type;
  });
  origin_->num_feeds = program_.feeds.size();
  origin_->separate_files = files_.layout == ParamsLayout::kSeparate;
  program_.origin = origin_;
  return std::move(program_);
}

absl::StatusOr<Program> ImportProgram(std::shared_ptr<const WeightSource> source, const PaddleFiles& files) {
  auto origin = std::make_shared<PaddleOrigin>();
  const absl::Span<const char> bytes = source->bytes();
  AMPC_ASSIGN_OR_RETURN(origin->layout, ScanProgram(absl::string_view(bytes.data(), bytes.size()), files.model));
  origin->source = std::move(source);
  AMPC_ASSIGN_OR_RETURN(Scopes scopes, Scopes::Build(origin.get(), files.model));
  return Importer(std::move(origin), std::move(scopes), files).Run();
}

const PaddleOrigin* OriginOf(const Program& program) {
  if (program.origin == nullptr || program.origin->format() != "paddle") return nullptr;
  return static_cast<const PaddleOrigin*>(program.origin.get());
}

}  // namespace ampc::paddle
