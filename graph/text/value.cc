#include "graph/text/value.h"

#include <bit>
#include <complex>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/small_float.h"
#include "graph/base/status_macros.h"
#include "graph/text/number.h"

namespace ampc::text {
namespace {

std::optional<DType> ToDType(const Token& token) {
  if (token.kind != Tok::kName) return std::nullopt;
  if (token.text == Name(DType::kInvalid)) return DType::kInvalid;
  return ampc::ParseDType(token.text);
}

absl::StatusOr<DType> TypeDType(Cursor& cursor) {
  if (cursor.Take('?')) return DType::kInvalid;
  return ParseDTypeWord(cursor);
}

absl::StatusOr<int64_t> Dim(Cursor& cursor, Scope& scope) {
  if (cursor.Take('?')) return kUnknownDim;
  if (cursor.IsName()) {
    AMPC_ASSIGN_OR_RETURN(absl::string_view symbol, cursor.Name("a symbol"));
    auto [it, added] = scope.symbols.try_emplace(symbol, -2 - static_cast<int64_t>(scope.program->symbols.size()));
    if (added) scope.program->symbols.emplace_back(symbol);
    return it->second;
  }
  constexpr absl::string_view kNeeded = "a dimension: a number from 0, '?' or a symbol";
  if (cursor.token().text.substr(0, 1) == "-") return cursor.Unexpected(kNeeded);
  return cursor.Int(kNeeded);
}

absl::Status ParseDims(Cursor& cursor, Scope& scope, TensorType* type) {
  AMPC_RETURN_IF_ERROR(cursor.Need('[', "'[' and dimensions"));
  if (cursor.Take('*')) return cursor.Need(']', "']' after '*'");
  type->has_rank = true;
  if (cursor.Take(']')) return absl::OkStatus();
  do {
    AMPC_ASSIGN_OR_RETURN(int64_t dim, Dim(cursor, scope));
    type->dims.push_back(dim);
  } while (cursor.Take(','));
  return cursor.Need(']', "',' or ']'");
}

// The bits in `nan(0x7e01)`, or nothing when no parenthesis follows.
absl::StatusOr<std::optional<uint64_t>> NanBits(Cursor& cursor) {
  if (!cursor.Take('(')) return std::nullopt;
  uint64_t bits = 0;
  if (!cursor.Is(Tok::kNumber) || !absl::SimpleHexAtoi(cursor.token().text, &bits))
    return cursor.Unexpected("the bits of a NaN, as in 0x7fc00001");
  cursor.Advance();
  AMPC_RETURN_IF_ERROR(cursor.Need(')', "')'"));
  return bits;
}

template <typename T, typename Bits>
absl::StatusOr<T> Nan(Cursor& cursor) {
  AMPC_ASSIGN_OR_RETURN(std::optional<uint64_t> bits, NanBits(cursor));
  return bits.has_value() ? std::bit_cast<T>(static_cast<Bits>(*bits)) : std::numeric_limits<T>::quiet_NaN();
}

absl::StatusOr<double> ScalarDouble(Cursor& cursor) {
  AttrValue number;
  if (cursor.TakeWord("nand")) return Nan<double, uint64_t>(cursor);
  if (cursor.TakeWord("infd")) return std::numeric_limits<double>::infinity();
  if (!cursor.Is(Tok::kNumber) || !ParseNumber(cursor.token().text, &number) || !std::holds_alternative<double>(number)) {
    return cursor.Unexpected("a double, as in 0.5d");
  }
  cursor.Advance();
  return std::get<double>(number);
}

absl::StatusOr<Scalar> ParseScalar(Cursor& cursor) {
  Scalar scalar;
  AttrValue number;
  AMPC_RETURN_IF_ERROR(cursor.Need('(', "'(' after scalar"));
  if (cursor.IsWord("true") || cursor.IsWord("false")) {
    scalar.value = cursor.token().text == "true";
    cursor.Advance();
  } else if (cursor.TakeWord("complex")) {
    AMPC_RETURN_IF_ERROR(cursor.Need('(', "'(' after complex"));
    AMPC_ASSIGN_OR_RETURN(double re, ScalarDouble(cursor));
    AMPC_RETURN_IF_ERROR(cursor.Need(',', "',' and the imaginary part"));
    AMPC_ASSIGN_OR_RETURN(double im, ScalarDouble(cursor));
    AMPC_RETURN_IF_ERROR(cursor.Need(')', "')'"));
    scalar.value = std::complex<double>(re, im);
  } else if (cursor.Is(Tok::kNumber) && ParseNumber(cursor.token().text, &number) && std::holds_alternative<int64_t>(number)) {
    scalar.value = std::get<int64_t>(number);
    cursor.Advance();
  } else {
    AMPC_ASSIGN_OR_RETURN(scalar.value, ScalarDouble(cursor));
  }
  AMPC_RETURN_IF_ERROR(cursor.Need(')', "')' after the value of a scalar"));
  return scalar;
}

std::optional<AttrValue> EmptyList(absl::string_view word) {
  if (word == "bool") return std::vector<bool>();
  if (word == "int") return std::vector<int32_t>();
  if (word == "long") return std::vector<int64_t>();
  if (word == "float") return std::vector<float>();
  if (word == "double") return std::vector<double>();
  if (word == "string") return std::vector<std::string>();
  if (word == "block") return std::vector<BlockRef>();
  if (word == "var") return std::vector<VarName>();
  if (word == "scalar") return std::vector<Scalar>();
  return std::nullopt;
}

constexpr absl::string_view kValueNeeded =
    "a value: a number, true, false, a string, a data type, &block, $variable, scalar(...) or a list";

absl::StatusOr<AttrValue> WordValue(Cursor& cursor) {
  const Token word = cursor.token();
  const std::optional<DType> dtype = ToDType(word);
  std::optional<AttrValue> empty = EmptyList(word.text);
  if (!dtype && !empty && word.text != "true" && word.text != "false" && word.text != "inf" && word.text != "infd" && word.text != "nan" &&
      word.text != "nand") {
    return cursor.Unexpected(kValueNeeded);
  }
  cursor.Advance();
  if (word.text == "true") return AttrValue(true);
  if (word.text == "false") return AttrValue(false);
  if (word.text == "inf") return AttrValue(std::numeric_limits<float>::infinity());
  if (word.text == "infd") return AttrValue(std::numeric_limits<double>::infinity());
  if (word.text == "nan") {
    AMPC_ASSIGN_OR_RETURN(float value, (Nan<float, uint32_t>(cursor)));
    return AttrValue(value);
  }
  if (word.text == "nand") {
    AMPC_ASSIGN_OR_RETURN(double value, (Nan<double, uint64_t>(cursor)));
    return AttrValue(value);
  }
  if (empty && cursor.Take('[')) {
    AMPC_RETURN_IF_ERROR(cursor.Need(']', "']': a list with elements has no type in front"));
    return *std::move(empty);
  }
  if (word.text == "scalar") {
    AMPC_ASSIGN_OR_RETURN(Scalar scalar, ParseScalar(cursor));
    return AttrValue(scalar);
  }
  if (dtype) return AttrValue(*dtype);
  return cursor.Unexpected("'[]', an empty list");
}

absl::StatusOr<AttrValue> Single(Cursor& cursor, const Scope& scope) {
  if (cursor.Is(Tok::kNumber)) {
    AttrValue value;
    if (!ParseNumber(cursor.token().text, &value)) return cursor.Unexpected("a number in range: 3, 3l, 0.5 or 0.5d");
    cursor.Advance();
    return value;
  }
  if (cursor.Is(Tok::kString)) {
    AMPC_ASSIGN_OR_RETURN(absl::string_view text, cursor.Name("a string"));
    return AttrValue(std::string(text));
  }
  if (cursor.Take('&')) {
    const int line = cursor.line();
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("the name of a block"));
    auto it = scope.blocks.find(name);
    if (it == scope.blocks.end())
      return cursor.ErrorAt(line, absl::StrCat("found the block '", name, "', needed one that the program has"));
    return AttrValue(BlockRef{it->second});
  }
  if (cursor.Take('$')) {
    AMPC_ASSIGN_OR_RETURN(absl::string_view name, cursor.Name("the name of a variable"));
    return AttrValue(VarName{std::string(name)});
  }
  if (cursor.Is(Tok::kName)) return WordValue(cursor);
  return cursor.Unexpected(kValueNeeded);
}

// Appends `element` to `list`, starting a list of its type when there is none. False when the types differ.
bool AddTo(std::optional<AttrValue>& list, AttrValue element) {
  return std::visit(
      [&list]<typename T>(T&& value) {
        if constexpr (std::is_constructible_v<AttrValue, std::in_place_type_t<std::vector<T>>>) {
          if (!list.has_value()) list.emplace(std::vector<T>());
          std::vector<T>* out = std::get_if<std::vector<T>>(&*list);
          if (out != nullptr) out->push_back(std::move(value));
          return out != nullptr;
        } else {
          return false;
        }
      },
      std::move(element));
}

template <typename T>
bool AppendBytes(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(T));
  return true;
}

