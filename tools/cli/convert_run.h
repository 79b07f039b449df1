// RunConvert: all that `ampc convert` does but parsing and printing.
#pragma once

#include "absl/status/statusor.h"
#include "tools/cli/convert_flags.h"
#include "tools/cli/convert_model.h"

namespace ampc {

// Of flags that ResolveConvertFlags has completed: converts, measures values first where that is asked for, and writes the files that the
// options name, all together or none. Sets `measure` and `add_files` of the request. Errors are those of ConvertModel.
absl::StatusOr<ConvertResult> RunConvert(ConvertFlags& flags);

}  // namespace ampc
