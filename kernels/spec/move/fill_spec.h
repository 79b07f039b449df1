// The number that fill_constant and its relatives write.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// `number` as the op's text has it where there is text (exact for every i64), else its float attribute.
struct FillValue {
  double number = 0;
  int64_t integer = 0;
  bool is_integer = false;
};
absl::StatusOr<FillValue> ReadFillValue(const SpecView& view);

// One element in the storage type of `dtype`, before rounding to f16 or bf16.
std::vector<char> StoredElement(const FillValue& value, DType dtype);
// One element in `dtype` itself, rounded.
std::vector<char> DeclaredElement(const FillValue& value, DType dtype);

// assign_value's elements, in storage type as above.
absl::StatusOr<std::vector<char>> ReadAssignedValues(const SpecView& view);
// Elements of a storage type in the declared one.
std::vector<char> Declared(const std::vector<char>& stored, DType dtype);

}  // namespace ampc
