#include "graph/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ampc {
namespace {

TEST(Error, EachConstructorCarriesItsExitCode) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(NoError("x")), ExitCode::kNo);
  EXPECT_EQ(ExitCodeOf(UsageError("x")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(BadInputError("x")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(UnsupportedError("x")), ExitCode::kUnsupported);
  EXPECT_EQ(ExitCodeOf(IoError("x")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(InternalError("x")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(SystemError("x", "be read", ENOENT)), ExitCode::kInternal);
  EXPECT_EQ(UsageError("text").message(), "text");
}

TEST(Error, ForeignStatusFallsBackToItsCanonicalCode) {
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("x")), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), ExitCode::kBadInput);
  EXPECT_EQ(ExitCodeOf(absl::UnimplementedError("x")), ExitCode::kUnsupported);
  EXPECT_EQ(ExitCodeOf(absl::UnknownError("x")), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("x")), ExitCode::kInternal);
}

TEST(Error, AnnotateKeepsCodeAndPayload) {
  const absl::Status status = Annotate(NoError("differs"), "out_0");
  EXPECT_EQ(status.message(), "out_0: differs");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kNo);
  EXPECT_TRUE(Annotate(absl::OkStatus(), "out_0").ok());
}

TEST(Error, NamesCannotBreakTheLine) {
  const std::string name("a\nb\x1b[2J\0\x7f\xc2\x85 \xc3\xa9\xe6\xb7\xb7 \xff", 19);
  const std::string said = "a\\x0ab\\x1b[2J\\x00\\x7f\\x85 \xc3\xa9\xe6\xb7\xb7 \xff";
  for (const auto make : {NoError, UsageError, BadInputError, UnsupportedError, IoError, InternalError})
    EXPECT_EQ(make(name).message(), said);
  EXPECT_EQ(SystemError(name, "be read", ENOENT).message(), said + ": cannot be read: No such file or directory");
  EXPECT_EQ(Annotate(BadInputError("x"), name).message(), said + ": x");
}

TEST(Error, SuggestFindsTheClosestName) {
  const std::vector<absl::string_view> names = {"conv2d", "matmul", "matmul_v2", "relu"};
  EXPECT_EQ(Suggest("cnov2d", names), ", did you mean 'conv2d'?");
  EXPECT_EQ(Suggest("matmulv2", names), ", did you mean 'matmul_v2'?");
  EXPECT_EQ(Suggest("Matmul", names), ", did you mean 'matmul'?");
  EXPECT_EQ(Suggest("rleu", names), ", did you mean 'relu'?");
  EXPECT_EQ(Suggest("softmax", names), "");
  EXPECT_EQ(Suggest("", names), "");
  EXPECT_EQ(Suggest("x", std::vector<std::string>{"y"}), "");
  EXPECT_EQ(Suggest("relu6", std::vector<std::string>{}), "");
}

TEST(Error, SuggestTakesTheFirstOfEquals) { EXPECT_EQ(Suggest("axi", std::vector<std::string>{"axia", "axis"}), ", did you mean 'axia'?"); }

}  // namespace
}  // namespace ampc
