#include "graph/base/dtype.h"

#include <array>

namespace ampc {
namespace {

enum class Kind : uint8_t { kNone, kBool, kInteger, kFloat, kSmallFloat, kComplex };  // kFloat: IsFloat, kSmallFloat: IsSmallFloat

struct Info {
  absl::string_view name, long_name;
  std::array<absl::string_view, 2> aliases;
  uint8_t bytes;
  Kind kind;
  uint8_t bits = static_cast<uint8_t>(8 * bytes);
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
    {"u16", "uint16", {}, 2, Kind::kInteger},
    {"u32", "uint32", {}, 4, Kind::kInteger},
    {"u64", "uint64", {}, 8, Kind::kInteger},
    {"u4", "uint4", {}, 1, Kind::kInteger, 4},
    {"i4", "int4", {}, 1, Kind::kInteger, 4},
    {"u2", "uint2", {}, 1, Kind::kInteger, 2},
    {"i2", "int2", {}, 1, Kind::kInteger, 2},
    {"f8e4m3fn", "float8_e4m3fn", {}, 1, Kind::kSmallFloat},
    {"f8e4m3fnuz", "float8_e4m3fnuz", {}, 1, Kind::kSmallFloat},
    {"f8e5m2", "float8_e5m2", {}, 1, Kind::kSmallFloat},
    {"f8e5m2fnuz", "float8_e5m2fnuz", {}, 1, Kind::kSmallFloat},
    {"f8e8m0", "float8_e8m0", {}, 1, Kind::kSmallFloat},
    {"f4e2m1", "float4_e2m1", {}, 1, Kind::kSmallFloat, 4},
}};

const Info& InfoOf(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kInfo[index < kInfo.size() ? index : 0];
}

}  // namespace

size_t SizeOf(DType dtype) { return InfoOf(dtype).bytes; }
int BitsOf(DType dtype) { return InfoOf(dtype).bits; }
absl::string_view Name(DType dtype) { return InfoOf(dtype).name; }
absl::string_view LongName(DType dtype) { return InfoOf(dtype).long_name; }
bool IsInteger(DType dtype) { return InfoOf(dtype).kind == Kind::kInteger; }
bool IsSignedInteger(DType dtype) { return IsInteger(dtype) && Name(dtype)[0] == 'i'; }
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
