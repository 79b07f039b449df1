// amp-verify: does the converted program keep what AMP promises? Changes nothing; an error names the op or value.
//
// A fetched value has the type it had; a low op has a kernel on the target; an op that is to stay fp32 reads no retyped value;
// every inserted cast is read, and no two casts of one block give the same value the same type, so that there are no more
// casts than edges between low and fp32. Needs a decision; the kernel check is for own mode (a Paddle mode brings its own
// tables). O(program).
#pragma once

#include "passes/pass.h"

namespace ampc {

PassInfo AmpVerifyPass();

}  // namespace ampc
