// remove-amp-cast: takes out what AMP put in, and gives back the fp32 program.
//
//   param w : f16 [8, 8] !was=f32 = @m:w|f16            param w : f32 [8, 8] = @m:w
//   x.f16 = cast(x) .. !amp=inserted             ->     h = matmul_v2(x, w) : f32 [4, 8]
//   h = matmul_v2(x.f16, w) !was=f32 : f16 [4, 8]
//
// Inserted casts and low copies of weights go; types, names and data type attributes return; the marks of protect and
// fp16-guard are cleared. A weight whose transform is still pending gets its fp32 bytes back; one that is stored low is
// widened, and a note says so. A program without any AMP mark gets its casts between float types removed, its low values
// widened, and a note says so; with unmarked=keep it stays as it is. O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo RemoveAmpCastPass();

}  // namespace ampc
