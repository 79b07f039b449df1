// The command line on ONNX models: every verb on a small one, and what goes wrong.
#include <filesystem>

#include "tests/e2e/cli.h"

namespace ampc::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kData[] = "tests/golden/onnx/";
constexpr double kFp16 = 2e-3, kBf16 = 2e-2, kFp32 = 1e-6;

class OnnxCliTest : public CliTest {
 protected:
  void SetUp() override {
    for (const char* name : {"small.onnx", "external.onnx", "external.data", "small_inputs_0.npz", "small_inputs_1.npz"}) {
      Write(name, ReadFile(kData + std::string(name)));
    }
  }
  // The folder's file with `from`, which it has, replaced by as many bytes everywhere.
  void WriteChanged(const std::string& name, const std::string& original, const std::string& from, const std::string& to) const {
    std::string bytes = Read(original);
    ASSERT_EQ(from.size(), to.size());
    ASSERT_NE(bytes.find(from), std::string::npos);
    for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size()) bytes.replace(at, to.size(), to);
    Write(name, bytes);
  }
  // Runs the model on both sets of feeds; the flag of the If is true in one of them.
  void ExpectOutputs(const std::string& model, double tolerance) const {
    for (const std::string k : {"0", "1"}) {
      Ok({"run", model, "--input", "small_inputs_" + k + ".npz", "-o", "out.npz"});
      const HostTensor got = ReadArchive("out.npz")["shares"], want = Golden("small_outputs_" + k + ".npz")["shares"];
      ASSERT_EQ(got.dims(), want.dims()) << model << " " << k;
      ASSERT_EQ(got.dtype(), DType::kF32);
      for (int64_t i = 0; i < want.num_elements(); ++i)
        EXPECT_NEAR(got.values<float>()[i], want.values<float>()[i], tolerance) << model << " " << k;
    }
  }
  std::map<std::string, HostTensor> Golden(const std::string& name) const {
    Write(name, ReadFile(kData + name));
    return ReadArchive(name);
  }
};

TEST_F(OnnxCliTest, RunGivesTheReferenceOutputs) {
  ExpectOutputs("small.onnx", kFp32);
  ExpectOutputs("external.onnx", kFp32);
}

TEST_F(OnnxCliTest, ConvertLowersProductsAndKeepsTheSignature) {
  for (const auto& [dtype, tolerance] : {std::pair{"fp16", kFp16}, std::pair{"bf16", kBf16}}) {
    for (const char* model : {"small.onnx", "external.onnx"}) {
      const JsonValue result = OkJson({"convert", model, "-o", "low.onnx", "--dtype", dtype});
      const JsonValue* after = result.Find("after");
      ASSERT_NE(after, nullptr);
      EXPECT_EQ(Number(*after, "low_flops_share"), 1) << model << dtype;
      EXPECT_EQ(Ok({"verify", "low.onnx"}).find("low.onnx: ok"), 0u);
      ExpectOutputs("low.onnx", tolerance);
      const JsonValue facts = OkJson({"inspect", "low.onnx"});
      EXPECT_EQ(Text(facts.Find("feeds")->items[0], "dtype"), "f32");
      EXPECT_EQ(Text(facts.Find("fetches")->items[0], "dtype"), "f32");
      EXPECT_GT(Number(facts, "low_ops"), 3);
    }
  }
}

TEST_F(OnnxCliTest, ConvertingTwiceChangesNothingAndStripTakesItBack) {
  for (const std::string model : {"small.onnx", "external.onnx"}) {
    Ok({"convert", model, "-o", "low.onnx", "--no-sync"});
    Ok({"convert", "low.onnx", "-o", "two.onnx", "--no-sync"});
    if (model == "small.onnx") {
      EXPECT_TRUE(Read("two.onnx") == Read("low.onnx"));
    } else {  // each names its own file of weights
      WriteChanged("two.onnx", "two.onnx", "two.onnx.data", "low.onnx.data");
      EXPECT_TRUE(Read("two.onnx") == Read("low.onnx"));
      EXPECT_TRUE(Read("two.onnx.data") == Read("low.onnx.data"));
    }
    Ok({"strip", "low.onnx", "-o", "back.onnx", "--weights", model, "--no-sync"});
    ExpectOutputs("back.onnx", kFp32);
    if (model == "small.onnx") {
      EXPECT_TRUE(Read("back.onnx") == Read(model));
    }
  }
}

