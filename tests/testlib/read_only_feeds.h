// ReadOnlyFeeds: feeds in memory as any caller may have it. It cannot be written, is no more aligned than its elements are, and ends where
// the process may read no further: a run that does not keep to its feeds ends there.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "runtime/tensor_map.h"

namespace ampc::testing {

class ReadOnlyFeeds {
 public:
  static absl::StatusOr<ReadOnlyFeeds> Of(const TensorMap& feeds);
  ReadOnlyFeeds(ReadOnlyFeeds&&) noexcept = default;
  ~ReadOnlyFeeds();

  // Tensors over that memory, which live no longer than this.
  const TensorMap& feeds() const { return feeds_; }

 private:
  struct Pages {
    void* begin;
    size_t bytes;
  };
  ReadOnlyFeeds() = default;
  absl::StatusOr<const void*> Place(const HostTensor& value);

  std::vector<Pages> pages_;
  TensorMap feeds_;
};

}  // namespace ampc::testing
