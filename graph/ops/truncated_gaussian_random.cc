#include "graph/ops/random_util.h"

namespace ampc::ops {

OpDef TruncatedGaussianRandomDef() {
  OpDef def =
      RandomFill("truncated_gaussian_random",
                 "Random numbers of the normal distribution around 'mean' with the standard deviation 'std', those more than two of "
                 "them away left out.");
  def.A("mean", 0.0f).A("std", 1.0f);
  return def;
}

}  // namespace ampc::ops
