#include "graph/formats/paddle/tensor_stream.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/paddle/types.h"

namespace ampc::paddle {
namespace {

constexpr uint64_t kMaxLodLevels = 64;
constexpr int32_t kMaxDescBytes = 1 << 16;

// Takes fields off the front of a file.
class Cursor {
 public:
  Cursor(absl::Span<const char> file, uint64_t offset, absl::string_view where) : file_(file), offset_(offset), where_(where) {}

  uint64_t offset() const { return offset_; }
  uint64_t left() const { return file_.size() - offset_; }

  template <typename T>
  absl::Status Read(absl::string_view what, T* value) {
    AMPC_RETURN_IF_ERROR(Need(sizeof(T), what));
    std::memcpy(value, file_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return absl::OkStatus();
  }
  absl::Status Skip(uint64_t bytes, absl::string_view what) {
    AMPC_RETURN_IF_ERROR(Need(bytes, what));
    offset_ += bytes;
    return absl::OkStatus();
  }
  absl::string_view Since(uint64_t begin) const { return {file_.data() + begin, static_cast<size_t>(offset_ - begin)}; }
  absl::Status Error(absl::string_view what) const { return BadInputError(absl::StrCat(where_, ": ", what, " (at byte ", offset_, ")")); }

 private:
  absl::Status Need(uint64_t bytes, absl::string_view what) const {
    if (bytes <= left()) return absl::OkStatus();
    return Error(absl::StrCat(what, " needs ", bytes, " bytes, the file has ", left(), " left"));
  }

  absl::Span<const char> file_;
  uint64_t offset_;
  absl::string_view where_;
};

absl::Status ReadLod(Cursor& cursor, std::string* lod) {
  uint32_t version = 0;
  AMPC_RETURN_IF_ERROR(cursor.Read("the LoD version", &version));
  if (version != 0) return cursor.Error(absl::StrCat("LoD version ", version, ", needs 0: not a Paddle parameter file"));
  const uint64_t begin = cursor.offset();
  uint64_t levels = 0;
  AMPC_RETURN_IF_ERROR(cursor.Read("the number of LoD levels", &levels));
  if (levels > kMaxLodLevels) return cursor.Error(absl::StrCat(levels, " LoD levels, at most ", kMaxLodLevels, " are possible"));
  for (uint64_t i = 0; i < levels; ++i) {
    uint64_t bytes = 0;
    AMPC_RETURN_IF_ERROR(cursor.Read("the size of a LoD level", &bytes));
    if (bytes % 8 != 0) return cursor.Error(absl::StrCat("a LoD level of ", bytes, " bytes, needs a multiple of 8"));
    AMPC_RETURN_IF_ERROR(cursor.Skip(bytes, "a LoD level"));
  }
  if (levels > 0) *lod = std::string(cursor.Since(begin));
  return absl::OkStatus();
}

absl::Status ReadDesc(Cursor& cursor, TensorStream* stream) {
  uint32_t version = 0;
  AMPC_RETURN_IF_ERROR(cursor.Read("the tensor version", &version));
  if (version != 0) return cursor.Error(absl::StrCat("tensor version ", version, ", needs 0"));
  int32_t size = 0;
  AMPC_RETURN_IF_ERROR(cursor.Read("the size of the tensor description", &size));
  if (size < 0 || size > kMaxDescBytes) return cursor.Error(absl::StrCat("a tensor description of ", size, " bytes"));
  const uint64_t begin = cursor.offset();
  AMPC_RETURN_IF_ERROR(cursor.Skip(size, "the tensor description"));
  stream->desc = std::string(cursor.Since(begin));
  TensorDesc desc;
  if (!desc.ParsePartialFromString(stream->desc) || !desc.IsInitialized()) return cursor.Error("a malformed tensor description");
  const std::optional<DType> dtype = DTypeOfNumber(desc.data_type());
  if (!dtype.has_value())
    return UnsupportedError(
        absl::StrCat(cursor.Error(absl::StrCat("element type number ", desc.data_type())).message(), " is not supported"));
  stream->dtype = *dtype;
  stream->dims.assign(desc.dims().begin(), desc.dims().end());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorStream> ScanTensor(absl::Span<const char> file, uint64_t offset, absl::string_view where) {
  TensorStream stream;
  Cursor cursor(file, offset, where);
  AMPC_RETURN_IF_ERROR(ReadLod(cursor, &stream.lod));
  AMPC_RETURN_IF_ERROR(ReadDesc(cursor, &stream));
  uint64_t bytes = SizeOf(stream.dtype);
  for (const int64_t dim : stream.dims) {
    if (dim < 0) return cursor.Error(absl::StrCat("dimension ", dim));
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return cursor.Error("a shape with more than 2^64 bytes");
  }
  stream.data = cursor.offset();
  stream.bytes = bytes;
  AMPC_RETURN_IF_ERROR(cursor.Skip(bytes, "the tensor's data"));
  return stream;
}

std::string TensorHeader(absl::string_view lod, absl::string_view desc) {
  std::string out(4, '\0');
  if (lod.empty()) {
    out.append(8, '\0');
  } else {
    absl::StrAppend(&out, lod);
  }
  out.append(4, '\0');
  const auto size = static_cast<int32_t>(desc.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  absl::StrAppend(&out, desc);
  return out;
}

std::string TensorDescBytes(DType dtype, absl::Span<const int64_t> dims) {
  TensorDesc desc;
  desc.set_data_type(NumberOfDType(dtype));
  for (const int64_t dim : dims) desc.add_dims(dim);
  return desc.SerializeAsString();
}

}  // namespace ampc::paddle