TEST_F(OnnxCliTest, WeightsAreStoredLow) {
  const JsonValue result = OkJson({"convert", "small.onnx", "-o", "low.onnx"});
  EXPECT_LT(Number(result, "bytes_after"), Number(result, "bytes_before"));
  Ok({"convert", "external.onnx", "-o", "low.onnx"});
  EXPECT_LT(Read("low.onnx.data").size() * 10, Read("external.data").size() * 6);
}

TEST_F(OnnxCliTest, LevelO0Copies) {
  Ok({"convert", "small.onnx", "-o", "copy.onnx", "--level", "O0"});
  EXPECT_TRUE(Read("copy.onnx") == Read("small.onnx"));
}

TEST_F(OnnxCliTest, CompareShowsLayersByTheirNames) {
  Ok({"convert", "small.onnx", "-o", "low.onnx"});
  const std::string text = Ok({"compare", "small.onnx", "low.onnx", "--input", "small_inputs_0.npz", "--tolerance", "0.01", "--all"});
  for (const char* value : {"features", "logits", "shares"}) EXPECT_THAT(text, HasSubstr(value));
  const Outcome no = Ampc({"compare", "small.onnx", "low.onnx", "--input", "small_inputs_0.npz", "--tolerance", "1e-9"});
  EXPECT_EQ(no.code, 1);
}

TEST_F(OnnxCliTest, InspectVerifyDotAndOpt) {
  const std::string text = Ok({"inspect", "small.onnx"});
  for (const char* part : {"image : f32", "flag : bool", "shares : f32", "\nConv ", "\nIf "}) EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("onnx.")));
  EXPECT_THAT(Ok({"inspect", "small.onnx", "--text"}), HasSubstr("onnx.Softmax"));
  EXPECT_EQ(Number(OkJson({"inspect", "small.onnx"}), "blocks"), 3);
  EXPECT_EQ(Ok({"verify", "external.onnx"}).find("external.onnx: ok"), 0u);
  Ok({"dot", "small.onnx", "-o", "graph.dot"});
  EXPECT_THAT(Read("graph.dot"), HasSubstr("Conv"));
  Ok({"opt", "small.onnx", "--passes=dedup,drop-dead", "-o", "same.onnx"});
  ExpectOutputs("same.onnx", kFp32);
}

TEST_F(OnnxCliTest, ReportsNameNodes) {
  Ok({"convert", "small.onnx", "-o", "low.onnx", "--report", "report.json"});
  EXPECT_THAT(Read("report.json"), HasSubstr("logits"));
}

TEST_F(OnnxCliTest, SelectorsMeanNodesAndTypes) {
  Ok({"convert", "small.onnx", "-o", "low.onnx", "--exclude", "onnx.MatMul*"});
  const JsonValue some = OkJson({"inspect", "low.onnx"});
  EXPECT_LT(Number(some, "low_flops_share"), 1);
  EXPECT_GT(Number(some, "low_flops_share"), 0);
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--exclude", "logit"}, 2, "did you mean 'logits'?");
}

TEST_F(OnnxCliTest, SelectorsMeanNodesByTheirNames) {
  Ok({"convert", "small.onnx", "-o", "all.onnx"});
  Ok({"convert", "small.onnx", "-o", "value.onnx", "--exclude", "turned"});
  Ok({"convert", "small.onnx", "-o", "node.onnx", "--exclude", "yes_matmul"});
  const double all = Number(OkJson({"inspect", "all.onnx"}), "low_ops"), value = Number(OkJson({"inspect", "value.onnx"}), "low_ops");
  EXPECT_LT(value, all);
  EXPECT_EQ(Number(OkJson({"inspect", "node.onnx"}), "low_ops"), value);
  ExpectFailure({"convert", "small.onnx", "-o", "o.onnx", "--exclude", "yes_matmul1"}, 2, "'yes_matmul'");
}

using FailingOnnxTest = OnnxCliTest;

TEST_F(FailingOnnxTest, DamagedModels) {
  const std::string bytes = Read("small.onnx");
  Write("cut.onnx", bytes.substr(0, bytes.size() / 2));
  Write("noise.onnx", std::string(500, '\xa7'));
  Write("empty.onnx", "");
  for (const char* name : {"cut.onnx", "noise.onnx", "empty.onnx", "absent.onnx"}) {
    ExpectFailure({"inspect", name}, 3, name);
    ExpectFailure({"verify", name}, 3, name);
    ExpectFailure({"convert", name, "-o", "o.onnx"}, 3, name);
    ExpectFailure({"strip", name, "-o", "o.onnx"}, 3, name);
    ExpectFailure({"run", name, "--input", "small_inputs_0.npz", "-o", "out.npz"}, 3, name);
  }
}