template <typename T>
bool AppendInt(absl::string_view text, std::string* out, T low = std::numeric_limits<T>::min(), T high = std::numeric_limits<T>::max()) {
  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < low || value > high) return false;
  return AppendBytes(static_cast<T>(value), out);
}

// Written as the number that it holds exactly.
template <typename T>
bool AppendSmall(absl::string_view text, std::string* out) {
  float value = 0;
  return ParseFloat(text, &value) && AppendBytes(T(value).bits, out);
}

// The element that one token spells; false when it does not fit the type.
bool AppendToken(absl::string_view text, DType dtype, std::string* out) {
  float f = 0;
  double d = 0;
  switch (dtype) {
    case DType::kBool: return (text == "true" || text == "false") && AppendBytes<uint8_t>(text == "true", out);
    case DType::kU8: return AppendInt<uint8_t>(text, out);
    case DType::kI8: return AppendInt<int8_t>(text, out);
    case DType::kI16: return AppendInt<int16_t>(text, out);
    case DType::kI32: return AppendInt<int32_t>(text, out);
    case DType::kI64: return AppendInt<int64_t>(text, out);
    case DType::kU16: return AppendInt<uint16_t>(text, out);
    case DType::kU32: return AppendInt<uint32_t>(text, out);
    case DType::kU64: return AppendInt<uint64_t>(text, out);
    case DType::kU4: return AppendInt<uint8_t>(text, out, 0, 15);
    case DType::kU2: return AppendInt<uint8_t>(text, out, 0, 3);
    case DType::kI4: return AppendInt<int8_t>(text, out, -8, 7);
    case DType::kI2: return AppendInt<int8_t>(text, out, -2, 1);
    case DType::kF8E4M3FN: return AppendSmall<Float8E4M3FN>(text, out);
    case DType::kF8E4M3FNUZ: return AppendSmall<Float8E4M3FNUZ>(text, out);
    case DType::kF8E5M2:
      return text == "inf" || text == "-inf" ? AppendBytes<uint8_t>(text == "inf" ? 0x7c : 0xfc, out) : AppendSmall<Float8E5M2>(text, out);
    case DType::kF8E5M2FNUZ: return AppendSmall<Float8E5M2FNUZ>(text, out);
    case DType::kF8E8M0: return AppendSmall<ScaleFloat>(text, out);
    case DType::kF4E2M1: return AppendSmall<Float4E2M1>(text, out);
    case DType::kF16: return ParseFloat(text, &f) && AppendBytes(Half(f).bits, out);
    case DType::kBF16: return ParseFloat(text, &f) && AppendBytes(BFloat16(f).bits, out);
    case DType::kF32: return ParseFloat(text, &f) && AppendBytes(f, out);
    case DType::kF64: return ParseFloat(text, &d) && AppendBytes(d, out);
    default: return false;
  }
}

