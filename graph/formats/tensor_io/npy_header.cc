#include "graph/formats/tensor_io/npy_header.h"

#include <charconv>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"

namespace ampc {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct TypeCode {
  absl::string_view code;
  DType dtype;
};
constexpr TypeCode kTypeCodes[] = {
    {"b1", DType::kBool}, {"u1", DType::kU8},  {"i1", DType::kI8},  {"i2", DType::kI16},   {"i4", DType::kI32},
    {"i8", DType::kI64},  {"u2", DType::kU16}, {"u4", DType::kU32}, {"u8", DType::kU64},   {"f2", DType::kF16},
    {"f4", DType::kF32},  {"f8", DType::kF64}, {"c8", DType::kC64}, {"c16", DType::kC128},
};
// The header that numpy writes for the types of ml_dtypes: bfloat16, and those of one byte, which it does not tell apart.
constexpr TypeCode kForeignCodes[] = {{"V2", DType::kBF16}, {"V1", DType::kU8}};

// Reads the Python dictionary {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  HeaderParser(absl::string_view text, absl::string_view name) : text_(text), name_(name) {}

  absl::Status Parse(NpyHeader* header) {
    if (!Take('{')) return Expected("'{'");
    while (!Take('}')) {
      AMPC_ASSIGN_OR_RETURN(const absl::string_view key, String());
      if (!Take(':')) return Expected("':'");
      AMPC_RETURN_IF_ERROR(Value(key, header));
      if (!Take(',') && !Is('}')) return Expected("',' or '}'");
    }
    SkipSpace();
    if (!text_.empty()) return Expected("the end of the header");
    for (const auto& [seen, key] : {std::pair(seen_descr_, "descr"), {seen_order_, "fortran_order"}, {seen_shape_, "shape"}}) {
      if (!seen) return BadInputError(absl::StrCat(name_, ": the npy header has no '", key, "'"));
    }
    return absl::OkStatus();
  }

