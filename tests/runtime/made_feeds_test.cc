// The feeds that are made for models.
#include "runtime/made_feeds.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testlib/bare_program.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Lt;

MadeFeeds Made(const Program& program, const MadeFeedOptions& options = {}) {
  absl::StatusOr<MadeFeeds> made = MakeFeeds(program, options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *std::move(made) : MadeFeeds();
}

constexpr char kText[] = R"(
feed  input_ids : i64 [batch, sequence]
feed  attention_mask : i64 [batch, sequence]
feed  token_type_ids : i64 [batch, sequence]
param table : f32 [100, 8]
const more : i64 [1] = [2]
moved = unsqueeze2(input_ids) axes=[2] : i64 [batch, sequence, 1]
back = squeeze2(moved) axes=[2] : i64 [batch, sequence]
words = lookup_table_v2(W=table, Ids=back) : f32 [batch, sequence, 8]
m = cast(attention_mask) in_dtype=i64 out_dtype=f32 : f32 [batch, sequence]
t = cast(token_type_ids) in_dtype=i64 out_dtype=f32 : f32 [batch, sequence]
fetch words, m, t
)";

TEST(MadeFeeds, OfTextAreIdsWithinTheTableAndMasks) {
  const Program program = testing::BareProgram(kText);
  const MadeFeeds made = Made(program);
  EXPECT_THAT(made.kinds, ElementsAre("input_ids: ids below 100, [1, 32]", "attention_mask: a mask of ones, [1, 32]",
                                      "token_type_ids: zeros, [1, 32]"));
  EXPECT_THAT(made.feeds.at("input_ids").values<int64_t>(), AllOf(Each(Ge(0)), Each(Lt(100)), Contains(Ge(50))));
  EXPECT_THAT(made.feeds.at("attention_mask").values<int64_t>(), Each(1));
  EXPECT_THAT(Made(program, {.run = 1}).feeds.at("attention_mask").values<int64_t>(), AllOf(Contains(0), Contains(1)));
}

