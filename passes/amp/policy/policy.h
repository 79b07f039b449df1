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

struct PaddlePolicy {
  absl::string_view name;   // "paddle-2.6"
  absl::string_view alias;  // the release the data was recorded from
  bool unified = false;     // one algorithm for all levels (2.5 and later) instead of separate ones for O1 and O2
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
  absl::string_view white_lifts_unsupported;  // a custom white entry for these also lifts the missing support
  absl::Span<const SlotRule> inputs;
  absl::Span<const SlotRule> outputs;
};

const PaddlePolicy& Paddle20();
const PaddlePolicy& Paddle24();
const PaddlePolicy& Paddle26();

// "paddle-2.0", "paddle-2.4", "paddle-2.6"; null for another name.
const PaddlePolicy* FindPaddlePolicy(absl::string_view name);

using NameSet = absl::flat_hash_set<std::string>;
NameSet Words(absl::string_view text);

// May this slot become low when its op is low?
bool SlotMayBeLow(absl::Span<const SlotRule> rules, absl::string_view op, absl::string_view slot);

}  // namespace ampc
