// PaddlePolicy: what one generation of Paddle's static AMP knows, as data. amp-decide interprets it; nothing else branches on
// a generation. The tables list forward ops only, because rewriting happens before gradients exist.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ampc {

// Which slots of an op may be low: `only` these, or all but these. Slots are separated by blanks.
struct SlotRule {
  absl::string_view op;
  bool only;
  absl::string_view slots;
};

enum class PaddleAlgorithm : uint8_t {
  kLegacy,     // separate ones for O1 and O2
  kUnified,    // one for all levels (2.5 and later)
  kInference,  // the deployers' converter of trained models
};

struct PaddlePolicy {
  absl::string_view name;   // "paddle-2.6"
  absl::string_view alias;  // the release the data was recorded from
  PaddleAlgorithm algorithm = PaddleAlgorithm::kLegacy;
  bool has_bf16 = false;
  // The lists by op type, separated by blanks.
  absl::string_view white_f16;
  absl::string_view white_bf16;
  absl::string_view black;
  absl::string_view gray;
  absl::string_view black_o1_only;  // leaves the black list at O2
  // O2 keeps an op fp32 when it is in `unsupported`, or, where kernel tables exist, when it is not in `kernels_*`.
  absl::string_view unsupported;
  absl::string_view kernels_f16;
  absl::string_view kernels_bf16;
  // The back-pointers of a loaded program (one with feed and fetch ops): lost, or rebuilt to the first writer in the block.
  bool loaded_has_no_producers = false;
  // Control ops that list casts of what their bodies go on reading uncast, and whose bodies O1 leaves to the runtime's conversions.
  absl::string_view lists_casts;
  absl::string_view white_lifts_unsupported;  // a custom white entry for these also lifts the missing support
  absl::Span<const SlotRule> inputs;
  absl::Span<const SlotRule> outputs;
  // kInference: ops that `kernels_*` names although they have none of their own, ops with fp32 kernels alone, and ops of `kernels_*`
  // without one for fp32. Results of an op without any fp32 kernel stay fp32.
  absl::string_view without_kernels;
  absl::string_view kernels_f32_only;
  absl::string_view kernels_low_only;
};

const PaddlePolicy& Paddle20();
const PaddlePolicy& Paddle24();
const PaddlePolicy& Paddle26();
const PaddlePolicy& PaddleInference26();

// "paddle-2.0", "paddle-2.4", "paddle-2.6", "paddle-inference-2.6"; null for another name.
const PaddlePolicy* FindPaddlePolicy(absl::string_view name);

using NameSet = absl::flat_hash_set<std::string>;
NameSet Words(absl::string_view text);

// May this slot become low when its op is low?
bool SlotMayBeLow(absl::Span<const SlotRule> rules, absl::string_view op, absl::string_view slot);

}  // namespace ampc
