// Words that people type out of habit, and files of another kind: the answer names the way.
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"
#include "tests/formats/test_files.h"
#include "tools/cli/peer_options.h"

namespace ampc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class WordsTest : public CliTest {
 protected:
  void SetUp() override {
    MakeModel("mlp", kMlp);
    WriteArchive("in.npz", {{"x", HostTensor::Of<float>({2, 4}, {1, 2, -1, 0.5f, -2, 0.25f, 3, 1})}});
  }
};

TEST_F(WordsTest, OptionsOfPeers) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--fp16"}, "here it is --dtype fp16"},
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--keep_io_types"}, "keep their types unless --low-io is given"},
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--op_block_list", "softmax"}, "here it is --exclude TYPE"},
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--nodes_to_exclude", "a"}, "here it is --exclude NAME"},
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--on_overflow", "keep"}, "here it is --on-overflow"},
      {{"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--Black-List", "a"}, "here it is --black-list"},
      {{"run", "mlp.pdmodel", "--input-shapes", "x:1,4"}, "here it is --dims"},
      {{"run", "mlp.pdmodel", "in.npz", "--use_gpu"}, "here it is --device cuda:0"},
      {{"run", "mlp.pdmodel", "in.npz", "--iterations", "3"}, "here it is --repeat"},
      {{"train", "lenet", "--learning-rate", "3"}, "here it is --lr X"},
      {{"train", "lenet", "--batch_size", "3"}, "here it is --batch N"},
      {{"run", "mlp.pdmodel", "in.npz", "--batch-size", "3"}, "here it is --dims NAME=N"},
      {{"compare", "mlp.pdmodel", "mlp.pdmodel", "--tolerence", "1"}, "did you mean '--tolerance'?"},
      {{"convert", "mlp.pdmodel", "o.pdmodel"}, "did you mean '-o o.pdmodel'?"},
  };
  for (const auto& [args, part] : cases) ExpectFailure(args, 2, part);
}

TEST_F(WordsTest, NumbersThatDoNotFit) {
  ExpectFailure({"compare", "mlp.pdmodel", "mlp.pdmodel", "in.npz", "--rtol", "-1"}, 2, "--rtol: found '-1', needed 0 or more (see ");
  ExpectFailure({"run", "mlp.pdmodel", "in.npz", "--repeat", "0"}, 2, "--repeat: found '0', needed a number from 1 to 1000000 (see ");
  ExpectFailure({"tune", "mlp.pdmodel", "--random", "--runs", "few"}, 2, "--runs: found 'few', needed a number above 0 (see ");
}

// An answer names options that the verb has.
TEST_F(WordsTest, AnswersHoldForTheVerb) {
  const std::regex option("(?:^|[ ,])(--[a-z][a-z-]*|-[a-z])(?![a-z-])"), row("\\{\"(--[a-z0-9-]+)\"");
  const auto matches = [](const std::string& text, const std::regex& what, int group) {
    std::set<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), what), end; it != end; ++it) found.insert((*it)[group]);
    return found;
  };
  const std::set<std::string> peers = matches(ReadFile("tools/cli/peer_options.cc"), row, 1);
  EXPECT_GT(peers.size(), 80u);
  std::set<std::string> answered;
  for (const char* verb :
       {"bench", "compare", "convert", "dot", "explain", "inspect", "opt", "profile", "run", "strip", "train", "tune", "verify"}) {
    const std::set<std::string> options = matches(Ok({verb, "--help"}), option, 1);
    for (const std::string& peer : peers) {
      const std::string answer = PeerHint(peer, std::vector<std::string>(options.begin(), options.end()));
      if (!answer.empty()) answered.insert(peer);
      for (const std::string& named : matches(answer, option, 1)) EXPECT_TRUE(options.contains(named)) << verb << " " << peer << answer;
    }
  }
  for (const std::string& peer : peers) EXPECT_TRUE(answered.contains(peer)) << peer;
}

TEST_F(WordsTest, ValuesInAnyCase) {
  Ok({"convert", "mlp.pdmodel", "-o", "a.pdmodel", "--dtype", "FP16", "--level", "o2"});
  Ok({"convert", "mlp.pdmodel", "-o", "b.pdmodel", "--dtype", "fp16", "--level", "O2"});
  EXPECT_EQ(Read("a.pdmodel"), Read("b.pdmodel"));
}

