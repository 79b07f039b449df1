#include "graph/formats/onnx/values.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/memory_files.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "graph/formats/files_read.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::onnx {
namespace {

namespace fs = std::filesystem;

// The field that holds typed data of an element type, and how many of its numbers make an element.
int TypedField(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64: return tensor::kFloats;
    case DType::kF64:
    case DType::kC128: return tensor::kDoubles;
    case DType::kI64: return tensor::kLongs;
    case DType::kU32:
    case DType::kU64: return tensor::kUlongs;
    default: return tensor::kInts;
  }
}

void AppendLow(int64_t value, size_t size, std::string* out) { out->append(reinterpret_cast<const char*>(&value), size); }  // little-endian

// As a signed or an unsigned number of that many bytes: writers differ.
bool Fits(int64_t value, size_t size) {
  const int bits = static_cast<int>(8 * std::min<size_t>(size, 8));
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << bits);
}

// Decodes the fields `number` of typed data into raw bytes; false for malformed ones.
bool DecodeTyped(const TensorView& tensor, int number, DType dtype, std::string* out) {
  std::vector<int64_t> ints;
  for (const WireField& field : tensor.typed) {
    if (field.number != number) continue;
    if (number == tensor::kFloats || number == tensor::kDoubles) {
      if (field.type == kVarint) return false;
      absl::StrAppend(out, field.bytes);  // packed or not: the little-endian numbers
      continue;
    }
    ints.clear();
    if (!AppendInts(field, &ints)) return false;
    for (const int64_t value : ints) {
      if (!Fits(value, SizeOf(dtype))) return false;
      AppendLow(value, SizeOf(dtype), out);
    }
  }
  return true;
}

absl::Status TypedData(const TensorView& view, const std::shared_ptr<const WeightSource>& file, absl::string_view where,
                       StoredValue* value) {
  const DType dtype = value->type.dtype;
  const int number = TypedField(dtype);
  const WireField* only = nullptr;
  int fields = 0;
  for (const WireField& field : view.typed) {
    if (field.number != number) continue;
    only = &field;
    ++fields;
  }
  value->ref.dtype = dtype;
  if (fields == 1 && only->type == kBytes && (number == tensor::kFloats || number == tensor::kDoubles)) {
    value->ref.source = file;  // one packed field is raw data
    value->ref.offset = static_cast<uint64_t>(only->bytes.data() - file->bytes().data());
    value->ref.bytes = only->bytes.size();
    return absl::OkStatus();
  }
  std::string bytes;
  if (!DecodeTyped(view, number, dtype, &bytes)) return BadInputError(absl::StrCat(where, ": malformed values"));
  value->ref.bytes = bytes.size();
  value->ref.source = WeightBuffer(std::move(bytes));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Number(absl::string_view text, absl::string_view what, absl::string_view where) {
  uint64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return BadInputError(absl::StrCat(where, ": external data with the ", what, " '", text, "', needs a number"));
}

absl::Status ExternalData(const TensorView& view, ExternalFiles* files, uint64_t needed, absl::string_view where, StoredValue* value) {
  value->external = true;
  value->says_offset = !view.offset.empty();
  value->says_length = !view.length.empty();
  if (view.location.empty()) return BadInputError(absl::StrCat(where, ": external data without a location"));
  uint64_t offset = 0, length = 0;
  if (!view.offset.empty()) {
    AMPC_ASSIGN_OR_RETURN(offset, Number(view.offset, "offset", where));
  }
  if (files == nullptr || !files->opens()) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<const WeightSource>> source = files->Open(view.location);
  if (!source.ok()) return Annotate(source.status(), where);
  const uint64_t size = (*source)->bytes().size();
  if (offset > size)
    return BadInputError(absl::StrCat(where, ": external data at offset ", offset, ", ", (*source)->path(), " has ", size, " bytes"));
  length = std::min(size - offset, needed);
  if (!view.length.empty()) {
    AMPC_ASSIGN_OR_RETURN(length, Number(view.length, "length", where));
  }
  if (length > size - offset) {
    return BadInputError(
        absl::StrCat(where, ": external data of ", length, " bytes at offset ", offset, ", ", (*source)->path(), " has ", size, " bytes"));
  }
  value->ref.source = *std::move(source);
  value->ref.offset = offset;
  value->ref.bytes = length;
  return absl::OkStatus();
}

StoredValue Buffered(DType dtype, Dims dims, const void* data, size_t bytes) {
  StoredValue value;
  value.type = TensorType(dtype, std::move(dims));
  value.ref.dtype = dtype;
  value.ref.bytes = bytes;
  value.ref.source = WeightBuffer(std::string(static_cast<const char*>(data), bytes));
  return value;
}

}  // namespace

