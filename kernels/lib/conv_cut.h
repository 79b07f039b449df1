// How a convolution is cut into parts of one thread each: by its sizes alone, so that results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/lib/conv.h"

namespace ampc::onednn {

// Rows of the result of one image (planes of a volume), as a convolution by itself.
struct Rows {
  ConvSpec spec;
  int64_t in = 0, out = 0;  // first elements in channels-last memory
};

// The outermost axis with more than one point: rows are steps along it.
size_t CutAxis(const ConvSpec& s);
std::vector<Rows> CutRows(const ConvSpec& s);

// Channels of each part where the filter is cut instead: it is large and the result small, so that each part of rows would read all of
// it. 0: not cut.
int64_t ChannelsOfPart(const ConvSpec& s);

}  // namespace ampc::onednn
