// RunCase: runs one case and compares.
//
//   run: parse         the program is read and printed again, not verified
//   run: verify        read and verified
//   run: print         read, verified and printed; context: brief=true, loc=true
//   run: a,b{x=1}      read, verified, the passes run (verified after each, claims checked), verified
//
// Each program that comes about is printed, parsed and compared with itself.
// context: target=cuda (the default) or another that TargetSupport knows.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tests/testlib/case_file.h"

namespace ampc::testing {

struct CaseResult {
  absl::Status status;  // ok: the case holds. NoError: what was found instead. Anything else: the case itself is wrong
  std::string actual;   // the text that belongs into an out, table or notes section; empty for other expectations
};

CaseResult RunCase(const Case& c);

}  // namespace ampc::testing
