// TargetSupport: which ops a target computes in which low type, by their records.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/precision_support.h"

namespace ampc {

// "cuda", "cpu", and "cuda:8.0" for each compute capability that there are numbers of.
std::vector<std::string> TargetNames();

// For one of them, and what executes the model there (runtimes.h); a usage error for another name. Lives as long as the process. An op of
// ONNX's ("onnx.Relu.6") needs a version that has the type (schema_support.h), too; an op without a record is computed in no low type.
absl::StatusOr<const PrecisionSupport*> TargetSupport(absl::string_view target, absl::string_view runtime = "ampc");

}  // namespace ampc
