#include "graph/formats/pir/values.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc::pir {
namespace {

constexpr std::pair<absl::string_view, DType> kTypes[] = {{"bool", DType::kBool},         {"ui8", DType::kU8},       {"i8", DType::kI8},
                                                          {"i16", DType::kI16},           {"i32", DType::kI32},      {"i64", DType::kI64},
                                                          {"f16", DType::kF16},           {"bf16", DType::kBF16},    {"f32", DType::kF32},
                                                          {"f64", DType::kF64},           {"c64", DType::kC64},      {"c128", DType::kC128},
                                                          {"f8e4m3fn", DType::kF8E4M3FN}, {"f8e5m2", DType::kF8E5M2}};

// nullopt for an element type that the IR does not have.
std::optional<DType> DTypeOf(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "0.t_")) return std::nullopt;
  for (const auto& [text, dtype] : kTypes) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

absl::Status Misfit(absl::string_view what, JsonRef found) {
  constexpr size_t kShown = 60;
  const absl::string_view text = found.exists() ? found.text() : absl::string_view("nothing");
  return BadInputError(absl::StrCat(what, ", found ", text.substr(0, kShown), text.size() > kShown ? "..." : ""));
}

// The number of an attribute or of an element of one; infinities have the key VD.
std::optional<double> ReadFloat(JsonRef attr) {
  const JsonRef special = attr.Find("VD");
  if (!special.exists()) return attr.Find("D").AsDouble();
  if (special.IsString("INF")) return std::numeric_limits<double>::infinity();
  if (special.IsString("-INF")) return -std::numeric_limits<double>::infinity();
  if (special.IsString("NaN") || special.IsString("NAN")) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

bool FitsInt32(int64_t value) { return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max(); }

// One of the kinds that lists have, too.
absl::StatusOr<std::optional<AttrValue>> ReadScalar(JsonRef attr, absl::string_view kind) {
  const JsonRef data = attr.Find("D");
  if (kind == "0.a_bool") {
    if (const std::optional<bool> value = data.AsBool()) return AttrValue(*value);
    return Misfit("needs true or false", data);
  }
  if (kind == "0.a_i32" || kind == "0.a_i64") {
    const std::optional<int64_t> value = data.AsInt();
    if (!value.has_value() || (kind == "0.a_i32" && !FitsInt32(*value)))
      return Misfit(absl::StrCat("needs an integer of ", kind == "0.a_i32" ? 32 : 64, " bits"), data);
    if (kind == "0.a_i32") return AttrValue(static_cast<int32_t>(*value));
    return AttrValue(*value);
  }
  if (kind == "0.a_f32" || kind == "0.a_f64") {
    const std::optional<double> value = ReadFloat(attr);
    if (!value.has_value()) return Misfit("needs a number", attr);
    if (kind == "0.a_f32") return AttrValue(static_cast<float>(*value));
    return AttrValue(*value);
  }
  if (kind == "0.a_str") {
    if (std::optional<std::string> value = data.AsString()) return AttrValue(*std::move(value));
    return Misfit("needs a string", data);
  }
  return std::optional<AttrValue>();
}

// A list of one kind; nullopt for one of several.
absl::StatusOr<std::optional<AttrValue>> ReadArray(JsonRef data) {
  if (!data.Is(JsonKind::kArray)) return Misfit("needs a list", data);
  AttrValue list = std::vector<int32_t>();
  bool first = true;
  for (const JsonRef item : data) {
    AMPC_ASSIGN_OR_RETURN(const std::optional<AttrValue> value, ReadScalar(item, item.Find("#").AsString().value_or("")));
    if (!value.has_value()) return std::optional<AttrValue>();
    const bool same = std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> || std::is_same_v<T, float> ||
                        std::is_same_v<T, double> || std::is_same_v<T, std::string>) {
            if (first) list = std::vector<T>();
            auto* values = std::get_if<std::vector<T>>(&list);
            if (values == nullptr) return false;
            values->push_back(v);
            return true;
          } else {
            return false;
          }
        },
        *value);
    if (!same) return std::optional<AttrValue>();
    first = false;
  }
  return std::optional<AttrValue>(std::move(list));
}

absl::StatusOr<std::optional<AttrValue>> ReadDType(JsonRef data) {
  const std::optional<std::string> name = data.AsString();
  if (!name.has_value()) return Misfit("needs the name of an element type", data);
  if (absl::StartsWith(*name, "Undefined") || *name == "UNDEFINED") return AttrValue(DType::kInvalid);
  const std::optional<DType> dtype = ParseDType(*name);
  if (!dtype.has_value()) return std::optional<AttrValue>();
  return AttrValue(*dtype);
}

absl::StatusOr<std::optional<AttrValue>> ReadInts(JsonRef data) {
  std::vector<int64_t> values;
  for (const JsonRef item : data) {
    const std::optional<int64_t> value = item.AsInt();
    if (!value.has_value()) return Misfit("needs integers", data);
    values.push_back(*value);
  }
  if (!data.Is(JsonKind::kArray)) return Misfit("needs a list of integers", data);
  return AttrValue(std::move(values));
}

