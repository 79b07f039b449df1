// fuse-group-norm: normalisations of groups of channels become group_norm.
//
//   a = reshape2(x) shape=[0, G, -1]                              ->     u = group_norm(x, g * <s>, g * <b> + h) groups=G
//   n = instance_norm(a, s, b)
//   y = reshape2(n) to the dims of x
//   u = y * g + h
//
// As PyTorch's exporter writes them, with s = 1 and b = 0; g and h are constants, one number or one per channel, as fuse-conv-affine takes
// them. Reshaped values, the norm's and all but the last of the others are read once. Image by image the groups are the same elements,
// whatever the sizes. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseGroupNormPass();

}  // namespace ampc
