#include "graph/base/dtype.h"

#include <array>

namespace ampc {
namespace {

enum class Kind : uint8_t { kNone, kBool, kInteger, kFloat, kComplex };  // kFloat: IsFloat

struct Info {
  absl::string_view name, long_name;
  std::array<absl::string_view, 2> aliases;
  uint8_t bytes;
  Kind kind;
};

constexpr std::array<Info, kNumDTypes> kInfo = {{
    {"invalid", "invalid", {}, 0, Kind::kNone},
    {"bool", "bool", {}, 1, Kind::kBool},
    {"u8", "uint8", {}, 1, Kind::kInteger},
    {"i8", "int8", {}, 1, Kind::kInteger},
    {"i16", "int16", {}, 2, Kind::kInteger},
    {"i32", "int32", {"int"}, 4, Kind::kInteger},
    {"i64", "int64", {"long"}, 8, Kind::kInteger},
    {"f16", "float16", {"fp16", "half"}, 2, Kind::kFloat},
    {"bf16", "bfloat16", {"bfloat"}, 2, Kind::kFloat},
    {"f32", "float32", {"fp32", "float"}, 4, Kind::kFloat},
    {"f64", "float64", {"fp64", "double"}, 8, Kind::kFloat},
    {"c64", "complex64", {}, 8, Kind::kComplex},
    {"c128", "complex128", {}, 16, Kind::kComplex},
}};

const Info& InfoOf(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kInfo[index < kInfo.size() ? index : 0];
}

}  // namespace

size_t SizeOf(DType dtype) { return InfoOf(dtype).bytes; }
absl::string_view Name(DType dtype) { return InfoOf(dtype).name; }
absl::string_view LongName(DType dtype) { return InfoOf(dtype).long_name; }
bool IsInteger(DType dtype) { return InfoOf(dtype).kind == Kind::kInteger; }
bool IsComplex(DType dtype) { return InfoOf(dtype).kind == Kind::kComplex; }

std::optional<DType> ParseDType(absl::string_view text) {
  if (text.empty()) return std::nullopt;
  for (size_t i = 1; i < kInfo.size(); ++i) {
    const Info& info = kInfo[i];
    if (text == info.name || text == info.long_name || text == info.aliases[0] || text == info.aliases[1]) {
      return static_cast<DType>(i);
    }
  }
  return std::nullopt;
}

}  // namespace ampc
