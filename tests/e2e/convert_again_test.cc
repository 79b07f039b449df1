// A model is converted once: a second conversion gives the same bytes, whatever the first one's options were, and says where its own
// contradict them.
#include <algorithm>
#include <filesystem>

#include "tests/e2e/cli.h"
#include "tests/e2e/models.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Args = std::vector<std::string>;

// Conditions and bodies, and values that several of them read.
constexpr char kLoop[] = R"(program loop version=1

block main {
  feed  x : f32 [2, 4]
  feed  n : i64 [1]
  feed  flag : bool [1]
  param w : f32 [4, 4] = 0.1
  carry y : f32 [2, 4]
  h = matmul_v2(x, w) : f32 [2, 4]
  y <- conditional_block(Cond=[flag], Input=[h]) is_scalar_condition=true sub_block=&then
  out = sigmoid(y) : f32 [2, 4]
  p = softmax(out) : f32 [2, 4]
  fetch out
  fetch p
}

block then parent=main {
  t = matmul_v2(h, w) : f32 [2, 4]
  y <- relu(t)
}
)";

struct Model {
  std::string name;  // in the folder
  std::string made;  // the extension of what is converted, which is the format, too
  std::string text;  // of a .prog; "" for a file of `data`
  Args data = {};    // files that are copied
  friend std::ostream& operator<<(std::ostream& out, const Model& model) { return out << model.name << model.made; }
};

std::vector<Model> Models() {
  std::vector<Model> models;
  for (const char* extension : {".prog", ".pdmodel", ".ampc"}) {
    models.push_back({"mlp", extension, kMlp});
    models.push_back({"conv_net", extension, kConvNet});
    models.push_back({"exp", extension, kExp});
    models.push_back({"branch", extension, kBranch});
    models.push_back({"loop", extension, kLoop});
  }
  for (const std::string name : {"decoder", "encoder", "detector"}) {
    models.push_back({name, ".pdmodel", "", {"models/" + name + ".pdmodel", "models/" + name + ".pdiparams"}});
  }
  models.push_back({"small", ".onnx", "", {"onnx/small.onnx"}});
  models.push_back({"external", ".onnx", "", {"onnx/external.onnx", "onnx/external.data"}});
  return models;
}

const std::vector<Args>& Options() {
  static const auto* options = new std::vector<Args>{
      {},
      {"--dtype", "bf16"},
      {"--level", "O1"},
      {"--level", "O1", "--dtype", "bf16", "--low-io"},
      {"--low-io"},
      {"--keep-io"},
      {"--dtype", "bf16", "--low-io"},
      {"--low-io", "--promote"},
      {"--low-io=x"},
      {"--keep-io=x"},
      {"--low-io=shares,image"},
      {"--guard", "--include", "regex:.*matmul.*|.*MatMul.*|.*[cC]onv.*"},
      {"--exclude", "regex:.*softmax|.*Softmax|.*sigmoid|.*relu|.*Relu"},
      {"--include", "regex:.*softmax|.*Softmax|.*exp", "--low-io"},
      {"--exclude", "regex:.*matmul.*|.*MatMul.*", "--low-io"},
      {"--black-list", "relu,onnx.Relu", "--white-list", "exp,softmax,onnx.Softmax"},
      {"--black-vars", "x"},
      {"--on-tiny", "flush", "--on-overflow", "keep"},
      {"--target", "cpu"},
      {"--level", "auto"},
      {"--level", "auto", "--dtype", "bf16", "--target", "cpu"},
      {"--compat", "paddle-2.0"},
      {"--compat", "paddle-2.4", "--level", "O2"},
      {"--compat", "paddle-2.6"},
      {"--compat", "paddle-2.6", "--level", "O2", "--dtype", "bf16"},
      {"--compat", "paddle-2.6", "--level", "OD"},
      {"--compat", "paddle-inference-2.6"},
      {"--compat", "paddle-inference-2.6", "--low-io", "--black-list", "softmax"},
  };
  return *options;
}

class ConvertAgain : public CliTest {
 protected:
  // The model, ready to convert.
  std::string Make(const Model& model) const {
    for (const std::string& file : model.data) Write(fs::path(file).filename().string(), ReadFile("tests/golden/" + file));
    if (!model.text.empty()) {
      Write("text.prog", model.text);
      Ok({"convert", "text.prog", "-o", model.name + model.made, "--level", "O0"});
    }
    return model.name + model.made;
  }
  // FOLDER/low.ENDING and what is written beside it. The same name each time: files of weights are named in the model.
  Outcome Convert(const std::string& from, const std::string& to, const std::string& extension, Args options) const {
    fs::remove_all(folder_ / to);
    fs::create_directory(folder_ / to);
    options.insert(options.begin(), {"convert", from, "-o", to + "/low" + extension, "--no-sync"});
    return Ampc(options);
  }
  std::map<std::string, std::string> In(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& file : fs::directory_iterator(folder_ / folder)) files[file.path().filename().string()] = ReadFile(file.path());
    return files;
  }
  void ExpectSame(const std::string& a, const std::string& b, const std::string& what) const {
    const std::map<std::string, std::string> left = In(a), right = In(b);
    ASSERT_EQ(left.size(), right.size()) << what;
    for (const auto& [name, bytes] : left) EXPECT_TRUE(right.contains(name) && right.at(name) == bytes) << what << ": " << name;
  }
  std::string Type(const std::string& model, const std::string& side) const {
    const JsonValue facts = OkJson({"inspect", model});
    return Text(facts.Find(side)->items[0], "dtype");
  }
};