ExternalFiles::ExternalFiles(const std::string& model, bool opens)
    : folder_((fs::path(model).parent_path() / ".").string()), opens_(opens) {}

void ExternalFiles::Record(absl::string_view location) const { FilesRead::Record((fs::path(folder_) / std::string(location)).string()); }

absl::StatusOr<std::shared_ptr<const WeightSource>> ExternalFiles::Open(absl::string_view location) {
  if (const auto it = open_.find(location); it != open_.end()) return it->second;
  const fs::path relative = fs::path(std::string(location)).lexically_normal();
  const bool nul = location.find('\0') != absl::string_view::npos;
  if (nul || relative.empty() || relative.is_absolute() || *relative.begin() == "..") {
    return BadInputError(absl::StrCat("the external file '", nul ? "?" : location, "' lies outside the model's folder"));
  }
  const fs::path path = fs::path(folder_) / relative;
  // In memory no link leads out of the folder.
  if (const std::string name = path.lexically_normal().string(); MemoryFiles::FindInScope(name) != nullptr) {
    AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, OpenWeightFile(name));
    return open_[std::string(location)] = source;
  }
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return BadInputError(absl::StrCat("the external file ", path.string(), " does not exist"));
  const fs::path inside = real.lexically_relative(fs::canonical(folder_, error));
  if (error || inside.empty() || *inside.begin() == "..") {
    return BadInputError(absl::StrCat("the external file '", location, "' lies outside the model's folder"));
  }
  Record(location);
  AMPC_ASSIGN_OR_RETURN(std::shared_ptr<const WeightSource> source, OpenWeightFile(path.string()));
  open_.emplace(std::string(location), source);
  return source;
}

absl::StatusOr<StoredValue> ReadValue(const TensorView& view, const std::shared_ptr<const WeightSource>& file, ExternalFiles* files,
                                      absl::string_view where) {
  StoredValue value;
  value.type = TensorType::Opaque();
  const DType dtype = DTypeOfNumber(view.data_type);
  value.external = view.is_external;
  if (view.is_external && files != nullptr && (dtype == DType::kInvalid || !files->opens())) files->Record(view.location);
  if (dtype == DType::kInvalid) return value;
  const std::optional<int64_t> needed = NumFileBytes(dtype, view.dims);
  if (!needed.has_value()) return BadInputError(absl::StrCat(where, ": the shape ", ShapeToString(view.dims), " is not possible"));
  if (view.has_segment) return UnsupportedError(absl::StrCat(where, ": a tensor in segments is not supported"));
  value.type = TensorType(dtype, Dims(view.dims.begin(), view.dims.end()));
  value.ref.dtype = dtype;
  if (view.is_external) {
    AMPC_RETURN_IF_ERROR(ExternalData(view, files, static_cast<uint64_t>(*needed), where, &value));
    if (value.ref.source == nullptr) return value;
  } else if (view.has_raw) {
    value.ref.source = file;
    value.ref.offset = view.raw.empty() ? 0 : static_cast<uint64_t>(view.raw.data() - file->bytes().data());
    value.ref.bytes = view.raw.size();
  } else {
    AMPC_RETURN_IF_ERROR(TypedData(view, file, where, &value));
  }
  if (value.ref.bytes == static_cast<uint64_t>(*needed)) return value;
  return BadInputError(absl::StrCat(where, ": ", LongName(dtype), " ", ShapeToString(view.dims), " needs ", *needed,
                                    " bytes, its value has ", value.ref.bytes));
}

StoredValue ValueOfFloats(absl::Span<const float> values, bool scalar) {
  return Buffered(DType::kF32, scalar ? Dims() : Dims{static_cast<int64_t>(values.size())}, values.data(), values.size() * sizeof(float));
}

StoredValue ValueOfInts(absl::Span<const int64_t> values, bool scalar) {
  return Buffered(DType::kI64, scalar ? Dims() : Dims{static_cast<int64_t>(values.size())}, values.data(), values.size() * sizeof(int64_t));
}

}  // namespace ampc::onnx