 private:
  void SkipSpace() {
    const size_t end = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(end == absl::string_view::npos ? text_.size() : end);
  }
  bool Is(char c) {
    SkipSpace();
    return !text_.empty() && text_[0] == c;
  }
  bool Take(char c) {
    if (!Is(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool TakeWord(absl::string_view word) {
    SkipSpace();
    if (!absl::StartsWith(text_, word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  absl::Status Expected(absl::string_view what) const {
    const std::string found =
        text_.empty() ? "its end" : absl::StrCat("byte 0x", absl::Hex(static_cast<unsigned char>(text_[0]), absl::kZeroPad2));
    return BadInputError(absl::StrCat(name_, ": npy header: found ", found, ", needs ", what));
  }

  absl::StatusOr<absl::string_view> String() {
    SkipSpace();
    const char quote = text_.empty() ? '\0' : text_[0];
    const size_t end = quote == '\'' || quote == '"' ? text_.find(quote, 1) : absl::string_view::npos;
    if (end == absl::string_view::npos) return Expected("a quoted word");
    const absl::string_view word = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return word;
  }

  absl::Status Value(absl::string_view key, NpyHeader* header) {
    if (key == "descr") {
      seen_descr_ = true;
      return Descr(header);
    }
    if (key == "fortran_order") {
      seen_order_ = true;
      header->fortran_order = TakeWord("True");
      return header->fortran_order || TakeWord("False") ? absl::OkStatus() : Expected("True or False");
    }
    if (key == "shape") {
      seen_shape_ = true;
      return Shape(&header->dims);
    }
    return BadInputError(absl::StrCat(name_, ": the npy header has a key that is not one of descr, fortran_order, shape"));
  }

  absl::Status Descr(NpyHeader* header) {
    if (Is('[')) return UnsupportedError(absl::StrCat(name_, ": a structured npy array is not supported, needs a plain element type"));
    AMPC_ASSIGN_OR_RETURN(const absl::string_view descr, String());
    if (!descr.empty() && absl::StrContains("<>=|", descr[0])) {
      header->big_endian = descr[0] == '>';
      for (const absl::Span<const TypeCode> codes : {absl::MakeSpan(kTypeCodes), absl::MakeSpan(kForeignCodes)}) {
        for (const TypeCode& type : codes) {
          if (descr.substr(1) != type.code) continue;
          header->dtype = type.dtype;
          return absl::OkStatus();
        }
      }
    }
    for (const char c : descr) {
      if (c <= 0x20 || c >= 0x7f) return BadInputError(absl::StrCat(name_, ": the npy element type is not printable text"));
    }
    return UnsupportedError(absl::StrCat(name_, ": npy element type '", descr,
                                         "' is not one of b1, u1, i1, u2, i2, u4, i4, u8, i8, f2, f4, f8, c8, c16, V1, V2"));
  }

  absl::Status Shape(std::vector<int64_t>* dims) {
    dims->clear();
    if (!Take('(')) return Expected("'(' of the shape");
    while (!Take(')')) {
      SkipSpace();
      int64_t dim = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) return Expected("a dimension");
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      TakeWord("L");  // Python 2 wrote long integers so
      dims->push_back(dim);
      if (!Take(',') && !Is(')')) return Expected("',' or ')'");
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view name_;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
};

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view file, absl::string_view name) {
  if (!absl::StartsWith(file, kMagic))
    return BadInputError(absl::StrCat(name, ": is not an npy file, needs the bytes \\x93NUMPY at its start"));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(file[i])); };
  const size_t version = file.size() > 7 ? byte(6) : 0;
  const size_t prefix = version == 1 ? 10 : 12;
  if (file.size() < prefix) return BadInputError(absl::StrCat(name, ": ends inside the npy header, after ", file.size(), " bytes"));
  if (version < 1 || version > 3 || byte(7) != 0) {
    return BadInputError(absl::StrCat(name, ": npy version ", byte(6), ".", byte(7), ", needs 1.0, 2.0 or 3.0"));
  }
  const size_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > kMaxNpyHeader - prefix)
    return BadInputError(absl::StrCat(name, ": the npy header has ", length, " bytes, needs at most ", kMaxNpyHeader - prefix));
  if (length > file.size() - prefix) {
    return BadInputError(absl::StrCat(name, ": the npy header needs ", length, " bytes, found ", file.size() - prefix));
  }
  NpyHeader header;
  header.data_offset = prefix + length;
  AMPC_RETURN_IF_ERROR(HeaderParser(file.substr(prefix, length), name).Parse(&header));
  if (!NumBytes(header.dtype, header.dims)) {
    return BadInputError(absl::StrCat(name, ": npy shape ", ShapeToString(header.dims), " has more than 2^63 bytes"));
  }
  return header;
}

absl::Status WrongNpySize(const NpyHeader& header, absl::string_view name, uint64_t found) {
  return BadInputError(absl::StrCat(name, ": ", Name(header.dtype), " array ", ShapeToString(header.dims), " needs ",
                                    *NumBytes(header.dtype, header.dims), " bytes of data, found ", found));
}

std::string MakeNpyHeader(DType dtype, absl::Span<const int64_t> dims) {
  std::string shape;
  for (size_t i = 0; i < dims.size(); ++i) absl::StrAppend(&shape, i == 0 ? "" : ", ", dims[i]);
  if (dims.size() == 1) shape += ",";
  absl::string_view code;
  for (const TypeCode& type : kTypeCodes) {
    if (type.dtype == dtype) code = type.code;
  }
  std::string text =
      absl::StrCat("{'descr': '", SizeOf(dtype) == 1 ? "|" : "<", code, "', 'fortran_order': False, 'shape': (", shape, "), }");
  // 10 bytes before the text in version 1.0, 12 in 2.0, which only thousands of dimensions would need; a newline ends it.
  const bool long_header = text.size() + 1 + 64 > 65535;
  const size_t prefix = long_header ? 12 : 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += long_header ? '\x02' : '\x01';
  header += '\0';
  for (size_t i = 0; i < (long_header ? 4u : 2u); ++i) header += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return header + text;
}

}  // namespace ampc