class EveryModel : public ConvertAgain, public ::testing::WithParamInterface<Model> {};

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, ::testing::ValuesIn(Models()),
                         [](const auto& info) { return info.param.name + "_" + info.param.made.substr(1); });

TEST_P(EveryModel, GivesTheSameBytes) {
  const std::string model = Make(GetParam()), extension = GetParam().made;
  const std::string low = "one/low" + extension;
  int converted = 0;
  ASSERT_EQ(Convert(model, "one", extension, {"--level", "O0"}).code, 0);
  const std::map<std::string, std::string> copy = In("one");
  for (const Args& options : Options()) {
    const std::string what = ::testing::PrintToString(options);
    const Outcome first = Convert(model, "one", extension, options);
    if (first.code == 2 || first.code == 4) continue;  // no model has all names; Paddle's rules are for Paddle's ops
    ASSERT_EQ(first.code, 0) << what << first.err;
    if (In("one") == copy) continue;  // nothing became low: it is no converted model
    ++converted;
    for (const Args& again : {Args(), options, Args{"--level", "O0"}}) {
      const Outcome second = Convert(low, "two", extension, again);
      ASSERT_EQ(second.code, 0) << what << second.err;
      ExpectSame("one", "two", what + " then " + ::testing::PrintToString(again));
    }
  }
  EXPECT_GE(converted, extension == ".onnx" ? 14 : 17) << "too few of the options fit this model";
}

TEST_F(ConvertAgain, OtherFormatsTakeTheOptionsAlong) {
  MakeModel("mlp", kMlp);
  Ok({"convert", "mlp.pdmodel", "-o", "low.pdmodel", "--low-io", "--dtype", "bf16"});
  for (const std::string name : {"low.ampc", "low.prog"}) {
    Ok({"convert", "low.pdmodel", "-o", name});
    EXPECT_EQ(Type(name, "fetches"), "bf16");
    const Outcome outcome = Ampc({"convert", name, "-o", "x.ampc", "--dtype", "fp16"});
    EXPECT_EQ(outcome.code, 2);
  }
  EXPECT_THAT(Ok({"convert", "low.pdmodel", "-o", "two.pdmodel"}), HasSubstr(" bf16, "));
  Ok({"convert", "low.pdmodel", "-o", "two.pdmodel", "--write-config", "again.json"});
  EXPECT_THAT(Read("again.json"), AllOf(HasSubstr("\"dtype\": \"bf16\""), HasSubstr("\"low-io\": true")));
}

TEST_F(ConvertAgain, ContradictionsAreUsageErrors) {
  struct Pair {
    Args first, second;
    std::string then, now;
  };
  const std::vector<Pair> pairs = {
      {{}, {"--dtype", "bf16"}, "with --dtype=fp16", "with --dtype=bf16"},
      {{"--dtype", "bf16"}, {"--dtype", "fp16"}, "with --dtype=bf16", "with --dtype=fp16"},
      {{"--low-io"}, {"--keep-io"}, "with --low-io", "without --low-io"},
      {{}, {"--low-io"}, "without --low-io", "with --low-io"},
      {{"--level", "O1"}, {"--level", "O2"}, "with --level=O1", "with --level=O2"},
      {{}, {"--compat", "paddle-2.6"}, "without --compat", "with --compat=paddle-2.6"},
      {{"--exclude", "softmax"}, {"--exclude", "relu,softmax"}, "with --exclude=softmax", "with --exclude=relu,softmax"},
      {{}, {"--black-list", "relu"}, "without --black-list", "with --black-list=relu"},
      {{"--black-list", "softmax"}, {"--white-list", "softmax"}, "without --white-list", "with --white-list=softmax"},
      {{}, {"--promote"}, "without --promote", "with --promote"},
  };
  MakeModel("mlp", kMlp);
  for (const Pair& pair : pairs) {
    Args first = {"convert", "mlp.pdmodel", "-o", "low.pdmodel"}, second = {"convert", "low.pdmodel", "-o", "two.pdmodel"};
    first.insert(first.end(), pair.first.begin(), pair.first.end());
    second.insert(second.end(), pair.second.begin(), pair.second.end());
    Ok(first);
    ExpectFailure(second, 2, "low.pdmodel was converted " + pair.then + ", converting it again " + pair.now + " contradicts that");
    Ok({"strip", "low.pdmodel", "-o", "back.pdmodel", "--weights", "mlp.pdmodel"});
    EXPECT_EQ(Read("back.pdmodel"), Read("mlp.pdmodel"));
  }
}

// A model whose options are not known, as an older version wrote it: its types speak.
TEST_F(ConvertAgain, WithoutOptionsTheTypesSpeak) {
  MakeModel("mlp", kMlp);
  Ok({"convert", "mlp.pdmodel", "-o", "low.prog", "--dtype", "bf16", "--low-io"});
  std::string text = Read("low.prog");
  const size_t begin = text.find(" !converted="), end = text.find("\" ", begin + 13) + 1;
  ASSERT_NE(begin, std::string::npos);
  Write("low.prog", text.erase(begin, end - begin));
  ASSERT_EQ(Convert("low.prog", "one", ".prog", {}).code, 0);
  EXPECT_EQ(Read("one/low.prog"), text);
  ExpectFailure({"convert", "low.prog", "-o", "two.prog", "--dtype", "fp16"}, 2, "was converted with --dtype=bf16");
  Ok({"convert", "low.prog", "-o", "two.prog", "--low-io"});
  EXPECT_EQ(Type("two.prog", "fetches"), "bf16");
}

}  // namespace
}  // namespace ampc::testing
