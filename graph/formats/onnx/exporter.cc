#include "graph/formats/onnx/exporter.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/atomic_file.h"
#include "graph/base/atomic_file_set.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/converted.h"
#include "graph/formats/onnx/export.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {
namespace {

constexpr int kOldestWritten = 13;   // the operator set of a model that no file had, at least
constexpr int kOldestCast = 6;       // Cast names its type by a number from there on
constexpr int kOldestBF16Cast = 13;  // and takes bf16
constexpr int kIrVersionWritten = 8;

bool IsBF16Cast(const Op& op) {
  return op.type() == "cast" && ((op.input(0) != nullptr && op.input(0)->type.dtype == DType::kBF16) ||
                                 (op.output(0) != nullptr && op.output(0)->type.dtype == DType::kBF16));
}

}  // namespace

Exporter::Exporter(const Program& program)
    : program_(program),
      origin_(OriginOf(program)),
      functions_(FunctionBlocks(program)),
      converted_(IsConverted(program)),
      read_(program.num_var_ids(), false) {
  absl::flat_hash_set<std::string> exported;  // names that the program does not know
  for (size_t g = 0; origin_ != nullptr && g < origin_->graphs.size(); ++g) graph_of_[origin_->graphs[g].data()] = static_cast<int>(g);
  values_of_.resize(graph_of_.size());
  for (size_t v = 0; origin_ != nullptr && v < origin_->values.size(); ++v) ++values_of_[origin_->values[v].location.graph];
  ForEachOp(program, [this](const Op& op) {
    for (const Var* var : op.inputs()) read_[var->id()] = true;
  });
  for (const Var* var : program.fetches) read_[var->id()] = true;
  ForEachVar(program, [&exported](const Var& var) {
    if (!var.export_name.empty()) exported.insert(var.export_name);
  });
  if (exported.empty()) return;
  ForEachVar(program, [&](const Var& var) {
    if (var.origin >= 0 || !exported.contains(var.name())) return;
    std::string name = var.name();
    for (int n = 1; exported.contains(name) || program_.NameTaken(name); ++n) name = absl::StrCat(var.name(), ".", n);
    exported.insert(name);
    new_names_[var.id()] = std::move(name);
  });
}

const std::string& Exporter::NameOf(const Var& var) const {
  if (new_names_.empty() || var.origin >= 0) return var.exported();
  const auto it = new_names_.find(var.id());
  return it == new_names_.end() ? var.exported() : it->second;
}

// Every op has to be the version that the operator set has.
absl::Status Exporter::CheckOpset() const {
  std::string wrong;
  absl::flat_hash_set<const OpDef*> seen;
  const auto add = [&wrong](absl::string_view name) { absl::StrAppend(&wrong, wrong.empty() ? "" : ", ", name); };
  ForEachOp(program_, [&](const Op& op) {
    if (InFunction(op.block()) || !seen.insert(&op.def()).second) return;
    if (const OnnxDef* def = DefOf(op.def()); def != nullptr) {
      if (FindSchema(def->schema->type, opset_) != def->schema) add(def->operator_name);
    } else if (op.def().opaque && op.origin >= 0 && origin_ != nullptr) {
      NodeView node;
      (void)ReadNode(origin_->ops[op.origin].bytes, &node);
      const std::string type(node.type);
      if (node.IsDefaultDomain() && !DiffersInTypesAlone(type, origin_->opset, opset_)) add(op.def().operator_name);
    }
  });
  if (wrong.empty()) return absl::OkStatus();
  return UnsupportedError(absl::StrCat("the program needs ONNX's operator set ", opset_, ", which has other versions of ", wrong));
}

// Every op says in that operator set what it says in its own: it has no operand, result or attribute that came later. Properties of the
// record alone (the type of a tensor attribute) are in no file.
bool Exporter::FitsOpset(int opset) const {
  bool fits = true;
  ForEachOp(program_, [&](const Op& op) {
    const OnnxDef* def = DefOf(op.def());
    if (!fits || def == nullptr || InFunction(op.block()) || restored_.contains(&op) || omitted_.contains(&op)) return;
    const Schema* schema = FindSchema(def->schema->type, opset);
    if (schema == def->schema) return;
    fits = schema != nullptr;
    const auto unused = [&](size_t known, size_t count, bool inputs) {
      for (size_t i = known; i < count; ++i) {
        if (!(inputs ? op.inputs(static_cast<int>(i)) : op.outputs(static_cast<int>(i))).empty()) return false;
      }
      return true;
    };
    fits = fits && unused(schema->inputs.size(), def->schema->inputs.size(), true) &&
           unused(schema->outputs.size(), def->schema->outputs.size(), false);
    const auto has = [](const Schema& version, const Attr& attr) {
      return std::any_of(version.attrs.begin(), version.attrs.end(), [&](const FormalAttr& known) { return known.name == attr.name; });
    };
    for (const Attr& attr : op.attrs()) fits = fits && (has(*schema, attr) || !has(*def->schema, attr));
  });
  return fits;
}

