#include "graph/formats/weight_file.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/fnv.h"
#include "graph/base/status_macros.h"
#include "graph/formats/weight_stream.h"

namespace ampc {
namespace {

// The length field and the JSON behind it; the file was checked.
absl::string_view HeaderBytes(absl::Span<const char> file) {
  uint64_t length = 0;
  if (file.size() < sizeof(length)) return {};
  std::memcpy(&length, file.data(), sizeof(length));
  return {file.data(), static_cast<size_t>(std::min<uint64_t>(file.size(), sizeof(length) + length))};
}

}  // namespace

std::string WeightFileBeside(const std::string& program_path) {
  return std::filesystem::path(program_path).replace_extension(".safetensors").string();
}

absl::StatusOr<WeightFile> WeightFile::Open(const std::string& path) {
  WeightFile file;
  AMPC_ASSIGN_OR_RETURN(file.source_, OpenWeightFile(path));
  const absl::Span<const char> bytes = file.source_->bytes();
  AMPC_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseSafetensorsHeader(absl::string_view(bytes.data(), bytes.size()), path));
  for (SafetensorsEntry& entry : header.entries) {
    std::string name = entry.name;
    file.entries_.emplace(std::move(name), std::move(entry));
  }
  file.header_hash_ = Fnv1a(HeaderBytes(bytes));
  return file;
}

absl::StatusOr<WeightRef> WeightFile::Find(absl::string_view name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return BadInputError(absl::StrCat(path(), ": no tensor '", name, "' among its ", entries_.size()));
  const SafetensorsEntry& entry = it->second;
  if (entry.dtype == DType::kInvalid) {
    return UnsupportedError(absl::StrCat(path(), ": tensor '", name, "' has element type ", entry.type_name, ", which is not supported"));
  }
  WeightRef ref;
  ref.source = source_;
  ref.name = entry.name;
  ref.offset = entry.offset;
  ref.bytes = entry.bytes;
  ref.dtype = entry.dtype;
  return ref;
}

const std::vector<int64_t>* WeightFile::Dims(absl::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &it->second.dims;
}

std::vector<std::string> WeightKeys(const Program& program) {
  std::vector<std::string> keys(program.num_var_ids());
  absl::flat_hash_map<absl::string_view, int> uses;
  ForEachVar(program, [&uses](const Var& var) {
    if (var.weight != nullptr) ++uses[var.name()];
  });
  ForEachVar(program, [&](const Var& var) {
    if (var.weight == nullptr) return;
    keys[var.id()] = uses[var.name()] == 1 ? var.name() : absl::StrCat(var.name(), "@", var.block().name());
  });
  return keys;
}

absl::StatusOr<WrittenWeights> WriteWeightFile(const Program& program, const std::vector<std::string>& keys, const std::string& path,
                                               const SaveOptions& options, AtomicFileSet* files) {
  std::vector<SafetensorsWriter::Spec> specs;
  absl::flat_hash_map<absl::string_view, const Var*> by_key;
  uint64_t total = 0;
  absl::Status status;
  ForEachVar(program, [&](const Var& var) {
    if (keys[var.id()].empty() || !status.ok()) return;
    const absl::StatusOr<uint64_t> bytes = StoredBytes(var);
    if (!bytes.ok()) {
      status = bytes.status();
      return;
    }
    total += *bytes;
    specs.push_back({keys[var.id()], var.type.dtype, {var.type.dims.begin(), var.type.dims.end()}});
    by_key[keys[var.id()]] = &var;
  });
  AMPC_RETURN_IF_ERROR(status);
  if (specs.empty()) return WrittenWeights();
  // The order of the file does not depend on how the program was made.
  std::sort(specs.begin(), specs.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  AMPC_ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::Create(path, specs, {{"format", "ampc"}},
                                                                            {.no_sync = options.no_sync, .memory = options.memory}));
  SaveProgress progress(options, total);
  const ByteSink sink = [&writer](absl::string_view bytes) {
    return writer.Append(absl::Span<const std::byte>(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()));
  };
  for (const SafetensorsEntry& entry : writer.entries()) {
    AMPC_RETURN_IF_ERROR(AppendWeight(*by_key[entry.name], options, &progress, sink));
  }
  const WrittenWeights written{writer.file_size(), Fnv1a(writer.header())};
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter file, std::move(writer).Take());
  AMPC_RETURN_IF_ERROR(files->Add(std::move(file)));
  return written;
}

}  // namespace ampc
