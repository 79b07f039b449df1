#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/json_reader.h"
#include "graph/base/packed.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/tensor_io/safetensors.h"
#include "graph/formats/tensor_io/safetensors_types.h"

namespace ampc {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format

// Turns one member of the header into an entry whose offset still counts from the start of the data.
class EntryReader {
 public:
  EntryReader(const std::string& path, uint64_t data_bytes) : path_(path), data_bytes_(data_bytes) {}

  absl::Status Read(const JsonValue::Member& member, SafetensorsEntry* entry) {
    entry->name = member.key;
    name_ = &entry->name;
    const JsonValue* dtype = member.value.Find("dtype");
    const JsonValue* shape = member.value.Find("shape");
    const JsonValue* offsets = member.value.Find("data_offsets");
    if (dtype == nullptr || !dtype->Is(JsonValue::Kind::kString)) return Bad("has no text 'dtype'");
    if (shape == nullptr || !shape->Is(JsonValue::Kind::kArray)) return Bad("has no list 'shape'");
    if (offsets == nullptr || offsets->items.size() != 2) return Bad("has no 'data_offsets' of two numbers");
    for (const JsonValue& item : shape->items) {
      const std::optional<int64_t> dim = item.AsInt();
      if (!dim || *dim < 0) return Bad("has a dimension that is not a whole number from 0 up");
      entry->dims.push_back(*dim);
    }
    AMPC_RETURN_IF_ERROR(ReadRange(*offsets, entry));
    return CheckType(dtype->text, entry);
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return BadInputError(absl::StrCat(path_, ": tensor '", absl::Utf8SafeCEscape(*name_), "': ", what));
  }

  absl::Status ReadRange(const JsonValue& offsets, SafetensorsEntry* entry) const {
    const std::optional<int64_t> begin = offsets.items[0].AsInt(), end = offsets.items[1].AsInt();
    if (!begin || !end || *begin < 0 || *end < *begin) return Bad("its data_offsets are not a range");
    if (static_cast<uint64_t>(*end) > data_bytes_) {
      return Bad(absl::StrCat("its data end at byte ", *end, ", the file has ", data_bytes_, " bytes of data"));
    }
    entry->offset = static_cast<uint64_t>(*begin);
    entry->bytes = static_cast<uint64_t>(*end - *begin);
    return absl::OkStatus();
  }

  absl::Status CheckType(const std::string& name, SafetensorsEntry* entry) const {
    entry->type_name = name;
    const safetensors_internal::ElementType* type = safetensors_internal::FindType(name);
    if (type == nullptr) return Bad(absl::StrCat("its dtype '", absl::Utf8SafeCEscape(name), "' is not one of the format"));
    entry->dtype = type->dtype;
    const std::optional<int64_t> elements = NumElements(entry->dims);
    int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(type->bytes), &bytes)) {
      return Bad(absl::StrCat("its shape ", ShapeToString(entry->dims), " has more than 2^63 bytes"));
    }
    const bool packed = IsPacked(type->dtype);
    if (packed) bytes = PackedBytes(BitsOf(type->dtype), *elements);
    if ((packed || type->bytes != 0) && static_cast<uint64_t>(bytes) != entry->bytes) {
      return Bad(absl::StrCat(name, " ", ShapeToString(entry->dims), " needs ", bytes, " bytes, its data_offsets hold ", entry->bytes));
    }
    return absl::OkStatus();
  }

  const std::string& path_;
  const uint64_t data_bytes_;
  const std::string* name_ = nullptr;
};

absl::StatusOr<absl::string_view> HeaderText(absl::string_view file, const std::string& path) {
  uint64_t length = 0;
  if (file.size() < sizeof(length)) {
    return BadInputError(absl::StrCat(path, ": a safetensors file needs at least 8 bytes, found ", file.size()));
  }
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMaxHeaderBytes || length > file.size() - sizeof(length)) {
    return BadInputError(
        absl::StrCat(path, ": is not a safetensors file: its header would have ", length, " bytes, the file has ", file.size()));
  }
  return file.substr(sizeof(length), length);
}

// The tensors, in the order of their offsets, must follow each other without gap or overlap up to the end of the data.
absl::Status CheckLayout(const std::string& path, uint64_t data_bytes, const std::vector<SafetensorsEntry>& entries) {
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset != end) {
      return BadInputError(absl::StrCat(path, ": tensor '", absl::Utf8SafeCEscape(entry.name), "': begins at byte ", entry.offset,
                                        " of the data, needs ", end, ", where the tensor before it ends"));
    }
    end += entry.bytes;
  }
  if (end == data_bytes) return absl::OkStatus();
  return BadInputError(absl::StrCat(path, ": has ", data_bytes, " bytes of data, its tensors need ", end));
}

