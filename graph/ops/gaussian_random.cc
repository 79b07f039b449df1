#include "graph/ops/random_util.h"

namespace ampc::ops {

OpDef GaussianRandomDef() {
  OpDef def = RandomFill("gaussian_random", "Random numbers of the normal distribution around 'mean' with the standard deviation 'std'.");
  def.A("mean", 0.0f).A("std", 1.0f);
  return def;
}

}  // namespace ampc::ops
