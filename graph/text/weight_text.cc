#include "graph/text/weight_text.h"

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/fnv.h"
#include "graph/base/packed.h"
#include "graph/base/status_macros.h"
#include "graph/text/number.h"
#include "graph/text/quote.h"

namespace ampc::text {
namespace {

constexpr absl::string_view kOverflow[] = {"clamp", "keep", "error"};
constexpr absl::string_view kTiny[] = {"subnormal", "flush", "keep"};
constexpr int64_t kBriefElements = 8;
// Above this size a tensor of equal elements prints in full: the parser's bound on such fills is a total.
constexpr size_t kMostFill = size_t{64} << 20;

template <typename Enum>
absl::Status TakeChoice(Cursor& cursor, const absl::string_view (&names)[3], Enum* out) {
  for (int i = 0; i < 3; ++i) {
    if (cursor.TakeWord(names[i])) {
      *out = static_cast<Enum>(i);
      return absl::OkStatus();
    }
  }
  return cursor.Unexpected(absl::StrCat("'", names[0], "', '", names[1], "' or '", names[2], "'"));
}

absl::Status ParseTransforms(Cursor& cursor, WeightRef* ref) {
  while (cursor.Take('|')) {
    WeightTransform transform;
    AMPC_ASSIGN_OR_RETURN(transform.to, ParseDTypeWord(cursor));
    if (cursor.Take('(')) {
      AMPC_RETURN_IF_ERROR(TakeChoice(cursor, kOverflow, &transform.on_overflow));
      AMPC_RETURN_IF_ERROR(cursor.Need(',', "',' and what tiny values become"));
      AMPC_RETURN_IF_ERROR(TakeChoice(cursor, kTiny, &transform.on_tiny));
      AMPC_RETURN_IF_ERROR(cursor.Need(')', "')'"));
    }
    ref->transforms.push_back(transform);
  }
  return absl::OkStatus();
}

void AppendTransforms(const WeightRef& ref, std::string* out) {
  for (const WeightTransform& t : ref.transforms) {
    absl::StrAppend(out, "|", Name(t.to), "(", kOverflow[static_cast<int>(t.on_overflow)], ",", kTiny[static_cast<int>(t.on_tiny)], ")");
  }
}

bool AllEqual(absl::string_view bytes, size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

void AppendElements(absl::string_view bytes, DType dtype, const TensorType& type, bool brief, std::string* out) {
  const size_t size = SizeOf(dtype);
  if (size == 0) return;
  const auto count = static_cast<int64_t>(bytes.size() / size);
  if (brief && count > kBriefElements) {
    absl::StrAppend(out, "#", absl::Hex(Fnv1a(bytes), absl::kZeroPad16));
    return;
  }
  const bool fill = type.NumElements() == count && count > kBriefElements && bytes.size() <= kMostFill && AllEqual(bytes, size);
  if (fill || (type.has_rank && type.rank() == 0 && count == 1)) return AppendElement(dtype, bytes.data(), out);
  out->push_back('[');
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) out->append(", ");
    AppendElement(dtype, bytes.data() + i * size, out);
  }
  out->push_back(']');
}

absl::string_view Window(const WeightRef& ref) {
  const absl::Span<const char> all = ref.source->bytes();
  if (ref.offset > all.size() || ref.bytes > all.size() - ref.offset) return "";
  return absl::string_view(all.data() + ref.offset, ref.bytes);
}

std::string Resolved(const std::string& directory, const std::string& path) {
  return directory.empty() || absl::StartsWith(path, "/") ? path : absl::StrCat(directory, "/", path);
}

void AppendFileRef(const WeightRef& ref, absl::string_view directory, std::string* out) {
  absl::string_view path = ref.source->path();
  if (!directory.empty() && absl::StartsWith(path, absl::StrCat(directory, "/"))) path.remove_prefix(directory.size() + 1);
  out->push_back('@');
  AppendPath(path, out);
  if (!ref.name.empty()) {
    out->push_back(':');
    AppendName(ref.name, out);
  } else {
    absl::StrAppend(out, "+", ref.offset, ":", ref.bytes, ":", Name(ref.dtype));
  }
}

}  // namespace

