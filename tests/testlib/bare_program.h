// BareProgram: the program of a bare text in a test.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "tests/testlib/parse_bare.h"

namespace ampc::testing {

// An error fails the test and gives an empty program.
inline Program BareProgram(absl::string_view text) {
  absl::StatusOr<Program> program = ParseBare(text);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : Program();
}

}  // namespace ampc::testing