absl::Status ReadMetadata(const std::string& path, const JsonValue& value, std::map<std::string, std::string>* metadata) {
  if (!value.Is(JsonValue::Kind::kObject)) return BadInputError(absl::StrCat(path, ": '__metadata__' is not an object"));
  for (const JsonValue::Member& member : value.members) {
    if (!member.value.Is(JsonValue::Kind::kString)) {
      return BadInputError(absl::StrCat(path, ": '__metadata__' holds a ", Name(member.value.kind), ", needs only strings"));
    }
    metadata->emplace(member.key, member.value.text);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view file, const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const absl::string_view text, HeaderText(file, path));
  absl::StatusOr<JsonValue> json = ParseJson(text);
  if (!json.ok()) return Annotate(json.status(), absl::StrCat(path, ": safetensors header"));
  if (!json->Is(JsonValue::Kind::kObject)) return BadInputError(absl::StrCat(path, ": the safetensors header is not a JSON object"));
  const uint64_t data_offset = sizeof(uint64_t) + text.size();
  const uint64_t data_bytes = file.size() - data_offset;
  SafetensorsHeader header;
  EntryReader reader(path, data_bytes);
  for (const JsonValue::Member& member : json->members) {
    if (member.key == "__metadata__") {
      AMPC_RETURN_IF_ERROR(ReadMetadata(path, member.value, &header.metadata));
    } else {
      AMPC_RETURN_IF_ERROR(reader.Read(member, &header.entries.emplace_back()));
    }
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);  // an empty tensor before the one that begins there
  });
  AMPC_RETURN_IF_ERROR(CheckLayout(path, data_bytes, header.entries));
  for (SafetensorsEntry& entry : header.entries) entry.offset += data_offset;
  return header;
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  SafetensorsFile result;
  AMPC_ASSIGN_OR_RETURN(result.file_, MappedFile::Open(path));
  AMPC_ASSIGN_OR_RETURN(result.header_, ParseSafetensorsHeader(result.file_.text(), path));
  const std::vector<SafetensorsEntry>& entries = result.entries();
  result.by_name_.resize(entries.size());
  std::iota(result.by_name_.begin(), result.by_name_.end(), 0u);
  std::sort(result.by_name_.begin(), result.by_name_.end(), [&](uint32_t a, uint32_t b) { return entries[a].name < entries[b].name; });
  return result;
}

const SafetensorsEntry* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](uint32_t index, absl::string_view key) { return entries()[index].name < key; });
  return found != by_name_.end() && entries()[*found].name == name ? &entries()[*found] : nullptr;
}

absl::Span<const std::byte> SafetensorsFile::Bytes(const SafetensorsEntry& entry) const {
  return absl::Span<const std::byte>(file_.bytes().data(), file_.size()).subspan(entry.offset, entry.bytes);
}

absl::StatusOr<HostTensor> SafetensorsFile::Load(absl::string_view name) const {
  const SafetensorsEntry* entry = Find(name);
  if (entry == nullptr) {
    std::vector<absl::string_view> names;
    for (const SafetensorsEntry& other : entries()) names.push_back(other.name);
    return BadInputError(absl::StrCat(path(), ": has no tensor '", name, "'", Suggest(name, names)));
  }
  if (entry->dtype == DType::kInvalid) {
    return UnsupportedError(
        absl::StrCat(path(), ": tensor '", name, "': dtype ", entry->type_name,
                     " is not one of BOOL, U8, I8, U16, I16, U32, I32, U64, I64, F8_E4M3, F8_E5M2, F8_E8M0, F4, F16, BF16, F32, F64, C64"));
  }
  AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(entry->dtype, entry->dims));
  const absl::Span<const std::byte> bytes = Bytes(*entry);
  if (bytes.empty()) return tensor;
  if (IsPacked(entry->dtype)) {
    Unpack(entry->dtype, absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), tensor.num_elements(),
           tensor.mutable_data());
    return tensor;
  }
  std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  if (entry->dtype == DType::kBool) {  // a bool object must hold 0 or 1
    auto* values = static_cast<unsigned char*>(tensor.mutable_data());
    std::transform(values, values + bytes.size(), values, [](unsigned char c) { return static_cast<unsigned char>(c != 0); });
  }
  return tensor;
}

absl::StatusOr<std::map<std::string, HostTensor>> ReadSafetensors(const std::string& path) {
  AMPC_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  std::map<std::string, HostTensor> tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    AMPC_ASSIGN_OR_RETURN(HostTensor tensor, file.Load(entry.name));
    tensors.emplace(entry.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace ampc
