// The networks of `ampc train`, written with the public builder.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/builder.h"

namespace ampc {

// A network after its forward part was written. All but SimpleNet read images `x`, f32 [batch, 1, 28, 28], and classes `y`, i64 [batch, 1].
struct Network {
  Value x, y;
  Value output;    // logits [batch, 10]; what SimpleNet computes
  Value loss;      // one f32
  Value accuracy;  // one f32, the part of the batch that is right; empty for SimpleNet
};

enum class NetworkData { kImages, kRandom };  // random: x and y are normal, f32 [batch, features]

struct NetworkInfo {
  const char* name;
  const char* summary;
  NetworkData data;
  int batch;  // a sensible batch
  const char* optimizer;
  double learning_rate;
  int features;  // of random data, else 0
  Network (*build)(ProgramBuilder& builder);
};

absl::Span<const NetworkInfo> Networks();
// A usage error that names the known ones.
absl::StatusOr<const NetworkInfo*> FindNetwork(absl::string_view name);
Network BuildSimpleNet(ProgramBuilder& b);

}  // namespace ampc
