#include "graph/ops/bounds.h"
#include "graph/ops/pool_util.h"

namespace ampc::ops {

OpDef Pool3DDef() {
  return Pooling("pool3d", 3,
                 "Largest value or mean of each window of a volume. 'adaptive': ksize is the size of the result; 'global_pooling': one "
                 "window; 'exclusive': a "
                 "mean does not count padding.")
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
