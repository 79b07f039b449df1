// Pictures as feeds of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/host_tensor.h"
#include "runtime/session.h"

namespace ampc {

struct PictureOptions {
  std::vector<double> mean, deviation;  // one for all channels, or one for each; empty: 0, 1
  bool bgr = false;                     // blue comes first
};

// By the file's name: .jpg, .jpeg, .png or .bmp.
bool IsPicture(const std::string& path);

// Usage errors for numbers that no picture can be normalized by.
absl::Status CheckPictureOptions(const PictureOptions& options);

// The picture as a batch of one for `input`, whose dims [n, c, h, w] or [n, h, w, c] (n may be missing) say where the channels are, 1 or 3
// of them; `dims`, unless they are empty, take their place. Height and width that are open are the picture's; else it is scaled to them,
// whatever its proportions. Floats get (pixel / 255 - mean) / deviation, integers of 8 bits the pixel. Bad input for a file that is no
// picture, a usage error for an input that takes none.
absl::StatusOr<HostTensor> ReadPicture(const std::string& path, const ValueInfo& input, const std::vector<int64_t>& dims,
                                       const PictureOptions& options);

}  // namespace ampc