absl::StatusOr<WeightRef> WeightReader::ParseFileRef(Cursor& cursor) {
  const int line = cursor.line();
  AMPC_ASSIGN_OR_RETURN(std::string path, cursor.PathAfterAt());
  if (path.empty()) return cursor.Unexpected("the path of a weight file after '@'");
  if (!options_.open_files)
    return cursor.ErrorAt(line, absl::StrCat("found the weight file '", path, "', needed a literal: files may not be opened here"));
  path = Resolved(options_.directory, path);
  if (cursor.Take(':')) {
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("the name of the weight in its file"));
    if (options_.find_weight == nullptr)
      return cursor.ErrorAt(line, absl::StrCat("found weight '", name, "' by name, needed its offset in '", path, "'"));
    absl::StatusOr<WeightRef> ref = options_.find_weight(path, name);
    if (!ref.ok()) return cursor.AtLine(line, ref.status());
    return ref;
  }
  WeightRef ref;
  AMPC_RETURN_IF_ERROR(cursor.Need('+', "':' and a name, or '+' and an offset"));
  AMPC_ASSIGN_OR_RETURN(int64_t offset, cursor.Int("the offset of the weight in bytes"));
  AMPC_RETURN_IF_ERROR(cursor.Need(':', "':' and the number of bytes"));
  AMPC_ASSIGN_OR_RETURN(int64_t bytes, cursor.Int("the number of bytes"));
  AMPC_RETURN_IF_ERROR(cursor.Need(':', "':' and the data type as stored"));
  AMPC_ASSIGN_OR_RETURN(ref.dtype, ParseDTypeWord(cursor));
  std::shared_ptr<const WeightSource>& source = sources_[path];
  if (source == nullptr) {
    absl::StatusOr<std::shared_ptr<const WeightSource>> opened = OpenWeightFile(path);
    if (!opened.ok()) return cursor.AtLine(line, opened.status());
    source = *std::move(opened);
  }
  const auto size = static_cast<int64_t>(source->bytes().size());
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset) {
    return cursor.ErrorAt(
        line, absl::StrCat("found ", bytes, " bytes at ", offset, ", needed a part of '", path, "', which has ", size, " bytes"));
  }
  ref.source = source;
  ref.offset = offset;
  ref.bytes = bytes;
  return ref;
}

absl::StatusOr<std::string> WeightReader::Elements(Cursor& cursor, DType dtype, const TensorType& type) {
  const bool list = cursor.Is('[');
  AMPC_ASSIGN_OR_RETURN(std::string bytes, ParseElements(cursor, dtype, type.NumElements(), fill_left_));
  if (!list) fill_left_ -= static_cast<int64_t>(bytes.size());
  return bytes;
}

absl::Status WeightReader::ParseValue(Cursor& cursor, Var& var) {
  WeightRef ref;
  if (cursor.Is('@')) {
    AMPC_ASSIGN_OR_RETURN(ref, ParseFileRef(cursor));
  } else {
    const bool typed = cursor.Is(Tok::kName) && ParseDType(cursor.token().text).has_value();
    ref.dtype = var.type.dtype;
    if (typed) {
      AMPC_ASSIGN_OR_RETURN(ref.dtype, ParseDTypeWord(cursor));
    }
    if (SizeOf(ref.dtype) == 0 || var.type.kind != TypeKind::kTensor)
      return cursor.Error("found a value, needed a declaration with a data type in front of it");
    const int line = cursor.line();
    AMPC_ASSIGN_OR_RETURN(std::string bytes, Elements(cursor, ref.dtype, var.type));
    if (var.kind == VarKind::kConst && !typed && !cursor.Is('|')) {
      if (!var.type.IsStatic()) return cursor.ErrorAt(line, "found a literal, needed a type with known dimensions for it");
      AMPC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::CreateUninitialized(ref.dtype, var.type.dims));
      if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
      var.literal = std::make_shared<HostTensor>(std::move(tensor));
      return absl::OkStatus();
    }
    if (IsPacked(ref.dtype)) {
      const std::string elements = std::exchange(bytes, "");
      AppendPacked(ref.dtype, elements.data(), static_cast<int64_t>(elements.size()), &bytes);
    }
    ref.bytes = bytes.size();
    ref.source = WeightBuffer(std::move(bytes));
  }
  AMPC_RETURN_IF_ERROR(ParseTransforms(cursor, &ref));
  if (var.kind == VarKind::kConst && !ref.transforms.empty() && ref.source->path().empty() && var.type.IsStatic()) {
    AMPC_ASSIGN_OR_RETURN(HostTensor value, LoadWeight(ref, var.type.dims));
    var.literal = std::make_shared<const HostTensor>(std::move(value));
  }
  var.weight = std::make_unique<WeightRef>(std::move(ref));
  return absl::OkStatus();
}

void AppendValue(const Var& var, const WeightRef* weight, bool brief, absl::string_view directory, std::string* out) {
  // A literal that was narrowed prints as its original and what was done to it.
  const bool narrowed = weight != nullptr && !weight->transforms.empty();
  if (var.literal != nullptr && !narrowed) {
    const HostTensor& t = *var.literal;
    out->append(" = ");
    AppendElements(absl::string_view(static_cast<const char*>(t.data()), t.size_bytes()), t.dtype(), var.type, brief, out);
    return;
  }
  if (weight == nullptr || weight->source == nullptr) return;
  const WeightRef& ref = *weight;
  out->append(" = ");
  if (!ref.source->path().empty()) {
    AppendFileRef(ref, directory, out);
  } else {
    if (var.kind == VarKind::kConst || ref.dtype != var.type.dtype) absl::StrAppend(out, Name(ref.dtype), " ");
    std::string elements;
    absl::string_view bytes = Window(ref);
    if (const int64_t n = var.type.NumElements();
        IsPacked(ref.dtype) && n >= 0 && PackedBytes(BitsOf(ref.dtype), n) == static_cast<int64_t>(bytes.size())) {
      elements.resize(static_cast<size_t>(n));
      Unpack(ref.dtype, bytes, n, elements.data());
      bytes = elements;
    }
    AppendElements(bytes, ref.dtype, var.type, brief, out);
  }
  AppendTransforms(ref, out);
}

}  // namespace ampc::text