TEST_F(WordsTest, HelpAndVersionAsVerbs) {
  EXPECT_EQ(Ok({"help", "compare"}), Ok({"compare", "--help"}));
  EXPECT_EQ(Ok({"help"}), Ok({"--help"}));
  EXPECT_EQ(Ok({"version"}), Ok({"--version"}));
  ExpectFailure({"help", "comparr"}, 2, "did you mean 'compare'?");
}

TEST_F(WordsTest, SeveralSelectorsBehindOneOption) {
  Ok({"convert", "mlp.pdmodel", "-o", "a.pdmodel", "--exclude", "softmax", "relu"});
  Ok({"convert", "mlp.pdmodel", "-o", "b.pdmodel", "--exclude", "softmax", "--exclude", "relu"});
  EXPECT_EQ(Read("a.pdmodel"), Read("b.pdmodel"));
  ExpectFailure({"convert", "mlp.pdmodel", "-o", "o.pdmodel", "--exclude", "softmax", "relo"}, 2, "relo");
}

TEST_F(WordsTest, FilesThatAreSomethingElse) {
  const std::string zeros(100, '\0');
  const std::vector<std::pair<std::string, std::pair<std::string, std::string>>> files = {
      {"net.pt", {std::string("PK\x03\x04", 4) + zeros, "torch.onnx.export"}},
      {"net.pdmodel", {std::string("PK\x03\x04", 4) + zeros, "torch.onnx.export"}},
      {"weights.bin", {"\x80\x02}q" + zeros, "pickle"}},
      {"net.h5", {"\x89HDF\r\n\x1a\n" + zeros, "tf2onnx"}},
      {"net.tflite", {std::string("\x1c\0\0\0TFL3", 8) + zeros, "TensorFlow Lite"}},
      {"net.engine", {"ftrt" + zeros, "TensorRT engine"}},
      {"net.xml", {"<?xml version=\"1.0\"?><net name=\"x\">", "OpenVINO"}},
      {"net.onnx.gz", {"\x1f\x8b" + zeros, "gunzip"}},
      {"graph.pb", {"\x0a\x10\x0a\x01x\x12\x0bPlaceholder" + zeros, "tf2onnx"}},
  };
  for (const auto& [name, file] : files) {
    Write(name, file.first);
    ExpectFailure({"inspect", name}, 3, absl::StrCat(name, " "));
    ExpectFailure({"convert", name, "-o", "o.onnx"}, 3, file.second);
  }
  Write("moved.pdmodel", std::string("\x08\x07\x12\x07pytorch", 11) + zeros);
  ExpectFailure({"inspect", "moved.pdmodel"}, 3, "name it .onnx");
  Write("folder/net.onnx", "x");
  ExpectFailure({"inspect", "folder"}, 3, "'folder/net.onnx'");
}

TEST_F(WordsTest, FilesWithNamesThatAreNear) {
  ExpectFailure({"inspect", "mlb.pdmodel"}, 3, "no such file, did you mean 'mlp.pdmodel'?");
  Write("folder/net.onnx", "x");
  ExpectFailure({"inspect", "folder/nett.onnx"}, 3, "did you mean 'folder/net.onnx'?");
}

TEST_F(WordsTest, AReaderThatHasEnoughIsNoFailure) {
  std::string text = "program big version=1\n\nblock main {\n  feed x0 : f32 [4]\n";
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, "  x", i + 1, " = relu(x", i, ") : f32 [4]\n");
  Write("big.prog", text + "  fetch x20000\n}\n");
  const std::string ampc = std::filesystem::absolute("tools/ampc").string();
  const Outcome outcome =
      RunProcess("/bin/bash", {"-c", "set -o pipefail; \"$0\" inspect big.prog --text | head -n 3", ampc}, folder_.path());
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, StartsWith("program big"));
  for (int i = 0; i < 20; ++i) {
    const Outcome help = RunProcess("/bin/bash", {"-c", "set -o pipefail; \"$0\" convert --help | head -n 1", ampc}, folder_.path());
    EXPECT_EQ(help.err, "");
    EXPECT_EQ(help.code, 0);
  }
}

}  // namespace
}  // namespace ampc::testing
