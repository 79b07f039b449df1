#include "graph/ops/bounds.h"
#include "graph/ops/pool_util.h"

namespace ampc::ops {

OpDef Pool2DDef() {
  return Pooling("pool2d", 2,
                 "Largest value or mean of each window. 'adaptive': ksize is the size of the result; 'global_pooling': one window; "
                 "'exclusive': a "
                 "mean does not count padding.")
      .BoundsAre(&PaddedBounds);
}

}  // namespace ampc::ops
