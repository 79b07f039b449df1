// The record of a conversion in the converted model, and its use by a second conversion.
//
//   dtype=fp16;level=O2;low-io=true;exclude=softmax,reads:w     type and level, and each further option that is not its default
//
// Values are names as passes/option_text.h joins them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "runtime/convert/options.h"

namespace ampc {

// Of the options that decide what a conversion gives.
std::string MadeWith(const ConvertOptions& options);

// A model is converted once. For one that was: fills in what `options` do not give from what the program says, and returns true: it stays
// as it is. UsageError where what is given contradicts it. False for any other program, and where only the program's types say that it was
// converted (an older version wrote it) and options are given: these decide again, at the type that the program has.
absl::StatusOr<bool> KeepsConversion(const Program& program, ConvertOptions* options);

// `status` is what a pass makes of a program that is marked as converted, from that file: what the marks make impossible is the file's
// fault.
absl::Status BlameMarks(const std::string& path, const absl::Status& status);

// OK when the marks of a conversion can be undone.
absl::Status CheckMarks(const Program& program, const std::string& path);

}  // namespace ampc
