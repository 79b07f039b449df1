// Matcher for partial expectations: a subset of FileCheck.
//
//   CHECK:       the next line, from here on, that contains the pattern
//   CHECK-NEXT:  the line right behind the last match contains it
//   CHECK-SAME:  it stands behind the last match on the same line
//   CHECK-NOT:   no line between the last match and the next one contains it
//   CHECK-LABEL: as CHECK, but no match reaches across it
//
// A run of blanks equals any other. [[X]] stands for one name: it is bound where it first matches and equals itself later.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc::testing {

// Ok when `text` satisfies `checks`. NoError says which line of `checks` did not match; UsageError for checks that are malformed.
absl::Status MatchChecks(absl::string_view checks, absl::string_view text);

}  // namespace ampc::testing
