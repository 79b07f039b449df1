// Divider: quotients by a number that the host knows, without the division that a device does not have.
#pragma once

#include <cstdint>

#include "kernels/common/host_device.h"

namespace ampc::cuda {

// After Granlund and Montgomery, "Division by invariant integers using multiplication" (1994), where dividend and divisor have 31 bits; a
// plain division where they do not.
class Divider {
 public:
  Divider() = default;
  // `divisor` >= 1, for dividends >= 0.
  explicit Divider(int64_t divisor) : divisor_(divisor) {
    if (divisor > INT32_MAX) {
      multiplier_ = 0;
      return;
    }
    while ((int64_t{1} << shift_) < divisor) ++shift_;
    multiplier_ =
        static_cast<uint32_t>((((uint64_t{1} << shift_) - static_cast<uint64_t>(divisor)) << 32) / static_cast<uint64_t>(divisor) + 1);
  }

  AMPC_HOST_DEVICE int64_t Quotient(int64_t n) const {
    if (multiplier_ == 0 || n > INT32_MAX) return n / divisor_;
    const uint32_t low = static_cast<uint32_t>(n);
    const uint32_t high = static_cast<uint32_t>((static_cast<uint64_t>(low) * multiplier_) >> 32);
    return (high + low) >> shift_;
  }
  AMPC_HOST_DEVICE int64_t divisor() const { return divisor_; }

 private:
  int64_t divisor_ = 1;
  uint32_t multiplier_ = 1, shift_ = 0;  // multiplier 0: the divisor is too large
};

}  // namespace ampc::cuda
