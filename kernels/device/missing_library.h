// A library of the vendor that is not there: exit code 4 like all that a device cannot do, but nothing falls back because of it.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc {

// UnsupportedError with a mark that survives Annotate.
absl::Status MissingLibraryError(absl::string_view message);
bool IsMissingLibrary(const absl::Status& status);

// Whether another way of computing the same may take the place of what ended with `status`: exit code 4, and no missing library.
bool MayFallBack(const absl::Status& status);

}  // namespace ampc
