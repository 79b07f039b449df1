#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_writer.h"
#include "graph/base/packed.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/base/utf8.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "graph/formats/tensor_io/safetensors_types.h"

namespace ampc {
namespace {

constexpr absl::string_view kMetadata = "__metadata__";

absl::Status CheckNames(const std::string& path, absl::Span<const SafetensorsWriter::Spec> specs) {
  std::vector<absl::string_view> names;
  for (const SafetensorsWriter::Spec& spec : specs) {
    if (!IsUtf8(spec.name)) return UsageError(absl::StrCat(path, ": tensor name '", absl::CHexEscape(spec.name), "' is not UTF-8"));
    names.push_back(spec.name);
  }
  std::sort(names.begin(), names.end());
  const auto duplicate = std::adjacent_find(names.begin(), names.end());
  if (duplicate != names.end()) return UsageError(absl::StrCat(path, ": two tensors have the name '", *duplicate, "'"));
  if (std::binary_search(names.begin(), names.end(), kMetadata)) {
    return UsageError(absl::StrCat(path, ": '", kMetadata, "' cannot be the name of a tensor, the format reserves it"));
  }
  return absl::OkStatus();
}

// The entry of `spec`, offset left at 0.
absl::StatusOr<SafetensorsEntry> MakeEntry(const std::string& path, const SafetensorsWriter::Spec& spec) {
  const safetensors_internal::ElementType* type = safetensors_internal::FindType(spec.dtype);
  const std::optional<int64_t> bytes = NumFileBytes(spec.dtype, spec.dims);
  if (type == nullptr) return UsageError(absl::StrCat(path, ": tensor '", spec.name, "': safetensors has no type for ", Name(spec.dtype)));
  if (!bytes) {
    return UsageError(absl::StrCat(path, ": tensor '", spec.name, "': shape ", ShapeToString(spec.dims), " needs known dimensions"));
  }
  return SafetensorsEntry{spec.name, spec.dtype, std::string(type->name), spec.dims, 0, static_cast<uint64_t>(*bytes)};
}

// The JSON header, padded so that the data begin at a multiple of 64. Offsets in `entries` count from the start of the data.
std::string MakeHeader(const std::vector<SafetensorsEntry>& entries, const std::map<std::string, std::string>& metadata) {
  JsonWriter json;
  json.BeginObject();
  if (!metadata.empty()) {
    json.Key(kMetadata).BeginObject();
    for (const auto& [key, value] : metadata) json.Field(key, value);
    json.EndObject();
  }
  for (const SafetensorsEntry& entry : entries) {
    json.Key(entry.name).BeginObject().Field("dtype", entry.type_name).Key("shape").Ints(entry.dims);
    const int64_t range[] = {static_cast<int64_t>(entry.offset), static_cast<int64_t>(entry.offset + entry.bytes)};
    json.Key("data_offsets").Ints(range).EndObject();
  }
  json.EndObject();
  std::string text = json.Take();
  text.append((64 - (8 + text.size()) % 64) % 64, ' ');
  std::string header;
  for (int i = 0; i < 8; ++i) header.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  return header + text;
}

}  // namespace

absl::StatusOr<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path, absl::Span<const Spec> specs,
                                                            const std::map<std::string, std::string>& metadata,
                                                            AtomicFileWriter::Options options) {
  AMPC_RETURN_IF_ERROR(CheckNames(path, specs));
  std::vector<SafetensorsEntry> entries;
  entries.reserve(specs.size());
  for (const Spec& spec : specs) {
    AMPC_ASSIGN_OR_RETURN(entries.emplace_back(), MakeEntry(path, spec));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) { return SizeOf(a.dtype) > SizeOf(b.dtype); });
  uint64_t end = 0;
  for (SafetensorsEntry& entry : entries) {
    entry.offset = end;
    end += entry.bytes;
  }
  std::string header = MakeHeader(entries, metadata);
  for (SafetensorsEntry& entry : entries) entry.offset += header.size();
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Create(path, options));
  AMPC_RETURN_IF_ERROR(writer.Append(header));
  end += header.size();
  return SafetensorsWriter(std::move(writer), std::move(entries), std::move(header), end);
}

absl::Status SafetensorsWriter::Append(absl::Span<const std::byte> bytes) { return writer_.Append(bytes); }

absl::Status SafetensorsWriter::CheckComplete() const {
  if (writer_.size() == end_) return absl::OkStatus();
  return InternalError(absl::StrCat("safetensors file of ", end_, " bytes: ", writer_.size(), " bytes were appended"));
}

absl::Status SafetensorsWriter::Commit() {
  AMPC_RETURN_IF_ERROR(CheckComplete());
  return writer_.Commit();
}

absl::StatusOr<AtomicFileWriter> SafetensorsWriter::Take() && {
  AMPC_RETURN_IF_ERROR(CheckComplete());
  return std::move(writer_);
}

absl::Status WriteSafetensors(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                              AtomicFileWriter::Options options) {
  AMPC_ASSIGN_OR_RETURN(AtomicFileWriter writer, MakeSafetensors(path, tensors, options));
  return writer.Commit();
}

absl::StatusOr<AtomicFileWriter> MakeSafetensors(const std::string& path, const std::map<std::string, HostTensor>& tensors,
                                                 AtomicFileWriter::Options options) {
  std::vector<SafetensorsWriter::Spec> specs;
  for (const auto& [name, tensor] : tensors) {
    specs.push_back({name, tensor.dtype(), std::vector<int64_t>(tensor.dims().begin(), tensor.dims().end())});
  }
  AMPC_ASSIGN_OR_RETURN(SafetensorsWriter writer, SafetensorsWriter::Create(path, specs, {}, options));
  for (const SafetensorsEntry& entry : writer.entries()) {
    const HostTensor& tensor = tensors.at(entry.name);
    std::string packed;
    if (IsPacked(tensor.dtype())) AppendPacked(tensor.dtype(), tensor.data(), tensor.num_elements(), &packed);
    const auto* bytes = reinterpret_cast<const std::byte*>(packed.data());
    AMPC_RETURN_IF_ERROR(writer.Append(packed.empty() ? tensor.bytes() : absl::Span<const std::byte>(bytes, packed.size())));
  }
  return std::move(writer).Take();
}

}  // namespace ampc
