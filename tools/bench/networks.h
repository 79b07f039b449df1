// The networks of `ampc bench`: built with the public builder, random weights and data.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/tensor_map.h"
#include "tools/examples/networks/networks.h"

namespace ampc {

struct BenchNetwork {
  const char* name;
  const char* summary;
  const char* item;  // what one row of a batch is: "image"
  Network (*build)(ProgramBuilder& builder);
  // Feeds of `batch` rows, the same for the same batch; with `labels` also y. Internal where there is no memory for them.
  absl::StatusOr<TensorMap> (*feeds)(int64_t batch, bool labels);
};

absl::Span<const BenchNetwork> BenchNetworks();
std::string BenchNetworkNames();  // separated by commas, for messages
// Null for another name.
const BenchNetwork* FindBenchNetwork(absl::string_view name);

}  // namespace ampc
