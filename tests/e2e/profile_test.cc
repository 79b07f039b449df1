// ampc profile, and what its times are for.
#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNet[] = R"(program net version=1

block main {
  feed  x : f32 [?, 64]
  param w : f32 [64, 64] = 0.01
  h = matmul_v2(x, w) : f32 [?, 64]
  r = relu(h) : f32 [?, 64]
  e = exp(r) : f32 [?, 64]
  fetch e
}
)";

class ProfileTest : public CliTest {
 protected:
  void SetUp() override { MakeModel("net", kNet); }
  static std::vector<std::string> Profile(std::vector<std::string> more) {
    const std::vector<std::string> all = {"profile", "net.pdmodel", "--dims", "x=32,64", "--seconds", "0", "-o", "t.json"};
    more.insert(more.begin(), all.begin(), all.end());
    return more;
  }
  static std::vector<std::string> Convert(std::vector<std::string> more) {
    const std::vector<std::string> all = {"convert",  "net.pdmodel", "-o",        "low.pdmodel", "--dtype", "bf16",
                                          "--target", "cpu",         "--profile", "t.json",      "--dims",  "x=32,64"};
    more.insert(more.begin(), all.begin(), all.end());
    return more;
  }
};

TEST_F(ProfileTest, MeasuresOpsAndKeepsTheirTimes) {
  const JsonValue first = OkJson(Profile({"--json"}));
  EXPECT_EQ(Text(first, "feeds"), "x [32, 64]");
  EXPECT_EQ(Text(first, "file"), "t.json");
  EXPECT_EQ(Number(first, "known_ops"), 3);
  EXPECT_GT(Number(*first.Find("fp32"), "seconds"), 0);
  EXPECT_GT(Number(*first.Find("fp32"), "predicted"), 0);
  double sum = 0;
  for (const JsonValue& op : first.Find("ops")->items) sum += Number(op, "fp32");
  EXPECT_NEAR(sum, Number(*first.Find("fp32"), "seconds"), 1e-9) << "the times of ops add up to the run's";
  EXPECT_THAT(Ok(Profile({"--ops", "1"})), AllOf(HasSubstr("net.pdmodel: one thread of "), HasSubstr("\nt.json: 3 ops\n")));

  // Other dims are other ops.
  EXPECT_THAT(Ok({"profile", "net.pdmodel", "--dims", "x=16,64", "--seconds", "0", "-o", "t.json"}), HasSubstr("t.json: 6 ops"));
}

// The times are those that are predicted.
TEST_F(ProfileTest, TimesCountForConversions) {
  const JsonValue measured = OkJson(Profile({"--json"}));
  const JsonValue converted = OkJson(Convert({"--json"}));
  const JsonValue& predicted = *converted.Find("predicted");
  EXPECT_EQ(Text(predicted, "feeds"), "x [32, 64]");
  EXPECT_EQ(Number(predicted, "measured_ops"), 3);
  EXPECT_NEAR(Number(predicted, "seconds_before"), Number(*measured.Find("fp32"), "seconds"), 1e-9);
  EXPECT_THAT(Ok(Convert({})), HasSubstr("3 measured ops"));
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"explain", "net.pdmodel", "--level", "auto"}, {"tune", "net.pdmodel", "--random"}}) {
    std::vector<std::string> words = verb;
    words.insert(words.end(), {"--dtype", "bf16", "--target", "cpu", "--dims", "x=32,64", "--profile", "t.json"});
    const Outcome outcome = Ampc(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

// A product that takes a second in float32 is worth any cast; one that takes a second in bf16 is worth none.
TEST_F(ProfileTest, TimesDecideAtLevelAuto) {
  Ok(Profile({}));
  const JsonValue decided = OkJson(Convert({"--json"}));
  const std::string device = Text(*decided.Find("predicted"), "device"), text = Read("t.json");
  const auto with = [&](const std::string& seconds) {
    std::string out = text;
    const size_t at = out.find(R"("op": "matmul_v2")"), number = out.find(R"("fp32")", at), end = out.find('}', number);
    out.replace(number, end - number, seconds);
    Write("t.json", out);
    const Outcome outcome = Ampc(Convert({"--level", "auto"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_THAT(with(R"("fp32": 1, "bf16": 0.1)"), HasSubstr(" bf16, "));
  EXPECT_THAT(with(R"("fp32": 1, "bf16": 0.1)"), Not(HasSubstr("ops: 0 bf16")));
  EXPECT_THAT(with(R"("fp32": 0.1, "bf16": 1)"), HasSubstr("ops: 0 bf16"));
}

TEST_F(ProfileTest, KeepsThoseOfThisMachineInTheCache) {
  const std::string cache = absl::StrCat("XDG_CACHE_HOME=", std::filesystem::absolute(std::string(folder_.path())).string(), "/cache");
  const Outcome profiled =
      RunProcess("tools/ampc", {"profile", "net.pdmodel", "--dims", "x=32,64", "--seconds", "0"}, folder_.path(), {cache});
  EXPECT_EQ(profiled.code, 0) << profiled.err;
  EXPECT_THAT(profiled.out, HasSubstr("/cache/ampc/times_"));
  std::vector<std::string> convert = Convert({"--json"});
  std::replace(convert.begin(), convert.end(), std::string("t.json"), std::string("cached"));
  const Outcome converted = RunProcess("tools/ampc", convert, folder_.path(), {cache});
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_THAT(converted.out, HasSubstr(R"("measured_ops": 3)"));
}

TEST_F(ProfileTest, SaysWhatIsWrong) {
  Ok(Profile({}));
  ExpectFailure({"convert", "net.pdmodel", "-o", "o.pdmodel", "--profile", "t.json"}, 2, "has times of ");
  ExpectFailure({"convert", "net.pdmodel", "-o", "o.pdmodel", "--profile", "absent.json"}, 3, "absent.json");
  ExpectFailure({"convert", "net.pdmodel", "-o", "t.json.pdmodel", "--report", "t.json", "--profile", "t.json", "--target", "cpu"}, 2,
                "t.json");
  Write("bad.json", R"({"ampc-profile": 1, "device": "avx2", "ops": [{"op": "exp", "key": "1"}]})");
  ExpectFailure({"convert", "net.pdmodel", "-o", "o.pdmodel", "--profile", "bad.json"}, 3, "bad.json: op 0: 'key' is '1', needs 16");
  ExpectFailure({"profile", "net.pdmodel", "-o", "bad.json"}, 3, "bad.json: op 0: 'key' is '1', needs 16");
  ExpectFailure({"profile", "net.pdmodel", "-o", "net.pdmodel"}, 2, "is the input");
  ExpectFailure({"profile", "net.pdmodel", "-o", "absent/t.json"}, 5, "absent");
  ExpectFailure({"profile", "net.pdmodel", "--dims", "y=1", "-o", "u.json"}, 2, "y");
  ExpectFailure({"convert", "net.pdmodel", "-o", "o.pdmodel", "--dims", "x=1,65"}, 2, "--dims: ");
  ExpectFailure({"convert", "net.pdmodel", "-o", "o.pdmodel", "--dims", "x"}, 2, "--dims: found 'x', needed NAME=1,3,48,320");
  Ok({"convert", "net.pdmodel", "-o", "low.pdmodel"});
  ExpectFailure({"profile", "low.pdmodel", "-o", "u.json"}, 2, "was converted before");
}

}  // namespace
}  // namespace ampc::testing
