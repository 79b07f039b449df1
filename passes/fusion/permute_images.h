// permute-images: a permutation of images whose positions are one dimension becomes one of images, which layouts make free.
//
//   r = reshape2(x)      : [b, c, h * w]         t = transpose2(x) axis=[0, 2, 3, 1] : [b, h, w, c]
//   y = transpose2(r) axis=[0, 2, 1]       ->    y = reshape2(t)                     : [b, h * w, c]
//
//   t = transpose2(x) axis=[0, 2, 1]             r = reshape2(x)                     : [b, h, w, c]
//   y = reshape2(t)      : [b, c, h, w]    ->    y = transpose2(r) axis=[0, 3, 1, 2] : [b, c, h, w]
//
// The same where squeeze2 or unsqueeze2 makes images of one row, for volumes and other permutations of the three dimensions that move the
// last one. Sizes are known, but for one. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo PermuteImagesPass();

}  // namespace ampc
