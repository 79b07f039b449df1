// ampc run and compare on pictures.
#include <stb/stb_image_write.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

class PictureTest : public CliTest {
 protected:
  // NAME.prog gives back its feed.
  void Echo(const std::string& name, const std::string& type) const {
    Write(name + ".prog",
          absl::StrCat("program p version=1\n\nblock main {\nfeed x : ", type, "\ny = assign(x) : ", type, "\nfetch y\n}\n"));
  }
  std::string Path(const std::string& name) const { return folder_ / name; }
  HostTensor Run(const std::string& model, std::vector<std::string> args) const {
    args.insert(args.begin(), {"run", model, "-o", "out.npz"});
    Ok(args);
    return ReadArchive("out.npz").at("y");
  }
  static std::vector<float> Floats(const HostTensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }

  // Two rows of three pixels.
  const std::vector<uint8_t> pixels_ = {0, 51, 102, 153, 204, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90, 255, 0, 255};
};

std::vector<float> Scaled(const std::vector<int>& values) {
  std::vector<float> out;
  for (const int value : values) out.push_back(static_cast<float>(value / 255.0));
  return out;
}

TEST_F(PictureTest, ChannelsComeWhereTheModelHasThem) {
  ASSERT_TRUE(stbi_write_png(Path("p.png").c_str(), 3, 2, 3, pixels_.data(), 0));
  ASSERT_TRUE(stbi_write_bmp(Path("p.bmp").c_str(), 3, 2, 3, pixels_.data()));
  Echo("nchw", "f32 [?, 3, ?, ?]");
  Echo("nhwc", "f32 [1, 2, 3, 3]");  // not channels of the second dim: those would be 2
  Echo("hwc", "f32 [?, ?, 3]");
  const std::vector<int> rows(pixels_.begin(), pixels_.end());
  const std::vector<int> planes = {0, 153, 10, 40, 70, 255, 51, 204, 20, 50, 80, 0, 102, 255, 30, 60, 90, 255};
  for (const std::string picture : {"p.png", "p.bmp"}) {
    const HostTensor first = Run("nchw.prog", {"x=" + picture});
    EXPECT_THAT(first.dims(), ElementsAre(1, 3, 2, 3));
    EXPECT_THAT(Floats(first), Pointwise(FloatNear(1e-6f), Scaled(planes)));
    const HostTensor last = Run("nhwc.prog", {picture});
    EXPECT_THAT(Floats(last), Pointwise(FloatNear(1e-6f), Scaled(rows)));
    const HostTensor bare = Run("hwc.prog", {picture});
    EXPECT_THAT(bare.dims(), ElementsAre(2, 3, 3));
    EXPECT_EQ(Floats(bare), Floats(last));
  }
}

TEST_F(PictureTest, IsNormalizedByChannel) {
  const uint8_t pixel[] = {51, 102, 204};
  ASSERT_TRUE(stbi_write_png(Path("p.PNG").c_str(), 1, 1, 3, pixel, 0));
  Echo("m", "f32 [1, 3, 1, 1]");
  EXPECT_THAT(Floats(Run("m.prog", {"p.PNG", "--mean", "0.1,0.2,0.4", "--std", "0.5,0.25,2"})),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.2f, 0.8f, 0.2f}));
  EXPECT_THAT(Floats(Run("m.prog", {"p.PNG", "--mean", "0.2", "--channels", "bgr"})),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.6f, 0.2f, 0}));
  Echo("bytes", "u8 [1, 1, 1, 3]");
  EXPECT_THAT(Run("bytes.prog", {"p.PNG", "--channels", "BGR"}).values<uint8_t>(), ElementsAre(204, 102, 51));
  Echo("grey", "f32 [1, 1, 1, 1]");
  EXPECT_EQ(Run("grey.prog", {"p.PNG"}).num_elements(), 1);
  Echo("half", "f16 [1, 3, 1, 1]");
  EXPECT_EQ(Run("half.prog", {"p.PNG"}).dtype(), DType::kF16);
}

TEST_F(PictureTest, IsScaledToTheFeed) {
  const std::vector<uint8_t> grey(7 * 5 * 3, 102);
  ASSERT_TRUE(stbi_write_jpg(Path("p.jpg").c_str(), 7, 5, 3, grey.data(), 100));
  Echo("fixed", "f32 [1, 3, 4, 9]");
  EXPECT_THAT(Floats(Run("fixed.prog", {"p.jpg"})), Pointwise(FloatNear(0.005f), std::vector<float>(108, 0.4f)));
  Echo("open", "f32 [?, ?, ?, ?]");
  EXPECT_THAT(Run("open.prog", {"x=p.jpg", "--dims", "x=1,8,9,3"}).dims(), ElementsAre(1, 8, 9, 3));
  Ok({"compare", "fixed.prog", "fixed.prog", "p.jpg", "--mean", "0.5"});
}

