// Known hazards of f16, each in the spellings of Paddle and of ONNX: the ops that it is made of stay fp32, by a rule of protect.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/status_macros.h"
#include "passes/amp/decide/decision.h"
#include "passes/analysis/target_support.h"
#include "passes/pipeline.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr char kImage[] = "f32 [1, 3, 32, 32]", kPixel[] = "f32 [1, 3, 1, 1]", kHalf[] = "f32 [1, 3, 16, 16]";
constexpr char kConv[] =
    "const w : f32 [4, 3, 3, 3] = 0.05\ny = conv2d(Input=d, Filter=w) strides=[1, 1] paddings=[1, 1] dilations=[1, 1] : "
    "f32 [1, 4, 32, 32]\nfetch y\n";

// The values whose ops compute low.
absl::StatusOr<std::set<std::string>> LowValues(const std::string& text) {
  AMPC_ASSIGN_OR_RETURN(Program program, testing::ParseBare(text));
  PassContext ctx;
  AMPC_ASSIGN_OR_RETURN(ctx.support, TargetSupport("cuda"));
  AMPC_ASSIGN_OR_RETURN(const Pipeline pipeline, Pipeline::Parse("infer-types,protect,amp-decide"));
  AMPC_RETURN_IF_ERROR(RunPipeline(pipeline, {}, ctx, program));
  std::set<std::string> low;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.outputs()) {
      if (ctx.Find<AmpDecision>()->For(op).low) low.insert(var->name());
    }
  });
  return low;
}

void ExpectFp32(const std::string& text, const std::vector<std::string>& values) {
  const absl::StatusOr<std::set<std::string>> low = LowValues(text);
  ASSERT_OK(low.status()) << text;
  for (const std::string& value : values) EXPECT_FALSE(low->contains(value)) << value << " is low:\n" << text;
}

// $ stands for the operand.
std::string Made(const std::string& result, absl::string_view form, const std::string& operand, const std::string& type) {
  return absl::StrCat(result, " = ", absl::StrReplaceAll(form, {{"$", operand}}), " : ", type, "\n");
}

TEST(Hazards, ExponentialsThatAreMultiplied) {
  const std::string feeds = "feed a : f32 [4, 8]\nfeed b : f32 [4, 8]\n";
  for (const char* exp : {"exp($)", "onnx.Exp.13($)"}) {
    for (const char* product : {"elementwise_mul(e, f)", "elementwise_mul(f, e)", "onnx.Mul.14(e, f)"}) {
      const std::string text = feeds + Made("e", exp, "a", "f32 [4, 8]") + Made("f", exp, "b", "f32 [4, 8]");
      ExpectFp32(text + Made("s", product, "", "f32 [4, 8]") + "fetch s\n", {"e", "f", "s"});
      const std::string scaled = Made("g", "scale($) scale=30.0", "f", "f32 [4, 8]") + Made("s", "elementwise_mul(e, g)", "", "f32 [4, 8]");
      ExpectFp32(text + scaled + "fetch s\n", {"e", "f", "s"});
    }
  }
}

struct Surroundings {
  std::string text;  // makes p of x
  std::string type;  // of p
};

std::vector<Surroundings> OwnSurroundings() {
  const std::string blur = "const g : f32 [3, 1, 3, 3] = 0.1111111\n";
  std::vector<Surroundings> all;
  for (const char* form :
       {"pool2d($) pooling_type=\"avg\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]",
        "pool2d($) pooling_type=\"max\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]",
        "onnx.AveragePool.11($) kernel_shape=[3, 3] pads=[1, 1, 1, 1]", "onnx.MaxPool.12($) kernel_shape=[3, 3] pads=[1, 1, 1, 1]"}) {
    all.push_back({Made("p", form, "x", kImage), kImage});
  }
  all.push_back(
      {blur + Made("p", "depthwise_conv2d(Input=$, Filter=g) strides=[1, 1] paddings=[1, 1] dilations=[1, 1] groups=3", "x", kImage),
       kImage});
  all.push_back({blur + Made("p", "onnx.Conv.11($, g) pads=[1, 1, 1, 1] group=3", "x", kImage), kImage});
  for (const char* form : {"pool2d($) pooling_type=\"avg\" ksize=[1, 1] global_pooling=true", "reduce_mean($) dim=[2, 3] keep_dim=true",
                           "onnx.GlobalAveragePool.1($)", "onnx.ReduceMean.13($) axes=[2, 3] keepdims=1"}) {
    all.push_back({Made("p", form, "x", kPixel), kPixel});
  }
  const std::string smaller[] = {Made("q", "pool2d($) pooling_type=\"avg\" ksize=[2, 2] strides=[2, 2]", "x", kHalf),
                                 Made("q", "onnx.AveragePool.11($) kernel_shape=[2, 2] strides=[2, 2]", "x", kHalf)};
  for (const std::string& half : smaller) {
    all.push_back(
        {half + Made("p", "bilinear_interp_v2($) out_h=32 out_w=32 interp_method=\"bilinear\" align_corners=false", "q", kImage), kImage});
    all.push_back(
        {half + Made("p", "nearest_interp_v2($) out_h=32 out_w=32 interp_method=\"nearest\" align_corners=false", "q", kImage), kImage});
    all.push_back({"const sc : f32 [4] = f32 [1.0, 1.0, 2.0, 2.0]\n" + half +
                       Made("p", "onnx.Resize.13(X=$, scales=sc) mode=\"linear\"", "q", kImage),
                   kImage});
  }
  return all;
}

