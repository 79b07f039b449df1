#include "kernels/spec/move/fill_spec.h"

#include <cstring>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/elementwise/cast_loop.h"

namespace ampc {
namespace {

template <typename T>
std::vector<char> Rounded(const std::vector<char>& floats) {
  std::vector<char> out(floats.size() / 2);
  for (size_t i = 0; i < floats.size() / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, floats.data() + i * sizeof(float), sizeof(float));
    const T rounded(value);
    std::memcpy(out.data() + i * sizeof(T), &rounded, sizeof(T));
  }
  return out;
}

}  // namespace

absl::StatusOr<FillValue> ReadFillValue(const SpecView& view) {
  FillValue value;
  const std::string text(absl::StripAsciiWhitespace(view.op().GetString("str_value")));
  value.number = view.op().GetFloat("value");
  if (text.empty()) return value;
  value.is_integer = absl::SimpleAtoi(text, &value.integer);
  if (value.is_integer) value.number = static_cast<double>(value.integer);
  if (!value.is_integer && !absl::SimpleAtod(text, &value.number)) {
    return view.Unsupported(absl::StrCat("str_value is '", text, "', needs a number"));
  }
  return value;
}

std::vector<char> StoredElement(const FillValue& value, DType dtype) {
  std::vector<char> bytes(ElementSize(dtype), 0);
  if (dtype == DType::kC64 || dtype == DType::kC128) {  // the imaginary part is 0
    const float narrow = static_cast<float>(value.number);
    std::memcpy(bytes.data(), dtype == DType::kC64 ? static_cast<const void*>(&narrow) : &value.number, bytes.size() / 2);
  } else if (value.is_integer && !IsFloat(dtype)) {
    CastLoop(DType::kI64, StorageType(dtype)).Run(&value.integer, bytes.data(), 1, 1);
  } else {
    CastLoop(DType::kF64, StorageType(dtype)).Run(&value.number, bytes.data(), 1, 1);
  }
  return bytes;
}

std::vector<char> Declared(const std::vector<char>& stored, DType dtype) {
  if (dtype == DType::kF16) return Rounded<Half>(stored);
  if (dtype == DType::kBF16) return Rounded<BFloat16>(stored);
  return stored;
}

std::vector<char> DeclaredElement(const FillValue& value, DType dtype) { return Declared(StoredElement(value, dtype), dtype); }

absl::StatusOr<std::vector<char>> ReadAssignedValues(const SpecView& view) {
  const TensorDesc& out = view.spec().outputs[0];
  const DType storage = StorageType(out.dtype);
  AMPC_RETURN_IF_ERROR(view.CheckType(out.dtype, {DType::kF32, DType::kF64, DType::kBool, DType::kI32, DType::kI64}));
  const int64_t n = out.NumElements();
  std::vector<char> bytes(n * SizeOf(storage));
  const auto convert = [&](DType from, const auto& values) -> absl::Status {
    if (static_cast<int64_t>(values.size()) != n) return view.Internal("there is another number of values than elements");
    CastLoop(from, storage).Run(values.data(), bytes.data(), n, 1);
    return absl::OkStatus();
  };
  if (IsFloat(storage)) {
    AMPC_RETURN_IF_ERROR(convert(DType::kF64, view.op().GetFloats(storage == DType::kF64 ? "fp64_values" : "fp32_values")));
  } else {
    const char* name = storage == DType::kBool ? "bool_values" : storage == DType::kI32 ? "int32_values" : "int64_values";
    AMPC_RETURN_IF_ERROR(convert(DType::kI64, view.op().GetInts(name)));
  }
  return bytes;
}

}  // namespace ampc