// Pictures are feeds wherever files are.
TEST_F(PictureTest, CalibratesAndTunes) {
  const std::vector<uint8_t> dark(16, 0), bright(16, 255);
  ASSERT_TRUE(stbi_write_png(Path("dark.png").c_str(), 4, 4, 1, dark.data(), 0));
  ASSERT_TRUE(stbi_write_png(Path("bright.png").c_str(), 4, 4, 1, bright.data(), 0));
  MakeModel("conv", kConvNet);
  Ok({"convert", "conv.pdmodel", "-o", "low.pdmodel", "--calibrate", "image=dark.png", "--calibrate", "bright.png", "--mean", "0.5",
      "--std", "0.25", "--save-ranges", "r.json"});
  EXPECT_THAT(Read("r.json"), ::testing::HasSubstr("\"image\""));
  EXPECT_THAT(Ok({"tune", "conv.pdmodel", "dark.png", "bright.png", "--mean", "0.5", "--budget", "0.1", "--goal", "flops"}),
              ::testing::HasSubstr("1 input decides, 1 held back"));
  Ok({"explain", "conv.pdmodel", "--calibrate", "bright.png"});
  Ok({"bench", "conv.pdmodel", "--input", "bright.png"});
  ExpectFailure({"convert", "conv.pdmodel", "-o", "x.pdmodel", "--calibrate", "bright.png", "--std", "0"}, 2,
                "--std has 0, a number above 0");
  ExpectFailure({"convert", "conv.pdmodel", "-o", "x.pdmodel", "--std", "1"}, 2, "--std is for pictures (photo.jpg), and there is none");
  ExpectFailure({"tune", "conv.pdmodel", "--random", "--mean", "1"}, 2, "--mean is for pictures");
  EXPECT_FALSE(Files().contains("x.pdmodel"));
}

TEST_F(PictureTest, FilesAndOptionsThatDoNotFit) {
  ASSERT_TRUE(stbi_write_png(Path("p.png").c_str(), 3, 2, 3, pixels_.data(), 0));
  Write("cut.png", Read("p.png").substr(0, 40));
  Write("text.jpg", "a text");
  Write("empty.bmp", "");
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({1, 3, 1, 1}, {1, 2, 3})}});
  Echo("m", "f32 [1, 3, 2, 3]");
  Echo("open", "f32 [?, ?, ?, ?]");
  Echo("bytes", "u8 [1, 3, 2, 3]");
  Echo("ids", "i64 [1, 3, 2, 3]");
  Echo("flat", "f32 [1, 18]");
  Echo("many", "f32 [8, 3, 2, 3]");
  Write("two.prog",
        "program p version=1\n\nblock main {\nfeed x : f32 [1, 3, 2, 3]\nfeed z : f32 [2]\ny = assign(x) : f32 [1, 3, 2, 3]\n"
        "fetch y\nfetch z\n}\n");
  const struct {
    int code;
    std::vector<std::string> args;
    std::string part;
  } cases[] = {
      {3, {"m.prog", "none.png"}, "none.png: no such file"},
      {3, {"m.prog", "cut.png"}, "cut.png: not a picture that can be read (JPEG, PNG, BMP)"},
      {3, {"m.prog", "text.jpg"}, "text.jpg: not a picture that can be read (JPEG, PNG, BMP)"},
      {3, {"m.prog", "empty.bmp"}, "empty.bmp: not a picture that can be read"},
      {2, {"open.prog", "p.png"}, "needs 1 or 3 channels, first or last; --dims x=1,3,224,224 says which"},
      {2, {"open.prog", "p.png", "--dims", "x=1,3,0,4"}, "a picture has 1 to 65536 rows and columns"},
      {2, {"open.prog", "p.png", "--dims", "x=1,3,100000,4"}, "a picture has 1 to 65536 rows and columns"},
      {2, {"ids.prog", "p.png"}, "needs a float type or u8"},
      {2, {"flat.prog", "p.png"}, "needs 3 or 4 dims"},
      {2, {"many.prog", "p.png"}, "needs a batch of 1"},
      {2, {"two.prog", "p.png"}, "say which: NAME=p.png with NAME one of 'x', 'z'"},
      {2, {"two.prog", "y=p.png"}, "the model has no feed 'y'"},
      {2, {"m.prog", "p.png", "--mean", "1,2"}, "--mean has 2 numbers, feed 'x' needs 1 or 3"},
      {2, {"m.prog", "p.png", "--std", "0"}, "--std has 0, a number above 0 is needed"},
      {2, {"m.prog", "p.png", "--mean", "white"}, "--mean: found 'white', needed a number"},
      {2, {"m.prog", "p.png", "--channels", "rbg"}, "--channels"},
      {2, {"m.prog", "p.png", "--seed", "1"}, "--seed is for --random"},
      {2, {"bytes.prog", "p.png", "--std", "2"}, "--mean and --std are for floats"},
      {2, {"m.prog", "in.npz", "--mean", "1"}, "--mean is for pictures"},
      {2, {"m.prog", "--random", "--channels", "RGB"}, "--channels is for pictures"},
  };
  for (const auto& [code, args, part] : cases) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), args.begin(), args.end());
    SCOPED_TRACE(absl::StrCat(args[0], " ", args[1], args.size() > 2 ? args[2] : ""));
    ExpectFailure(words, code, part);
  }
}

}  // namespace
}  // namespace ampc::testing
