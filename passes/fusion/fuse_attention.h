// fuse-attention: attention that a model spells out becomes one op, which never has all scores in memory.
//
//   s = matmul_v2(q, k) * <scale> + mask          ->     y = fused_attention(q, k, v, mask) scale=<scale>
//   y = matmul_v2(softmax(s, last axis), v)
//
// The scale and the mask may be missing, and factors of q and k be part of the scale; a transpose2 of k becomes trans_k, and
// where(isnan(p), 0, p) of what the softmax gives nan_to_zero. Nothing overwrites q, k or the mask between its reader and y. A mask of
// windows may be added where the first dimension is two, images and their windows: Q, K, V and the result are reshaped instead. Casts
// between float types may lie in between; what does is read by nothing else. In a low chain roundings go. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo FuseAttentionPass();

}  // namespace ampc
