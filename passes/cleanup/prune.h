// prune: the part of a program that computes some values from others.
//
//   feed x : f32 [4]                                  feed x : f32 [4]
//   feed label : i64 [4, 1]         prune{            y = relu(x)
//   param w : f32 [4, 4] trainable  fetches=y}        fetch y
//   y = relu(x)                        ->
//   h = matmul_v2(y, w)
//   l = softmax_with_cross_entropy(h, label)
//   fetch l
//
// Options: fetches=a,b (default: the program's), feeds=a,b (default: those that the fetches need), both in the order of the new
// signature. A feed may be a value that an op of the main block defines: it is given from then on, and what only computed it goes. Writes
// of a value that nothing needs any more go, too, so a fetch of a forward value leaves no optimizer behind; so do variables that nothing
// mentions, parameters included, and what the program keeps of the file it came from. A loop or branch keeps the part of its body that
// the fetches need. Errors (usage): a name that is no value of the main block, a feed that the fetches do not need, a feed that they need
// and that is not given. A decision does not survive. O(program).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"
#include "passes/pass.h"

namespace ampc {

// By names; empty lists are the defaults above. Returns whether anything changed.
absl::StatusOr<bool> Prune(const std::vector<std::string>& feeds, const std::vector<std::string>& fetches, Program& program);

PassInfo PrunePass();

}  // namespace ampc
