// Short ways to make a session from text, and its feeds.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "runtime/session.h"
#include "tests/testlib/parse_bare.h"

namespace ampc {

inline absl::StatusOr<Session> FromText(absl::string_view text, SessionOptions options = {.threads = 1}) {
  absl::StatusOr<Program> program = testing::ParseBare(text);
  if (!program.ok()) return program.status();
  return Session::Create(*std::move(program), options);
}

inline HostTensor F(std::vector<int64_t> dims, std::vector<float> values) { return HostTensor::FromValues<float>(dims, values); }
inline HostTensor I(int64_t value) { return HostTensor::Of<int64_t>({1}, {value}); }
inline HostTensor B(bool value) { return HostTensor::Of<bool>({1}, {value}); }
inline std::vector<float> Floats(const HostTensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }
inline std::vector<int64_t> Longs(const HostTensor& t) { return {t.values<int64_t>().begin(), t.values<int64_t>().end()}; }
inline std::vector<int64_t> DimsOf(const HostTensor& t) { return {t.dims().begin(), t.dims().end()}; }

inline void ExpectError(const absl::Status& status, ExitCode code, absl::string_view text) {
  EXPECT_EQ(ExitCodeOf(status), code) << status;
  EXPECT_NE(status.message().find(text), absl::string_view::npos) << status;
}

}  // namespace ampc
