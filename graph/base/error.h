// Error categories. Every error is an absl::Status that carries the process exit code as a payload, so the category
// survives propagation and exactly one place (the tool's main) turns it into an exit status.
// A message is one sentence: where, what was found, what was needed. Control characters in it are made visible: \x0a.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ampc {

enum class ExitCode {
  kOk = 0,
  kNo = 1,           // the answer is no: compare over tolerance, verification failed
  kUsage = 2,        // flags; a missing feed; a wrong dtype or shape from the caller
  kBadInput = 3,     // absent or malformed input file
  kUnsupported = 4,  // well-formed, but this build, op, level or device cannot do it
  kInternal = 5,     // our bug, or a write that failed
};

absl::Status NoError(absl::string_view message);
absl::Status UsageError(absl::string_view message);
absl::Status BadInputError(absl::string_view message);
absl::Status UnsupportedError(absl::string_view message);
absl::Status IoError(absl::string_view message);        // kInternal, canonical code DataLoss
absl::Status InternalError(absl::string_view message);  // kInternal
// The IoError "`path`: cannot `what`: No space left on device" for an `error` of errno.
absl::Status SystemError(absl::string_view path, absl::string_view what, int error);

// The exit code carried by `status`. Without a payload: ok 0, InvalidArgument 2, NotFound 3, Unimplemented 4, anything else 5.
ExitCode ExitCodeOf(const absl::Status& status);

// The same status with "`prefix`: " before its message; payloads are kept, ok stays ok.
absl::Status Annotate(const absl::Status& status, absl::string_view prefix);

// ", did you mean 'x'?" for the name closest to `name` (edit distance at most a third of its length, at least 1, at most 3,
// ignoring case; the first of equals wins), or "" when nothing is close. Made to be appended to a sentence.
std::string Suggest(absl::string_view name, std::span<const std::string> names);
std::string Suggest(absl::string_view name, std::span<const absl::string_view> names);

}  // namespace ampc
