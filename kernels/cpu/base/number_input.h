// NumberInput: ScalarInput with every bit of an integer.
#pragma once

#include <cstdint>

#include "kernels/common/integer.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// `value` toward zero as an integer of `dtype`, out of range the nearest end; of u64 the bits.
inline int64_t IntegerIn(double value, DType dtype) {
  return dtype == DType::kU64 ? static_cast<int64_t>(integer::FromFloat<uint64_t>(value)) : integer::FromFloat<int64_t>(value);
}

// An operand has the type of the result where that is u64.
class NumberInput {
 public:
  NumberInput() = default;
  explicit NumberInput(int64_t value) : integer_(value) {}  // as an integer only
  NumberInput(const SpecView& view, absl::string_view slot, double fallback)
      : real_(view, slot, fallback), flat_(view.In(slot)), integer_(IntegerIn(fallback, view.spec().outputs[0].dtype)) {
    if (flat_ < 0) return;
    storage_ = StorageType(view.spec().inputs[flat_].dtype);
    const HostTensor* value = view.spec().values[flat_];
    if (value == nullptr || value->num_elements() < 1) return;
    integer_ = ReadAsInt(value->data(), value->dtype());
    flat_ = -1;
  }
  bool is_fixed() const { return real_.is_fixed(); }
  double Real(const KernelArgs& args) const { return real_.Get(args); }
  // Toward zero; of a float out of range the nearest end; of u64 the bits.
  int64_t Integer(const KernelArgs& args) const { return flat_ < 0 ? integer_ : ReadAsInt(args.inputs[flat_], storage_); }

 private:
  ScalarInput real_;
  int flat_ = -1;
  DType storage_ = DType::kI64;
  int64_t integer_ = 0;
};

}  // namespace ampc
