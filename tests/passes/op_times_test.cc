#include "passes/amp/decide/op_times.h"

#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"

namespace ampc {
namespace {

OpTimes TwoTimes() {
  OpTimes times;
  times.device = "avx512_bf16";
  times.ops[1] = {"conv2d", 1.5e-5, std::nullopt, 7e-6};
  times.ops[0xabcdef0123456789] = {"relu", 0};
  return times;
}

TEST(OpTimes, AreAFileAndBack) {
  const OpTimes times = TwoTimes();
  const std::string text = OpTimesJson(times);
  EXPECT_EQ(text, R"({
  "ampc-profile": 1,
  "device": "avx512_bf16",
  "ops": [
    {"op": "conv2d", "key": "0000000000000001", "fp32": 1.5e-05, "bf16": 7e-06},
    {"op": "relu", "key": "abcdef0123456789", "fp32": 0}
  ]
}
)");
  const absl::StatusOr<OpTimes> back = ParseOpTimes(text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, times);
}

TEST(OpTimes, OfLaterRunsReplaceEarlierOnes) {
  OpTimes times = TwoTimes(), newer;
  newer.ops[1] = {"conv2d", 2e-5};
  newer.ops[2] = {"exp", 1e-6};
  times.Add(newer);
  EXPECT_EQ(times.ops.size(), 3);
  EXPECT_EQ(times.ops[1], newer.ops[1]);
}

TEST(OpTimes, SayWhatIsWrongInAFile) {
  const auto file = [](const std::string& ops) { return R"({"ampc-profile": 1, "device": "amx", "ops": [)" + ops + "]}"; };
  const std::pair<std::string, const char*> bad[] = {
      {"[1]", "'ampc-profile' needs to be 1"},
      {R"({"ampc-profile": 2})", "'ampc-profile' needs to be 1"},
      {R"({"ampc-profile": 1, "device": "amx"})", "'ops' needs to be an array"},
      {R"({"ampc-profile": 1, "ops": []})", "'device' needs to be a string"},
      {R"({"ampc-profile": 1, "device": "abacus", "ops": []})", "'device' is 'abacus', which is none"},
      {file("7"), "op 0: it needs to be an object"},
      {file(R"({"op": "x", "key": "12", "fp32": 1})"), "op 0: 'key' is '12', needs 16 hexadecimal digits"},
      {file(R"({"op": "x", "key": "000000000000000g", "fp32": 1})"), "op 0: 'key' is '000000000000000g', needs 16 hexadecimal digits"},
      {file(R"({"op": "x", "key": "0000000000000001"})"), "op 0: 'fp32' needs to be a number of seconds"},
      {file(R"({"op": "x", "key": "0000000000000001", "fp32": -1})"), "op 0: 'fp32' needs to be a number of seconds"},
      {file(R"({"op": "x", "key": "0000000000000001", "fp32": 1e300})"), "op 0: 'fp32' needs to be a number of seconds"},
      {file(R"({"op": "x", "key": "0000000000000001", "fp32": 1, "bf16": "fast"})"), "op 0: 'bf16' needs to be a number of seconds"},
      {file(R"({"op": "x", "key": "0000000000000001", "fp32": 1}, {"op": "y", "key": "0000000000000001", "fp32": 1})"),
       "op 1: 'key' 0000000000000001 is there twice"}};
  for (const auto& [text, message] : bad) EXPECT_EQ(ParseOpTimes(text).status().message(), message) << text;
}

// Three ops over rows of this length, whose values and weights have these names.
Program Chain(int length, const std::string& x, const std::string& y) {
  const std::string type = " : f32 [4, " + std::to_string(length) + "]\n";
  return testing::BareProgram("feed " + x + type + "a" + y + " = exp(" + x + ")" + type + "b" + y + " = tanh(a" + y + ")" + type + "c" + y +
                              " = sigmoid(b" + y + ")" + type + "fetch c" + y + "\n");
}

TEST(OpTimes, FindAnOpOfAnotherModelByWhatItIs) {
  const Program program = Chain(64, "x", ""), other = Chain(64, "image", "_1"), larger = Chain(65, "x", "");
  const ProgramSizes sizes = SizesOf(program, program);
  const std::vector<uint64_t> keys = SizedKeys(program, sizes);
  OpTimes times;
  for (int i = 0; i < 3; ++i) times.ops[keys[program.main().ops()[i]->id()]] = {"op", 1.0 + i, std::nullopt, 0.5 + i};
  EXPECT_EQ(times.ops.size(), 3);

  ProgramSizes found = SizesOf(other, other);
  EXPECT_EQ(UseTimes(times, other, DType::kBF16, &found), 3);
  const DeviceNumbers& device = *FindDeviceNumbers("avx512_bf16");
  const TimeModel model(other, &found, device, DType::kBF16);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(model.OpSeconds(*other.main().ops()[i], false), 1.0 + i);
    EXPECT_EQ(model.OpSeconds(*other.main().ops()[i], true), 0.5 + i);
  }
  ProgramSizes none = SizesOf(larger, larger);
  EXPECT_EQ(UseTimes(times, larger, DType::kBF16, &none), 0);
}

// An op that was not measured in the low type is as much faster as its work says.
TEST(OpTimes, TakeTheRatioOfWhatTheyDoNotHave) {
  const Program program =
      testing::BareProgram("feed x : f32 [512, 512]\nparam w : f32 [512, 512]\ny = matmul_v2(x, w) : f32 [512, 512]\nfetch y\n");
  const Op& op = *program.main().ops()[0];
  ProgramSizes sizes = SizesOf(program, program);
  const DeviceNumbers& device = *FindDeviceNumbers("cuda:8.0");
  const TimeModel worked_out(program, &sizes, device, DType::kF16);
  const double ratio = worked_out.OpSeconds(op, true) / worked_out.OpSeconds(op, false);
  EXPECT_LT(ratio, 1);
  OpTimes times;
  times.ops[SizedKeys(program, sizes)[op.id()]] = {"matmul_v2", 3};
  ProgramSizes measured = sizes;
  EXPECT_EQ(UseTimes(times, program, DType::kF16, &measured), 1);
  EXPECT_DOUBLE_EQ(TimeModel(program, &measured, device, DType::kF16).OpSeconds(op, true), 3 * ratio);
}

}  // namespace
}  // namespace ampc
