// CompareTraining: did two systems make the same training program of one input? Straight from the files, as compare.h.
#pragma once

#include <string>

#include "proto/paddle_framework.pb.h"

namespace ampc::testing {

// The first difference between two complete training programs, "" when there is none. An op is what it computes: its type, its
// attributes (defaults filled in), its role, which parameters' gradients it writes, and what its operands hold, by the ops that
// computed that. So names of temporaries and an order that the data flow does not ask for do not count; casts, and copies of a flag to
// the host, are looked through, with declared types compared. State that is kept between runs has the same name, type and dims in both.
// The differences that passes/amp/policy/DIFFERENCES.md lists for training programs are allowed, and SkipUpdate is needed of ours on every
// update.
std::string CompareTraining(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs);

// The same for startup programs: every op with the names that it reads and writes.
std::string CompareStartup(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs);

}  // namespace ampc::testing
