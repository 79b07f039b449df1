// Feeds of a run from files.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace ampc {

// Each source is a .npz or .safetensors file, NAME=file.npy, or a .npy file for a model with one feed. If a feed is
// missing, a usage error names it and the arrays that no feed is named like.
absl::StatusOr<TensorMap> ReadFeeds(const std::vector<std::string>& sources, const std::vector<ValueInfo>& inputs);
// A float feed is converted to the model's float type where they differ (never an integer: that is a usage error of Session::Run).
absl::StatusOr<TensorMap> InTypesOf(TensorMap feeds, const std::vector<ValueInfo>& inputs);

// The file of a source.
std::string FileOfFeeds(const std::string& source);

}  // namespace ampc
