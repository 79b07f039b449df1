// amp-decide: which ops compute in low precision, and why; puts the decision into the context, does not change the program.
//
//   h = matmul_v2(x, w)     h  matmul_v2  low   allow: ...
//   r = relu(h)             r  relu       low   infer: ...
//   p = softmax(r)          p  softmax    fp32  deny: ...
//
// level=O0|O1|O2|auto (OD with a Paddle mode), device="cuda:8.0" (auto: graph/device_numbers.h), dtype=f16|bf16, guard, promote, low-io,
// keep-io="x,y", low-io-names="x,y", white-list="a,b", black-list="a,b", black-vars="x,y", include="selector,...", exclude="selector,..."
// (selector.h), mode=own|paddle-2.0|paddle-2.4|paddle-2.6. A mode reproduces that generation's decision and takes no selectors; own mode
// asks the records and ctx.support; which of several requests wins says tools/docs/convert.md. Casts that
// an earlier conversion put are looked through, so a converted program gets the decision of its original.
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo AmpDecidePass();

}  // namespace ampc
