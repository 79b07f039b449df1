// Case files (*.case): golden tests of passes, text, ops, as text.
//
//   # comment                          lines in front of the first case
//   === title of the first case
//   run: fold-casts,drop-dead          what to do, see run_case.h
//   context: target=cpu                options, any number of lines
//   --- in
//   feed x : f32 [4]
//   fetch x
//   --- out                            one of: out, check, unchanged, error, table, notes
//   feed x : f32 [4]
//   fetch x
//
// Blank lines at the end of a section do not belong to it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ampc::testing {

enum class Expect { kOut, kCheck, kUnchanged, kError, kTable, kNotes };

struct Case {
  std::string title;
  std::string name;  // of the test: the title with `_` for everything but letters and digits
  int line = 0;      // of the title, counted from 1
  std::string run;
  std::map<std::string, std::string> context;
  std::string in;
  Expect expect = Expect::kOut;
  std::string expected;                      // without the newline at its end
  int expected_begin = 0, expected_end = 0;  // its lines in the file, counted from 0, [begin, end)
};

// All cases of a file in order. Errors name the line. Two cases may not have one name.
absl::StatusOr<std::vector<Case>> ParseCases(absl::string_view text);

// The text with the expectation of `c` replaced; `c` must come from that text.
std::string WithExpected(absl::string_view text, const Case& c, absl::string_view expected);

}  // namespace ampc::testing
