// TargetSupport: the data table behind PrecisionSupport: which ops a target computes in which low type.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/precision_support.h"

namespace ampc {

// The table for "cuda" or "cpu"; a usage error for another name. Lives as long as the process. An op of a dialect
// ("onnx.Relu") is looked up as the native op whose record names it as an alias.
absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target);

}  // namespace ampc