TEST(Hazards, AnImageLessItsOwnSurroundings) {
  for (const Surroundings& own : OwnSurroundings()) {
    const std::string less[] = {
        Made("d", "elementwise_sub(x, p)", "", kImage),
        Made("d", "elementwise_sub(p, x)", "", kImage),
        Made("d", "onnx.Sub.14(x, p)", "", kImage),
        Made("m", "onnx.Neg.13(p)", "", own.type) + Made("d", "onnx.Add.14(x, m)", "", kImage),
        Made("m", "scale(p) scale=-1.0", "", own.type) + Made("d", "elementwise_add(x, m)", "", kImage),
        "const n : f32 [] = -1.0\n" + Made("m", "elementwise_mul(p, n)", "", own.type) + Made("d", "elementwise_add(m, x)", "", kImage),
    };
    for (const std::string& difference : less) ExpectFp32(absl::StrCat("feed x : ", kImage, "\n", own.text, difference, kConv), {"d", "p"});
  }
}

// A large number taken from an image is the same; a small one is not.
TEST(Hazards, AnImageLessALargeNumber) {
  const std::string feed = absl::StrCat("feed x : ", kImage, "\nconst k : f32 [] = 123.7\n");
  const std::string large[] = {
      Made("d", "elementwise_sub(x, k)", "", kImage),
      Made("d", "onnx.Sub.14(x, k)", "", kImage),
      Made("d", "scale(x) scale=1.0 bias=-123.7", "", kImage),
      Made("d", "scale(x) scale=0.017 bias=-2.1", "", kImage),
      Made("d", "scale(x) scale=0.017 bias=-123.7 bias_after_scale=false", "", kImage),
      Made("a", "scale(x) scale=0.5", "", kImage) + Made("d", "scale(a) bias=-60.0", "", kImage),
  };
  for (const std::string& difference : large) ExpectFp32(feed + difference + kConv, {"d"});
  for (const char* form : {"scale(x) scale=0.0039", "scale(x) scale=2.0 bias=-1.0", "elementwise_mul(x, k)"}) {
    const absl::StatusOr<std::set<std::string>> low = LowValues(feed + Made("d", form, "", kImage) + kConv);
    ASSERT_OK(low.status());
    EXPECT_TRUE(low->contains("d")) << form;
  }
}

TEST(Hazards, VariancesInWindows) {
  struct Spelling {
    const char *pool, *square, *product, *difference;
  };
  const std::string window = "pool2d($) pooling_type=\"avg\" ksize=[3, 3] strides=[1, 1] paddings=[1, 1]";
  const Spelling spellings[] = {
      {window.c_str(), "elementwise_mul($, $)", "elementwise_mul(m, m)", "elementwise_sub(e, r)"},
      {window.c_str(), "square($)", "square(m)", "elementwise_sub(e, r)"},
      {window.c_str(), "pow($) factor=2.0", "pow(m) factor=2.0", "elementwise_sub(e, r)"},
      {"onnx.AveragePool.11($) kernel_shape=[3, 3] pads=[1, 1, 1, 1]", "onnx.Mul.14($, $)", "onnx.Mul.14(m, m)", "onnx.Sub.14(e, r)"},
      {"onnx.AveragePool.11($) kernel_shape=[3, 3] pads=[1, 1, 1, 1]", "onnx.Pow.13($, two)", "onnx.Pow.13(m, two)", "onnx.Sub.14(e, r)"},
  };
  for (const Spelling& s : spellings) {
    ExpectFp32(absl::StrCat("feed x : ", kImage, "\nconst two : f32 [] = 2.0\nconst c : f32 [] = 0.0009\n", Made("m", s.pool, "x", kImage),
                            Made("q", s.square, "x", kImage), Made("e", s.pool, "q", kImage), Made("r", s.product, "", kImage),
                            Made("v", s.difference, "", kImage), Made("n", "elementwise_add(v, c)", "", kImage),
                            Made("y", "elementwise_div(r, n)", "", kImage), "fetch y\n"),
               {"q", "e", "r", "v"});
  }
}

TEST(Hazards, VariancesWithWeights) {
  const std::string feeds = "feed h : f32 [2, 16, 50]\nfeed l : f32 [2, 16, 50]\n", row = "f32 [2, 16, 50]", one = "f32 [2, 16]";
  const std::string weights[] = {Made("a", "softmax(l) axis=-1", "", row), Made("a", "onnx.Softmax.13(l) axis=2", "", row)};
  const std::string means[] = {
      Made("w", "elementwise_mul(a, h)", "", row) + Made("m", "reduce_sum(w) dim=[2]", "", one) + Made("q", "square(h)", "", row) +
          Made("u", "elementwise_mul(a, q)", "", row) + Made("e", "reduce_sum(u) dim=[2]", "", one) + Made("r", "square(m)", "", one) +
          Made("v", "elementwise_sub(e, r)", "", one),
      Made("w", "onnx.Mul.14(a, h)", "", row) + Made("m", "onnx.ReduceSum.11(w) axes=[2] keepdims=0", "", one) +
          Made("u", "onnx.Mul.14(w, h)", "", row) + Made("e", "onnx.ReduceSum.11(u) axes=[2] keepdims=0", "", one) +
          Made("r", "onnx.Mul.14(m, m)", "", one) + Made("v", "onnx.Sub.14(e, r)", "", one),
  };
  for (const std::string& softmax : weights) {
    for (const std::string& mean : means) {
      for (const char* end : {"clip(v) min=1e-4 max=1e4", "onnx.Relu.14(v)"}) {
        ExpectFp32(feeds + softmax + mean + Made("k", end, "", one) + Made("y", "sqrt(k)", "", one) + "fetch y\n",
                   {"e", "r", "v", "m", "u"});
      }
    }
  }
}

}  // namespace
}  // namespace ampc
