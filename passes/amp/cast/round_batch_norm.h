// round-batch-norm: where all of a BatchNormalization's vectors that are low now are stored and used by nothing else, rounds them together
// (passes/amp/cast/joint_rounding.h).
//
//   const v : f16 [8] !was=f32 = f32 [0.1, ..]|f16(..)      ->      const v : f16 [8] !was=f32 = f32 [0.10046387, ..]|f16(..)
//
// ONNX's operators below set 15, whose vectors have the type of X, in inference only. The weight that the cast reads becomes one in memory;
// in channels that change, it is what the cast gives, so taking the conversion back without the original file gives that. A program that
// travels without weights stays as it is. Comes behind cast-parameters-to-fp16; running it twice changes nothing. O(program + elements of
// the vectors).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo RoundBatchNormPass();

}  // namespace ampc
