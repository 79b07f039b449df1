// Which options a Paddle release knows, and what they default to.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/e2e/cli.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = R"(program m version=1

block main {
  feed  x : f32 [4, 8]
  param w : f32 [8, 8]
  h = matmul_v2(x, w) : f32 [4, 8]
  s = softmax(h) : f32 [4, 8]
  fetch s
}
)";

class CompatOptions : public CliTest {
 protected:
  Outcome Convert(const std::string& options) const {
    Write("m.prog", kModel);
    std::vector<std::string> args = {"convert", "m.prog", "-o", "o.prog", "--program-only", "--no-sync"};
    for (const std::string& arg : std::vector<std::string>(absl::StrSplit(options, ' '))) args.push_back(arg);
    return Ampc(args);
  }
  void ExpectUsage(const std::string& options, const std::string& says) const {
    const Outcome outcome = Convert(options);
    EXPECT_EQ(outcome.code, 2) << options << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(says)) << options;
  }
  std::string Converted(const std::string& options) const {
    const Outcome outcome = Convert(options);
    EXPECT_EQ(outcome.code, 0) << options << "\n" << outcome.err;
    return Read("o.prog");
  }
};

TEST_F(CompatOptions, WhatAReleaseDoesNotHave) {
  ExpectUsage("--compat paddle-2.0 --dtype bf16", "paddle-2.0 knows fp16 only");
  ExpectUsage("--compat paddle-2.4 --dtype bf16", "paddle-2.4 knows fp16 only");
  ExpectUsage("--compat paddle-2.0 --promote", "knows neither promote nor level OD");
  ExpectUsage("--compat paddle-2.4 --level OD", "knows neither promote nor level OD");
  ExpectUsage("--level OD", "Paddle mode");
  ExpectUsage("--compat paddle-2.4 --guard", "the guard at O2 only");
  ExpectUsage("--compat paddle-2.6 --low-io", "decides itself which feeds and fetches");
  ExpectUsage("--compat paddle-2.6 --target cpu", "contradicts --compat");
  ExpectUsage("--compat paddle-inference-2.6 --level O1", "no levels");
  ExpectUsage("--compat paddle-inference-2.6 --guard", "neither guard nor promote");
  ExpectUsage("--compat paddle-inference-2.6 --black-vars h", "not black-vars");
  ExpectUsage("--compat paddle-3.0", "--compat");
}

TEST_F(CompatOptions, DefaultLevelIsThatOfTheRelease) {
  for (const std::string release : {"paddle-2.0", "paddle-2.4", "paddle-2.6"}) {
    const std::string by_default = Converted("--compat " + release);
    EXPECT_EQ(by_default, Converted("--compat " + release + " --level O1"));
    EXPECT_THAT(by_default, HasSubstr("w : f32"));  // O1 casts weights at run time
    EXPECT_THAT(Converted("--compat " + release + " --level O2"), HasSubstr("w : f16"));
  }
  EXPECT_THAT(Converted("--compat paddle-inference-2.6"), HasSubstr("w : f16"));
}

TEST_F(CompatOptions, ListsAreUsed) {
  EXPECT_THAT(Converted("--compat paddle-2.6 --black-list matmul_v2"), Not(HasSubstr("f16")));
  EXPECT_THAT(Converted("--compat paddle-2.6 --black-vars h"), Not(HasSubstr("f16")));
  EXPECT_THAT(Converted("--compat paddle-2.4 --white-list softmax"), Not(HasSubstr("cast(h)")));
}

}  // namespace
}  // namespace ampc::testing
