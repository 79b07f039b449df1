// Scaled dot-product attention for the records that are made of it: q [batch, heads, length, size], k and v [batch, heads of theirs,
// positions, size].
#pragma once

#include "graph/ops/onnx/lowering.h"

namespace ampc::onnx {

// The score of masked positions for the standard's -inf: the least f32, so that a row of nothing else is no NaN.
inline constexpr double kLeastScore = -3.4028234663852886e38;

// [batch, length, heads * size] as [batch, heads, length, size], and back.
Var* SplitHeads(Lowering& l, Var* x, int64_t heads);
Var* JoinHeads(Lowering& l, Var* x);
// 1, 2, ... along `axis` of `x`, and 1 along its other dims; or ..., 2, 1. i64.
Var* Count(Lowering& l, Var* x, int axis, bool from_end);
// How far each position lies before each query of `scores`, where the last query is at the last position; negative: behind it. i64 [1, 1,
// length, positions].
Var* DistanceBack(Lowering& l, Var* scores);
// `mask` (bool; broadcast against scores) as numbers to add: 0 where it is true, else `least`. Of the type of `scores`.
Var* BiasOf(Lowering& l, Var* mask, Var* scores, double least);

// scale * q * k' [batch, heads, length, positions], in fp32 for low types. Heads of q share those of k where there are more of them.
Var* Scores(Lowering& l, Var* q, Var* k, double scale);
// softcap * tanh(scores / softcap); `scores` where it is 0.
Var* Capped(Lowering& l, Var* scores, double softcap);
Var* Probabilities(Lowering& l, Var* scores);
// Sums of v by `p`, of the type of v: [batch, heads, length, size of v].
Var* Weighted(Lowering& l, Var* p, Var* v);

// Entry [b, i] of `index` (i64 [batch, n]) of dim 1 of `x`: [batch, n, ...].
Var* TakeInBatch(Lowering& l, Var* x, Var* index);

// `x` + `y`; one of them where the other is null, null without any.
Var* SumOf(Lowering& l, Var* x, Var* y);

// Dims of `x` [batch, heads, length, size], twice as many as `cos` has, turned by the angles of `cos` and `sin` [batch or 1, length, n].
Var* Rotated(Lowering& l, Var* x, Var* cos, Var* sin, bool interleaved);

}  // namespace ampc::onnx
