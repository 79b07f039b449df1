// cast-parameters-to-fp16: stores weights low where the decision says so, so that no cast of them is left at run time.
//
//   param w : f32 [8, 8] = @m:w                    param w : f16 [8, 8] !was=f32 = @m:w|f16
//   w.f16 = cast(w) .. !amp=inserted       ->      h = matmul_v2(x.f16, w)
//   h = matmul_v2(x.f16, w.f16)
//
// A weight with mixed readers stays fp32 and gets a low copy, param `w.f16`. Bytes are not touched: a transform is appended
// to the WeightRef. Options: on_overflow=clamp|keep|error, on_tiny=subnormal|flush|keep. Needs a decision. O(program).
#pragma once

#include "absl/status/statusor.h"
#include "graph/weight.h"
#include "passes/pass.h"

namespace ampc {

PassInfo CastParametersPass();

// The option on_tiny, which protect has, too.
absl::StatusOr<OnTiny> OnTinyOption(const PassOptions& options);

}  // namespace ampc