absl::Status Element(Cursor& cursor, DType dtype, std::string* out) {
  if (IsComplex(dtype)) {
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    if (!cursor.TakeWord("complex")) return cursor.Unexpected("complex(re, im)");
    AMPC_RETURN_IF_ERROR(cursor.Need('(', "'('"));
    AMPC_RETURN_IF_ERROR(Element(cursor, part, out));
    AMPC_RETURN_IF_ERROR(cursor.Need(',', "',' and the imaginary part"));
    AMPC_RETURN_IF_ERROR(Element(cursor, part, out));
    return cursor.Need(')', "')'");
  }
  const bool nan = cursor.IsWord("nan") && (IsFloat(dtype) || IsSmallFloat(dtype));
  if ((!cursor.Is(Tok::kNumber) && !cursor.Is(Tok::kName)) || !AppendToken(cursor.token().text, dtype, out)) {
    return cursor.Unexpected(absl::StrCat("a value of type ", Name(dtype)));
  }
  cursor.Advance();
  if (!nan) return absl::OkStatus();
  AMPC_ASSIGN_OR_RETURN(std::optional<uint64_t> bits, NanBits(cursor));
  if (bits.has_value()) out->replace(out->size() - SizeOf(dtype), SizeOf(dtype), reinterpret_cast<const char*>(&*bits), SizeOf(dtype));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Fill(Cursor& cursor, DType dtype, int64_t count, int64_t max_fill) {
  if (count < 0) return cursor.Unexpected("a list of values, because the dimensions are not known");
  std::string one, out;
  const int line = cursor.line();
  AMPC_RETURN_IF_ERROR(Element(cursor, dtype, &one));
  const auto size = static_cast<int64_t>(one.size());
  if (count > max_fill / size) {
    return cursor.ErrorAt(
        line, absl::StrCat("found one value for ", count, " elements of ", size, " bytes, needed at most ", max_fill, " bytes"));
  }
  out.reserve(count * size);
  for (int64_t i = 0; i < count; ++i) out.append(one);
  return out;
}

}  // namespace