// A position is a row of a table of positions: each once, in order.
TEST(MadeFeeds, OfPositionsCount) {
  const Program program = testing::BareProgram(R"(
feed  position_ids : i64 [batch, 6]
param table : f32 [6, 8]
words = lookup_table_v2(W=table, Ids=position_ids) : f32 [batch, 6, 8]
fetch words
)");
  const MadeFeeds made = Made(program);
  EXPECT_THAT(made.kinds, ElementsAre("position_ids: positions, [1, 6]"));
  EXPECT_THAT(made.feeds.at("position_ids").values<int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

// An axis that the table lacks: inference refuses it later.
TEST(MadeFeeds, OfAnAxisOutOfRangeAreMadeNevertheless) {
  for (const char* axis : {"-9", "-9223372036854775808l", "7", "9223372036854775807l"}) {
    const Program program = testing::BareProgram(absl::StrCat(
        "feed ids : i64 [4]\nparam table : f32 [10, 8]\ng = gather(X=table, Index=ids) axis=", axis, " : f32 [4, 8]\nfetch g\n"));
    EXPECT_THAT(Made(program).kinds, ElementsAre("ids: integers below 10, [4]")) << axis;
  }
}

TEST(MadeFeeds, AreTheSameForTheSameSeed) {
  const Program program = testing::BareProgram(kText);
  EXPECT_EQ(Made(program).feeds, Made(program).feeds);
  EXPECT_NE(Made(program).feeds, Made(program, {.seed = 1}).feeds);
  EXPECT_NE(Made(program).feeds, Made(program, {.run = 2}).feeds);
}

TEST(MadeFeeds, OfImagesHaveTheRangeThatTheModelBringsToItsOwn) {
  const Program plain = testing::BareProgram(R"(
feed  x : f32 [?, 3, ?, ?]
param w : f32 [4, 3, 3, 3]
conv2d(Input=x, Filter=w) -> Output=y : f32 [?, 4, ?, ?]
fetch y
)");
  EXPECT_THAT(Made(plain).kinds, ElementsAre("x: an image in 0..1, [1, 3, 224, 224]"));
  EXPECT_THAT(Made(plain).feeds.at("x").values<float>(), AllOf(Each(Ge(0.0f)), Each(Le(1.0f)), Contains(Ge(0.9f))));
  EXPECT_THAT(Made(plain, {.run = 1}).kinds, ElementsAre("x: an image in -1..1, [1, 3, 224, 224]"));
  EXPECT_THAT(Made(plain, {.size = 1}).kinds, ElementsAre("x: an image in 0..1, [1, 3, 48, 320]"));
  for (const char* op : {"y = elementwise_sub(x, m)", "y = scale(x) scale=0.00392", "y = elementwise_div(x, m)"}) {
    const Program pixels = testing::BareProgram(
        absl::StrCat("feed x : f32 [1, 3, 32, 32]\nconst m : f32 [1] = [123.7]\n", op, " : f32 [1, 3, 32, 32]\nfetch y\n"));
    EXPECT_THAT(Made(pixels).kinds, ElementsAre("x: an image in 0..255, [1, 3, 32, 32]")) << op;
    EXPECT_THAT(Made(pixels).feeds.at("x").values<float>(), AllOf(Each(Le(255.0f)), Contains(Ge(200.0f))));
  }
}

// Wherever the channels lie and however large it is: dark letters on light paper, which all channels have at the same places.
TEST(MadeFeeds, OfImagesArePagesWithLetters) {
  for (const int64_t height : {1, 7, 16, 48, 100, 224, 333}) {
    for (const bool channels_last : {false, true}) {
      const std::string dims = channels_last ? absl::StrCat("[1, ", height, ", 200, 3]") : absl::StrCat("[1, 3, ", height, ", 200]");
      const Program program = testing::BareProgram(
          absl::StrCat("feed x : f32 ", dims, "\nconst m : f32 [1] = [123.7]\ny = elementwise_sub(x, m) : f32 ", dims, "\nfetch y\n"));
      const HostTensor made = Made(program).feeds.at("x");
      const absl::Span<const float> values = made.values<float>();
      const size_t places = static_cast<size_t>(height) * 200;
      const auto at = [&](size_t place, size_t channel) { return values[channels_last ? place * 3 + channel : channel * places + place]; };
      size_t dark = 0, flat = 0;
      for (size_t i = 0; i < places; ++i) {
        EXPECT_NEAR(at(i, 0), at(i, 1), 27) << dims;
        EXPECT_NEAR(at(i, 0), at(i, 2), 27) << dims;
        dark += at(i, 0) < 100 ? 1 : 0;
        flat += i % 200 == 0 || std::abs(at(i, 0) - at(i - 1, 0)) < 30 ? 1 : 0;
      }
      EXPECT_TRUE(height < 16 || dark > places / 20) << dims;
      EXPECT_LT(dark, places / 2) << dims;
      EXPECT_GT(flat, places / 2) << dims;
    }
  }
}

TEST(MadeFeeds, OfSpeechAreAudioStateAndRate) {
  const Program program = testing::BareProgram(R"(
feed  input : f32 [batch, ?]
feed  state : f32 [2, batch, 128]
feed  sr : i64 []
param w : f32 [4, 1, 16]
wide = unsqueeze2(input) axes=[1] : f32 [batch, 1, ?]
y = onnx.Conv.11(wide, w) : f32 [batch, 4, ?]
s = relu(state) : f32 [2, batch, 128]
fetch y, s, sr
)");
  const MadeFeeds made = Made(program);
  EXPECT_THAT(made.kinds, ElementsAre("input: audio, [1, 16000]", "state: zeros, [2, 1, 128]", "sr: 16000 samples a second, []"));
  EXPECT_THAT(made.feeds.at("input").values<float>(), AllOf(Each(Ge(-1.0f)), Each(Le(1.0f)), Contains(Ge(0.3f)), Contains(Le(-0.3f))));
}

TEST(MadeFeeds, HaveTheDimsThatAreAskedFor) {
  const Program program = testing::BareProgram(kText);
  const MadeFeeds made = Made(program, {.dims = {{"input_ids", {2, 5}}}});
  EXPECT_THAT(made.feeds.at("attention_mask").dims(), ElementsAre(2, 5));
  EXPECT_THAT(MakeFeeds(program, {.dims = {{"ids", {2, 5}}}}).status().message(),
              HasSubstr("found dims of 'ids', needed one of the feeds 'input_ids'"));
  EXPECT_THAT(MakeFeeds(program, {.dims = {{"input_ids", {2}}}}).status().message(),
              HasSubstr("feed 'input_ids' is i64 [?, ?], found dims [2]"));
}

// The values of feeds of all types fit.
TEST(MadeFeeds, HaveTheTypesOfTheModel) {
  for (const char* type : {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}) {
    const Program program = testing::BareProgram(absl::StrCat("feed x : ", type, " [3, ?]\nfetch x\n"));
    const MadeFeeds made = Made(program);
    EXPECT_EQ(made.feeds.at("x").dtype(), program.feeds[0]->type.dtype) << type;
    EXPECT_EQ(made.feeds.at("x").num_elements(), 96) << type;
  }
  const Program complex = testing::BareProgram("feed x : c64 [3]\nfetch x\n");
  EXPECT_THAT(MakeFeeds(complex).status().message(), HasSubstr("no values can be made for feed 'x'"));
}

}  // namespace
}  // namespace ampc
