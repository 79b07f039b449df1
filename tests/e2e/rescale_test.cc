// ampc convert --rescale: weights beyond the range of a half, and too small for it, that what stands behind brings back.
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"
#include "tests/formats/onnx/model.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

// A convolution of large weights with a batch norm, and a product of small ones with a factor. Scaled, all low values are exact in a half,
// so that strip has all bits.
constexpr char kScaled[] = R"(program scaled version=1

block main {
  feed  x : f32 [1, 1, 2, 2]
  param w : f32 [1, 1, 1, 1] = 3145728.0
  param scale : f32 [1] = 0.7
  param bias : f32 [1] = 0.1
  param mean : f32 [1] = 123456.0
  param variance : f32 [1] = 8796093022208.0
  param u : f32 [2, 2] = 4.656613e-10
  param b : f32 [2] = 1.3969838619232178e-09
  param f : f32 [2] = 1073741824.0
  conv2d(Input=x, Filter=w) -> Output=c strides=[1, 1] paddings=[0, 0] dilations=[1, 1] : f32 [1, 1, 2, 2]
  batch_norm(X=c, Scale=scale, Bias=bias, Mean=mean, Variance=variance) -> Y=n is_test=true : f32 [1, 1, 2, 2]
  h = matmul_v2(n, u) : f32 [1, 1, 2, 2]
  a = elementwise_add(h, b) : f32 [1, 1, 2, 2]
  r = relu(a) : f32 [1, 1, 2, 2]
  y = elementwise_mul(r, f) : f32 [1, 1, 2, 2]
  fetch y
}
)";

onnx::ModelProto ScaledOnnx() {
  onnx::ModelProto model = NewModel(17);
  GraphBuilder g(model.mutable_graph());
  g.In("x", {1, 1, 2, 2});
  g.Initializer("w", {1, 1, 1, 1}, {3145728});
  g.Initializer("scale", {1}, {0.7f});
  g.Initializer("bias", {1}, {0.1f});
  g.Initializer("mean", {1}, {123456});
  g.Initializer("variance", {1}, {8796093022208.0f});
  g.Initializer("u", {2, 2}, std::vector<float>(4, 0x1p-31f));
  g.Constant("b", kOnnxF32, {2}, RawBytes<float>({0x3p-31f, 0x3p-31f}));
  g.Initializer("f", {2}, {0x1p30f, 0x1p30f});
  g.Node("Conv", {"x", "w"}, {"c"});
  g.Node("BatchNormalization", {"c", "scale", "bias", "mean", "variance"}, {"n"});
  g.Node("MatMul", {"n", "u"}, {"h"});
  g.Node("Add", {"h", "b"}, {"a"});
  g.Node("Relu", {"a"}, {"r"});
  g.Node("Mul", {"r", "f"}, {"y"});
  g.Out("y", {1, 1, 2, 2});
  return model;
}

