// CompareRewrites: did two systems make the same mixed-precision program of one input? Straight from the files: nothing of
// ampc's reader or of its IR is in between.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/paddle_framework.pb.h"

namespace ampc::testing {

absl::StatusOr<paddle::ProgramDesc> ReadPaddleProgram(const std::string& path);

// The first difference between two rewritings, "" when there is none. Compared are, block by block: the sequence of ops without
// casts; declared type and source (looking through casts) of every operand; the declared type of every result; the set of
// (source, type) that casts make; the declared types of what is fed, kept between runs or fetched. `fetches` names what a program
// without fetch ops is asked for.
std::string CompareRewrites(const paddle::ProgramDesc& ours, const paddle::ProgramDesc& theirs, const std::vector<std::string>& fetches);

}  // namespace ampc::testing
