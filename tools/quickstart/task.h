// What the two models of the quick start answer: the text of a line, the class of an image.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"

namespace ampc {

// The character of every output class of a recogniser: class 0 is the blank ("" here), then the file's lines, then a space.
absl::StatusOr<std::vector<std::string>> ReadCharset(const std::string& path);

// Greedy CTC decoding of [batch, time, classes]: the best class per step, repeats merged, blanks dropped. A step with a value that
// is not finite decodes to "?". UsageError for other ranks or a charset of another size.
absl::StatusOr<std::vector<std::string>> DecodeText(const HostTensor& probabilities, const std::vector<std::string>& charset);

// The best class of each row of [batch, classes], as `labels` names it; "?" where a value is not finite.
absl::StatusOr<std::vector<std::string>> DecodeClass(const HostTensor& probabilities, const std::vector<std::string>& labels);

}  // namespace ampc