template <typename To, typename From>
std::optional<To> ConvertNumber(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return std::nullopt;
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    const double wide = static_cast<double>(value);
    if (std::is_floating_point_v<From> && wide != std::floor(wide)) return std::nullopt;
    if (wide < static_cast<double>(std::numeric_limits<To>::min()) || wide >= -static_cast<double>(std::numeric_limits<To>::min()))
      return std::nullopt;
    return static_cast<To>(value);
  }
}

template <typename T>
inline constexpr bool kIsNumber = std::is_same_v<T, bool> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
                                  std::is_same_v<T, float> || std::is_same_v<T, double>;

template <typename T>
struct ElementOf {
  using Type = void;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};

template <typename To, typename From>
std::optional<AttrValue> ConvertList(const std::vector<From>& values) {
  std::vector<To> out;
  for (const From value : values) {
    const std::optional<To> converted = ConvertNumber<To, From>(value);
    if (!converted.has_value()) return std::nullopt;
    out.push_back(*converted);
  }
  return AttrValue(std::move(out));
}

template <typename From, typename Want>
std::optional<AttrValue> Convert(const From& value) {
  using Element = typename ElementOf<From>::Type;
  using WantElement = typename ElementOf<Want>::Type;
  if constexpr (std::is_same_v<From, Want>) {
    return AttrValue(value);
  } else if constexpr (kIsNumber<From> && kIsNumber<Want>) {
    if (const std::optional<Want> number = ConvertNumber<Want, From>(value)) return AttrValue(*number);
    return std::nullopt;
  } else if constexpr (kIsNumber<From> && kIsNumber<WantElement>) {
    return ConvertList<WantElement, From>({value});
  } else if constexpr (kIsNumber<Element> && kIsNumber<WantElement>) {
    return ConvertList<WantElement, Element>(value);
  } else if constexpr (std::is_same_v<From, std::vector<int32_t>>) {
    // The file does not tell the element type of an empty list.
    if constexpr (!std::is_void_v<WantElement>) {
      if (value.empty()) return AttrValue(Want());
    }
    return std::nullopt;
  } else {
    return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<TensorType> ReadType(JsonRef type) {
  const JsonRef kind = type.Find("#");
  if (!kind.Is(JsonKind::kString)) return Misfit("needs a type", type);
  if (!kind.IsString("0.t_dtensor")) return TensorType::Opaque();
  const JsonRef data = type.Find("D");
  if (data.size() != 5) return Misfit("needs element type, dims, layout, LoD and offset of a tensor", data);
  const std::optional<std::string> name = ElementTypeName(type).AsString();
  if (!name.has_value()) return Misfit("needs an element type", data[0]);
  const std::optional<DType> dtype = DTypeOf(*name);
  if (!dtype.has_value()) return TensorType::Opaque();
  TensorType out = TensorType::Unranked(*dtype);
  out.has_rank = true;
  if (!data[1].Is(JsonKind::kArray)) return Misfit("needs a list of dims", data[1]);
  for (const JsonRef item : data[1]) {
    const std::optional<int64_t> dim = item.AsInt();
    if (!dim.has_value() || *dim < -1) return Misfit("needs dims of 0 and more, or -1", data[1]);
    out.dims.push_back(*dim);
  }
  out.lod_level = static_cast<int>(data[3].size());
  return out;
}

bool IsNoType(JsonRef type) { return type.Find("#").IsString("NULL"); }
JsonRef ElementTypes(JsonRef type) { return type.Find("#").IsString("0.t_vec") ? type.Find("D") : JsonRef(); }
JsonRef ElementTypeName(JsonRef type) { return type.Find("#").IsString("0.t_dtensor") ? type.Find("D")[0].Find("#") : JsonRef(); }

std::string TypeName(DType dtype) {
  for (const auto& [text, known] : kTypes) {
    if (known == dtype) return absl::StrCat("0.t_", text);
  }
  return "";
}

std::string AttrName(DType dtype) { return dtype == DType::kInvalid ? "Undefined(ALL_DTYPE)" : std::string(LongName(dtype)); }

absl::StatusOr<std::optional<AttrValue>> ReadAttr(JsonRef attr) {
  const std::optional<std::string> kind = attr.Find("#").AsString();
  if (!kind.has_value()) return Misfit("needs a kind", attr);
  if (*kind == "0.a_array") return ReadArray(attr.Find("D"));
  if (*kind == "1.a_intarray") return ReadInts(attr.Find("D"));
  if (*kind == "1.a_dtype") return ReadDType(attr.Find("D"));
  return ReadScalar(attr, *kind);
}

std::optional<AttrValue> ConvertAttr(const AttrValue& value, const AttrValue& want) {
  return std::visit(
      [](const auto& from, const auto& to) { return Convert<std::decay_t<decltype(from)>, std::decay_t<decltype(to)>>(from); }, value,
      want);
}

std::optional<std::vector<double>> Numbers(const AttrValue& value) {
  const std::optional<AttrValue> list = ConvertAttr(value, std::vector<double>());
  if (!list.has_value()) return std::nullopt;
  return std::get<std::vector<double>>(*list);
}

}  // namespace ampc::pir