TEST_F(FailingOnnxTest, ExternalData) {
  WriteChanged("outside.onnx", "external.onnx", "external.data", "../rnal.data_");
  WriteChanged("absolute.onnx", "external.onnx", "external.data", "/etc/hostname");
  WriteChanged("missing.onnx", "external.onnx", "external.data", "external.dat_");
  for (const auto& [name, part] : {std::pair{"outside.onnx", "../rnal.data_"}, std::pair{"absolute.onnx", "/etc/hostname"},
                                   std::pair{"missing.onnx", "external.dat_"}}) {
    ExpectFailure({"convert", name, "-o", "o.onnx"}, 3, part);
    ExpectFailure({"run", name, "--input", "small_inputs_0.npz"}, 3, part);
  }
  Write("external.data", Read("external.data").substr(0, 1000));
  ExpectFailure({"convert", "external.onnx", "-o", "o.onnx"}, 3, "external.data");
}

TEST_F(FailingOnnxTest, AProfileDoesNotReplaceTheWeights) {
  WriteChanged("named.onnx", "external.onnx", "external.data", "external.json");
  Write("external.json", Read("external.data"));
  ExpectFailure({"bench", "named.onnx", "--input", "small_inputs_0.npz", "--seconds", "0", "--profile", "external.json"}, 2,
                "external.json");
}

TEST_F(FailingOnnxTest, ALinkOutOfTheFolderIsRefused) {
  std::filesystem::create_directory(folder_ / "inside");
  Write("inside/external.onnx", Read("external.onnx"));
  std::filesystem::create_symlink("../external.data", folder_ / "inside/external.data");
  ExpectFailure({"convert", "inside/external.onnx", "-o", "o.onnx"}, 3, "external.data");
}

TEST_F(FailingOnnxTest, GraphsThatMakeNoSense) {
  std::string bytes = Read("small.onnx");
  ASSERT_EQ(bytes.substr(bytes.size() - 2), "\x10\x11");  // opset_import.version: 17
  bytes.back() = '\x7f';
  Write("opset.onnx", bytes);
  ExpectFailure({"convert", "opset.onnx", "-o", "o.onnx"}, 4, "127");
  WriteChanged("cycle.onnx", "small.onnx",
               "\x0a\x06"
               "active",
               "\x0a\x06"
               "shares");
  ExpectFailure({"convert", "cycle.onnx", "-o", "o.onnx"}, 3, "cycl");
  WriteChanged("nothing.onnx", "small.onnx",
               "\x0a\x04"
               "flat",
               "\x0a\x04"
               "flax");
  ExpectFailure({"convert", "nothing.onnx", "-o", "o.onnx"}, 3, "'flax'");
  // The weight of the convolution declared i64, twice as large as its bytes; the image i32, which no weight is.
  WriteChanged("size.onnx", "small.onnx",
               "\x10\x01\x42\x0b"
               "conv.weight",
               "\x10\x07\x42\x0b"
               "conv.weight");
  ExpectFailure({"convert", "size.onnx", "-o", "o.onnx"}, 3, "conv.weight");
  WriteChanged("type.onnx", "small.onnx", "\x0a\x05image\x12\x17\x0a\x15\x08\x01", "\x0a\x05image\x12\x17\x0a\x15\x08\x06");
  ExpectFailure({"convert", "type.onnx", "-o", "o.onnx"}, 3, "type.onnx");
}

TEST_F(FailingOnnxTest, OutputsThatCannotBeWritten) {
  for (const std::string folder : {"absent/", "small_inputs_0.npz/"}) {
    ExpectFailure({"convert", "small.onnx", "-o", folder + "o.onnx"}, 5, folder);
    ExpectFailure({"strip", "small.onnx", "-o", folder + "o.onnx"}, 5, folder);
  }
  ExpectFailure({"convert", "small.onnx", "-o", "./small.onnx"}, 2, "small.onnx");
  ExpectFailure({"convert", "small.onnx", "-o", "o.pdmodel"}, 4, "Paddle");
}

TEST_F(FailingOnnxTest, WrongFeeds) {
  WriteArchive("wide.npz", {{"image", *HostTensor::Create(DType::kF32, {1, 1, 9, 8})}, {"flag", HostTensor::Of<bool>({}, {true})}});
  WriteArchive("few.npz", {{"image", *HostTensor::Create(DType::kF32, {1, 1, 8, 8})}});
  ExpectFailure({"run", "small.onnx", "--input", "wide.npz", "-o", "out.npz"}, 2, "[1, 1, 9, 8]");
  ExpectFailure({"run", "small.onnx", "--input", "few.npz", "-o", "out.npz"}, 2, "'flag'");
}

}  // namespace
}  // namespace ampc::testing
