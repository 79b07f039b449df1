// Regions of a level of mixed precision, as the attribute op_namescope has them: "/amp_scope_O1_0/". See graph/amp_scope.h.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "graph/program.h"

namespace ampc {

// The part of a name scope that stands for a region of that level.
std::string AmpRegion(absl::string_view level);
// "O1" for a name scope in a region of that level, the innermost one counts; "" outside of all.
std::string AmpRegionLevel(absl::string_view name_scope);
// Some op stands in a region.
bool HasAmpRegions(const Program& program);

}  // namespace ampc