absl::Status Exporter::ChooseOpset() {
  int needed = 0;
  bool made = false;
  ForEachOp(program_, [&](const Op& op) {
    if (InFunction(op.block())) return;
    if (const OnnxDef* def = DefOf(op.def()); def != nullptr) {
      needed = std::max(needed, def->schema->since);
      made = made || op.origin < 0;
    } else if (IsBF16Cast(op)) {
      needed = std::max(needed, kOldestBF16Cast);
    } else if (op.type() == "cast" && op.origin < 0) {
      needed = std::max(needed, kOldestCast);
    }
  });
  const int had = origin_ == nullptr ? kOldestWritten : origin_->opset;
  opset_ = had == 0 && needed == 0 ? 0 : std::max(had, needed);
  if (opset_ == had && origin_ != nullptr && !made) return absl::OkStatus();
  return CheckOpset();
}

std::string Exporter::Opset(absl::string_view had) const {
  OpsetView view;
  (void)ReadOpset(had, &view);
  if (!IsDefaultDomain(view.domain) || view.version == opset_) return std::string(had);
  std::string out;
  WireReader reader(had);
  for (WireField field; reader.Next(&field);) {
    if (field.Is(2, kVarint)) {
      AppendVarintField(2, static_cast<uint64_t>(opset_), &out);
    } else {
      absl::StrAppend(&out, field.all);
    }
  }
  return out;
}

// `had` is a metadata field of the file, or "" at the place for a new one.
void Exporter::WriteMetadata(absl::string_view had, bool* done, Rope* out) const {
  absl::string_view key, value;
  WireField field;
  WireReader reader(had);
  if (reader.Next(&field)) (void)ReadEntry(field.bytes, &key, &value);
  if (!had.empty() && key != kUndoKey) return out->Keep(had);
  if (std::exchange(*done, true) || undo_.empty()) return;
  const std::string text = undo_.Encode();
  if (!had.empty() && value == text) return out->Keep(had);
  std::string entry, whole;
  AppendBytesField(1, kUndoKey, &entry);
  AppendBytesField(2, text, &entry);
  AppendBytesField(model::kMetadata, entry, &whole);
  out->Text(whole);
}

Rope Exporter::NewModel(const Rope& graph) const {
  Rope out;
  std::string text;
  AppendVarintField(model::kIrVersion, kIrVersionWritten, &text);
  AppendBytesField(2, "ampc", &text);
  out.Text(text);
  out.Field(model::kGraph, graph);
  std::set<std::string> domains = {""};
  ForEachOp(program_,
            [&](const Op& op) { domains.emplace(DomainOf(DefOf(op.def()) == nullptr ? absl::string_view() : TypeName(op.def()))); });
  for (const std::string& domain : domains) {
    std::string opset, field;
    if (!domain.empty()) AppendBytesField(1, domain, &opset);
    AppendVarintField(2, static_cast<uint64_t>(domain.empty() ? opset_ : 1), &opset);
    AppendBytesField(model::kOpsets, opset, &field);
    out.Text(field);
  }
  bool done = false;
  WriteMetadata("", &done, &out);
  return out;
}

