// TargetSupport: the data table behind PrecisionSupport: which ops a target computes in which low type.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/precision_support.h"

namespace ampc {

// The table for "cuda" or "cpu"; a usage error for another name. Lives as long as the process. An op of ONNX's
// ("onnx.Relu.6") needs the native op that means the same, or none, and a version that has the type (schema_support.h).
absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target);

}  // namespace ampc
