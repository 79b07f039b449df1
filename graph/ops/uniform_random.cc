#include "graph/ops/random_util.h"

namespace ampc::ops {

OpDef UniformRandomDef() {
  OpDef def = RandomFill("uniform_random", "Random numbers, each value of [min, max) as likely as another.");
  def.A("min", -1.0f).A("max", 1.0f).Extra("diag_num", 0).Extra("diag_step", 0).Extra("diag_val", 1.0f);
  return def;
}

}  // namespace ampc::ops