absl::StatusOr<Rope> Exporter::Model() {
  AMPC_RETURN_IF_ERROR(ChooseOpset());
  FindRestored();
  AMPC_ASSIGN_OR_RETURN(const Rope graph, WriteGraph(program_.main(), origin_ == nullptr ? absl::string_view() : origin_->graphs[0]));
  if (origin_ == nullptr) return NewModel(graph);
  if (!stripped_ && (opset_ != origin_->opset || origin_->undo.opset() != 0)) {
    undo_.set_opset(origin_->undo.opset() != 0 ? origin_->undo.opset() : origin_->opset);
  }
  PlanFunctions();
  Rope out;
  size_t functions = 0;
  bool undo_done = false;
  bool has_undo = false;
  absl::string_view key, value;
  WireReader look(origin_->bytes());
  for (WireField field; look.Next(&field);)
    has_undo = has_undo || (field.Is(model::kMetadata, kBytes) && ReadEntry(field.bytes, &key, &value) && key == kUndoKey);
  WireReader reader(origin_->bytes());
  for (WireField field; reader.Next(&field);) {
    if (!has_undo && field.number > model::kMetadata) WriteMetadata("", &undo_done, &out);
    if (field.Is(model::kGraph, kBytes)) {
      graph.Are(field.bytes) ? out.Keep(field.all) : out.Field(model::kGraph, graph);
    } else if (field.Is(model::kOpsets, kBytes)) {
      const std::string opset = Opset(field.bytes);
      if (opset == field.bytes) {
        out.Keep(field.all);
      } else {
        std::string text;
        AppendBytesField(model::kOpsets, opset, &text);
        out.Text(text);
      }
    } else if (field.Is(model::kMetadata, kBytes)) {
      WriteMetadata(field.all, &undo_done, &out);
    } else if (field.Is(model::kFunctions, kBytes)) {
      const std::string& now = function_texts_[functions++];
      if (now.empty() || now == field.bytes) {
        out.Keep(field.all);
      } else {
        std::string text;
        AppendBytesField(model::kFunctions, now, &text);
        out.Text(text);
      }
    } else {
      out.Keep(field.all);
    }
  }
  if (!has_undo) WriteMetadata("", &undo_done, &out);
  return out;
}

namespace {

absl::Status WriteExternal(const ExternalLayout& layout, const std::string& path, const SaveOptions& options, SaveProgress* progress,
                           AtomicFileSet* files) {
  if (layout.extents.empty() || options.program_only) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, {.no_sync = options.no_sync, .memory = options.memory}));
  for (const ExternalLayout::Extent& extent : layout.extents) {
    if (extent.offset < file.size()) continue;  // the same bytes as another one
    AMPC_RETURN_IF_ERROR(file.AppendZeros(extent.offset - file.size()));
    AMPC_RETURN_IF_ERROR(AppendWeight(*extent.var, options, progress, [&file](absl::string_view bytes) { return file.Append(bytes); }));
  }
  if (layout.size > file.size()) AMPC_RETURN_IF_ERROR(file.AppendZeros(layout.size - file.size()));
  return files->Add(std::move(file));
}

// The weights of another model must not be replaced.
absl::Status CheckDataFile(const ExternalLayout& layout, const OnnxOrigin* origin, const std::string& path, const std::string& data) {
  std::error_code error;
  if (layout.extents.empty() || !std::filesystem::exists(data, error)) return absl::OkStatus();
  if (origin != nullptr && std::filesystem::equivalent(origin->source->path(), path, error)) return absl::OkStatus();
  for (const ExternalLayout::Extent& extent : layout.extents) {
    if (extent.var->weight == nullptr || extent.var->weight->source->path().empty()) continue;
    if (std::filesystem::equivalent(extent.var->weight->source->path(), data, error)) {
      return UsageError(absl::StrCat(data, " holds the weights of the model that was read; another name is needed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportModel(const Program& program, const std::string& path, const SaveOptions& options, AtomicFileSet* set,
                         uint64_t most_in_file) {
  Exporter exporter(program);
  const std::string data = absl::StrCat(path, ".data");
  AMPC_RETURN_IF_ERROR(exporter.PlanValues(std::filesystem::path(data).filename().string(), most_in_file));
  AMPC_ASSIGN_OR_RETURN(const Rope model, exporter.Model());
  if (model.size() >= uint64_t{1} << 31) {
    return UnsupportedError(
        absl::StrCat(path, ": an ONNX model of ", model.size(), " bytes without its external data; at most 2 GiB are possible"));
  }
  const OnnxOrigin* origin = OriginOf(program);
  AMPC_RETURN_IF_ERROR(CheckDataFile(exporter.external(), origin, path, data));
  uint64_t total = model.size();
  for (const ExternalLayout::Extent& extent : exporter.external().extents) total += extent.bytes;
  SaveProgress progress(options, total);
  AMPC_RETURN_IF_ERROR(WriteExternal(exporter.external(), data, options, &progress, set));
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Create(path, {.no_sync = options.no_sync, .memory = options.memory}));
  AMPC_RETURN_IF_ERROR(model.Write(origin == nullptr ? nullptr : origin->source.get(), options, &progress,
                                   [&file](absl::string_view bytes) { return file.Append(bytes); }));
  return set->Add(std::move(file));
}

}  // namespace ampc::onnx
