#include "graph/text/number.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/small_float.h"

namespace ampc::text {
namespace {

template <typename T, typename Bits>
void AppendNan(T value, std::string* out) {
  const Bits bits = std::bit_cast<Bits>(value);
  out->append("nan");
  if (bits != std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN())) absl::StrAppend(out, "(0x", absl::Hex(bits), ")");
}

template <typename T>
void AppendFinite(T value, std::string* out) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  const absl::string_view text(buffer, end - buffer);
  absl::StrAppend(out, text, text.find_first_of(".e") == absl::string_view::npos ? ".0" : "");
}

template <typename T, typename Bits>
void Append(T value, std::string* out) {
  if (std::isnan(value)) {
    AppendNan<T, Bits>(value, out);
  } else if (std::isinf(value)) {
    out->append(value < 0 ? "-inf" : "inf");
  } else {
    AppendFinite(value, out);
  }
}

// Floats of 16 bits and fewer print as the float of the same value; NaN bits are their own.
template <typename T>
void AppendLow(T value, uint16_t quiet_nan, std::string* out) {
  const float wide = static_cast<float>(value);
  if (!std::isnan(wide)) return AppendFloat(wide, out);
  out->append("nan");
  if (value.bits != quiet_nan) absl::StrAppend(out, "(0x", absl::Hex(value.bits), ")");
}

template <typename T>
T Read(const char* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

template <typename T>
void AppendSmall(const char* data, uint16_t quiet_nan, std::string* out) {
  AppendLow(T::FromBits(Read<uint8_t>(data)), quiet_nan, out);
}

template <typename T>
bool FromChars(absl::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
bool Float(absl::string_view text, T* value) {
  if (text == "inf" || text == "-inf") {
    *value = text[0] == '-' ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    return true;
  }
  if (text == "nan") {
    *value = std::numeric_limits<T>::quiet_NaN();
    return true;
  }
  // from_chars also takes "infinity" and "nan(...)".
  return !text.empty() && (text.back() == '.' || (text.back() >= '0' && text.back() <= '9')) && FromChars(text, value);
}

}  // namespace

void AppendFloat(float value, std::string* out) { Append<float, uint32_t>(value, out); }
void AppendDouble(double value, std::string* out) { Append<double, uint64_t>(value, out); }

void AppendElement(DType dtype, const char* data, std::string* out) {
  switch (dtype) {
    case DType::kBool: absl::StrAppend(out, *data != 0 ? "true" : "false"); return;
    case DType::kU8: absl::StrAppend(out, static_cast<int>(Read<uint8_t>(data))); return;
    case DType::kI8: absl::StrAppend(out, static_cast<int>(Read<int8_t>(data))); return;
    case DType::kU4:
    case DType::kU2: absl::StrAppend(out, static_cast<int>(Read<uint8_t>(data))); return;
    case DType::kI4:
    case DType::kI2: absl::StrAppend(out, static_cast<int>(Read<int8_t>(data))); return;
    case DType::kU16: absl::StrAppend(out, Read<uint16_t>(data)); return;
    case DType::kU32: absl::StrAppend(out, Read<uint32_t>(data)); return;
    case DType::kU64: absl::StrAppend(out, Read<uint64_t>(data)); return;
    case DType::kF8E4M3FN: AppendSmall<Float8E4M3FN>(data, 0x7f, out); return;
    case DType::kF8E4M3FNUZ: AppendSmall<Float8E4M3FNUZ>(data, 0x80, out); return;
    case DType::kF8E5M2: AppendSmall<Float8E5M2>(data, 0x7e, out); return;
    case DType::kF8E5M2FNUZ: AppendSmall<Float8E5M2FNUZ>(data, 0x80, out); return;
    case DType::kF8E8M0: AppendSmall<ScaleFloat>(data, 0xff, out); return;
    case DType::kF4E2M1: AppendSmall<Float4E2M1>(data, 0, out); return;
    case DType::kI16: absl::StrAppend(out, Read<int16_t>(data)); return;
    case DType::kI32: absl::StrAppend(out, Read<int32_t>(data)); return;
    case DType::kI64: absl::StrAppend(out, Read<int64_t>(data)); return;
    case DType::kF16: AppendLow(Half::FromBits(Read<uint16_t>(data)), 0x7e00, out); return;
    case DType::kBF16: AppendLow(BFloat16::FromBits(Read<uint16_t>(data)), 0x7fc0, out); return;
    case DType::kF32: AppendFloat(Read<float>(data), out); return;
    case DType::kF64: AppendDouble(Read<double>(data), out); return;
    case DType::kC64:
    case DType::kC128: {
      const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
      out->append("complex(");
      AppendElement(part, data, out);
      out->append(", ");
      AppendElement(part, data + SizeOf(part), out);
      out->append(")");
      return;
    }
    case DType::kInvalid: out->append("?"); return;
  }
}

bool ParseFloat(absl::string_view text, float* value) { return Float(text, value); }
bool ParseFloat(absl::string_view text, double* value) { return Float(text, value); }

bool ParseNumber(absl::string_view text, AttrValue* value) {
  if (text.empty()) return false;
  const char last = text.back();
  const absl::string_view body = text.substr(0, text.size() - 1);
  if (last == 'l') {
    int64_t v = 0;
    if (!FromChars(body, &v)) return false;
    *value = v;
    return true;
  }
  if (last == 'd') {
    double v = 0;
    if (!Float(body, &v)) return false;
    *value = v;
    return true;
  }
  if (text.find_first_of(".eE") == absl::string_view::npos && text != "-inf") {
    int32_t v = 0;
    if (!FromChars(text, &v)) return false;
    *value = v;
    return true;
  }
  float v = 0;
  if (!Float(text, &v)) return false;
  *value = v;
  return true;
}

}  // namespace ampc::text
