// Ordering: the memory and the launch of a stable sort of numbers 0 to n - 1 by 32-bit keys, as kernels' host parts plan it.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc::cuda {

class Ordering {
 public:
  Ordering() = default;
  // Keys are below `keys`. Unsupported where n or keys do not fit 31 bits.
  static absl::StatusOr<Ordering> Plan(const SpecView& view, int64_t n, int64_t keys);

  int64_t n() const { return n_; }
  int64_t workspace_bytes() const { return 4 * part_ + scratch_; }  // at the start of the kernel's
  // The memory for the keys before Launch, and for its results.
  uint32_t* keys(void* workspace) const { return Part(workspace, 0); }
  uint32_t* sorted_keys(void* workspace) const { return Part(workspace, 1); }
  uint32_t* order(void* workspace) const { return Part(workspace, 3); }  // which number has each sorted key
  int Launch(void* stream, void* workspace) const;

 private:
  uint32_t* Part(void* workspace, int64_t i) const { return reinterpret_cast<uint32_t*>(static_cast<char*>(workspace) + i * part_); }

  int64_t n_ = 0, part_ = 0, scratch_ = 0;
  int bits_ = 1;
};

}  // namespace ampc::cuda