class RescaleTest : public CliTest {
 protected:
  void MakeFeeds() const {
    HostTensor x = HostTensor::Of<float>({1, 1, 2, 2}, {0.5f, 1.0f, 2.0f, 1.5f});
    WriteArchive("in.npz", {{"x", std::move(x)}});
  }
  // The largest distance from the results of the original, beside the largest of these.
  double Error(const std::string& original, const std::string& low) const {
    Ok({"run", original, "--input", "in.npz", "-o", "exact.npz"});
    Ok({"run", low, "--input", "in.npz", "-o", "low.npz", "--strict-rounding"});
    const HostTensor exact = ReadArchive("exact.npz").begin()->second, rounded = ReadArchive("low.npz").begin()->second;
    double error = 0, size = 0;
    for (int64_t i = 0; i < exact.num_elements(); ++i) {
      const double e = exact.values<float>()[i], r = rounded.values<float>()[i];
      error = std::isfinite(r) ? std::max(error, std::fabs(e - r)) : INFINITY;
      size = std::max(size, std::fabs(e));
    }
    return error / size;
  }
  // With everything low, the result without the option is far from right.
  void Check(const std::string& extension) const {
    MakeFeeds();
    const std::string original = "scaled" + extension, low = "low" + extension;
    Ampc({"convert", original, "-o", low, "--include", "*"});
    EXPECT_GT(Error(original, low), 0.1);
    const Outcome outcome = Ampc({"convert", original, "-o", low, "--rescale", "--include", "*"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("weight 'w', of which 3.14573e+06 is infinite in f16, is multiplied by 2^-22"));
    EXPECT_LT(Error(original, low), 3e-3);
    for (const char* folder : {"again", "back", "alone"})
      std::filesystem::create_directory(folder_ / folder);  // files name their weights' file
    ASSERT_EQ(Ampc({"convert", low, "-o", "again/" + low}).code, 0);
    EXPECT_EQ(Read("again/" + low), Read(low)) << "a second conversion changes nothing";
    Ok({"strip", low, "-o", "back/" + original, "--weights", original});
    EXPECT_EQ(Read("back/" + original), Read(original));
    Ampc({"strip", low, "-o", "alone/" + original});
    EXPECT_LT(Error(original, "alone/" + original), 1e-6) << "what strip alone leaves computes the same";
  }
};

TEST_F(RescaleTest, GivesARightAnswerInPaddlesFormat) {
  MakeModel("scaled", kScaled);
  Check(".pdmodel");
}

TEST_F(RescaleTest, GivesARightAnswerInOurFormat) {
  Write("text.prog", kScaled);
  Ok({"convert", "text.prog", "-o", "scaled.ampc", "--level", "O0"});
  Check(".ampc");
}

TEST_F(RescaleTest, GivesARightAnswerInOnnx) {
  WriteModel(folder_, ScaledOnnx(), "scaled.onnx");
  Check(".onnx");
}

TEST_F(RescaleTest, StripAloneGivesAllBitsOfWhatHalvesHold) {
  WriteModel(folder_, ScaledOnnx(), "scaled.onnx");
  Ampc({"convert", "scaled.onnx", "-o", "low.onnx", "--rescale"});
  Ampc({"strip", "low.onnx", "-o", "back.onnx"});
  EXPECT_EQ(Read("back.onnx"), Read("scaled.onnx"));
}

TEST_F(RescaleTest, IsRecordedAndHasNoPartInWhatContradictsIt) {
  MakeModel("scaled", kScaled);
  MakeModel("mlp", kMlp);
  ASSERT_EQ(Ampc({"convert", "mlp.pdmodel", "-o", "low.pdmodel"}).code, 0);
  ExpectFailure({"convert", "low.pdmodel", "-o", "o.pdmodel", "--rescale"}, 2, "was converted without --rescale");
  ExpectFailure({"convert", "scaled.pdmodel", "-o", "o.pdmodel", "--rescale", "--dtype", "bf16"}, 2, "--rescale contradicts --dtype bf16");
  ExpectFailure({"convert", "scaled.pdmodel", "-o", "o.pdmodel", "--rescale", "--level", "O0"}, 2, "--rescale needs --level");
  ExpectFailure({"convert", "scaled.pdmodel", "-o", "o.pdmodel", "--rescale", "--program-only"}, 2, "--rescale contradicts --program-only");
  ExpectFailure({"convert", "scaled.pdmodel", "-o", "o.pdmodel", "--rescale", "--ranges", "r.json"}, 2, "--rescale contradicts --ranges");
}

TEST_F(RescaleTest, LeavesAModelAsItIsOfWhichNothingBecomesLow) {
  MakeModel("scaled", kScaled);
  EXPECT_THAT(Ampc({"convert", "scaled.pdmodel", "-o", "low.pdmodel", "--rescale", "--exclude", "*"}).err,
              HasSubstr("nothing becomes low"));
  EXPECT_EQ(Read("low.pdmodel"), Read("scaled.pdmodel"));
  EXPECT_EQ(Read("low.pdiparams"), Read("scaled.pdiparams"));
}

}  // namespace
}  // namespace ampc::testing
