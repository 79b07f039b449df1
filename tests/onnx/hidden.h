// Models whose shapes nobody knows before they run.
#pragma once

#include "graph/program.h"

namespace ampc::testing {

enum class Hide { kDims, kRanks };

// The feed that hides: bool [1], true for a model that computes what it did before.
inline constexpr char kHidingFeed[] = "nothing_is_hidden";

// The readers of a feed of `program`, a model of the ONNX dialect, read its value behind an op whose result has dims, or a rank, that
// depend on what the feed `nothing_is_hidden` is; it comes last among the feeds.
void HideFeeds(Hide what, Program& program);

}  // namespace ampc::testing