absl::StatusOr<DType> ParseDTypeWord(Cursor& cursor) {
  const std::optional<DType> dtype = ToDType(cursor.token());
  if (!dtype || *dtype == DType::kInvalid) return cursor.Unexpected("a data type, as f32, f16, bf16, i64, bool");
  cursor.Advance();
  return *dtype;
}

absl::StatusOr<TensorType> ParseType(Cursor& cursor, Scope& scope) {
  if (cursor.TakeWord("opaque")) return TensorType::Opaque();
  TensorType type;
  if (cursor.TakeWord("array")) {
    type.kind = TypeKind::kTensorArray;
    AMPC_RETURN_IF_ERROR(cursor.Need('<', "'<' after array"));
    AMPC_ASSIGN_OR_RETURN(type.dtype, TypeDType(cursor));
    AMPC_RETURN_IF_ERROR(cursor.Need('>', "'>'"));
  } else {
    AMPC_ASSIGN_OR_RETURN(type.dtype, TypeDType(cursor));
  }
  AMPC_RETURN_IF_ERROR(ParseDims(cursor, scope, &type));
  if (cursor.TakeWord("lod")) {
    AMPC_RETURN_IF_ERROR(cursor.Need('=', "'=' after lod"));
    AMPC_ASSIGN_OR_RETURN(int64_t level, cursor.Int("a lod level"));
    if (level < 1 || level > 1000) return cursor.Error(absl::StrCat("found lod level ", level, ", needed 1 to 1000"));
    type.lod_level = static_cast<int>(level);
  }
  return type;
}

absl::StatusOr<AttrValue> ParseAttrValue(Cursor& cursor, const Scope& scope) {
  if (!cursor.Take('[')) return Single(cursor, scope);
  if (cursor.Is(']')) return cursor.Unexpected("the type of an empty list, as int[] or float[]");
  std::optional<AttrValue> list;
  do {
    const int line = cursor.line();
    const std::string found(cursor.token().text);
    AMPC_ASSIGN_OR_RETURN(AttrValue element, Single(cursor, scope));
    const std::string type(AttrTypeName(element));
    if (AddTo(list, std::move(element))) continue;
    return cursor.ErrorAt(line, absl::StrCat("found '", found.substr(0, 40), "', a ", type, ", needed an element for a ",
                                             list.has_value() ? AttrTypeName(*list) : "list of an attribute type"));
  } while (cursor.Take(','));
  AMPC_RETURN_IF_ERROR(cursor.Need(']', "',' or ']'"));
  return *std::move(list);
}

absl::StatusOr<std::string> ParseElements(Cursor& cursor, DType dtype, int64_t count, int64_t max_fill) {
  if (!cursor.Is('[')) return Fill(cursor, dtype, count, max_fill);
  const int line = cursor.line();
  cursor.Advance();
  std::string out;
  int64_t found = 0;
  if (!cursor.Is(']')) {
    do {
      AMPC_RETURN_IF_ERROR(Element(cursor, dtype, &out));
      ++found;
    } while (cursor.Take(','));
  }
  AMPC_RETURN_IF_ERROR(cursor.Need(']', "',' or ']'"));
  if (count >= 0 && found != count)
    return cursor.ErrorAt(line, absl::StrCat("found ", found, " values, needed ", count, " for the declared type"));
  return out;
}

}  // namespace ampc::text
