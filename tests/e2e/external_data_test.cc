// ONNX models with external data: a conversion that is taken back gives the model and its data file as they were.
#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cli.h"
#include "tests/formats/onnx/model.h"

namespace ampc::testing {
namespace {

namespace fs = std::filesystem;

// How the values lie in the data file.
struct Layout {
  std::string name;
  uint64_t begin = 0, align = 4, end = 0;  // empty bytes in front and behind, and where a value may start
  bool backwards = false;                  // the last initializer first
  bool shared = false;                     // two initializers share their bytes
  bool says_offset = true, says_length = true;
  int files = 1;
  friend std::ostream& operator<<(std::ostream& out, const Layout& layout) { return out << layout.name; }
};

std::vector<Layout> Layouts() {
  std::vector<Layout> layouts;
  const auto add = [&layouts](const char* name, uint64_t align) -> Layout& {
    layouts.emplace_back().name = name;
    layouts.back().align = align;
    return layouts.back();
  };
  add("packed", 4);
  add("lines", 64);
  add("pages", 4096);
  add("backwards", 16).backwards = true;
  add("gap_in_front", 8).begin = 128;
  add("padded", 32).end = 100;
  add("shared", 64).shared = true;
  Layout& both = add("twins_backwards", 4);
  both.backwards = both.shared = true;
  add("no_length", 4096).says_length = false;
  add("several", 64).files = 3;
  return layouts;
}

class ExternalData : public CliTest, public ::testing::WithParamInterface<Layout> {
 protected:
  // orig/m.onnx and its data. `exact`: halves have the values.
  void MakeExternal(bool exact) const {
    onnx::ModelProto model = NewModel(17);
    GraphBuilder g(model.mutable_graph());
    g.In("x", {2, 32});
    const auto add = [&](const std::string& name, const std::vector<int64_t>& dims, int64_t n) {
      std::vector<float> values(n);
      for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>((i * 7 + n) % 13 - 6) / (exact ? 8.0f : 7.1f);
      g.Initializer(name, dims, values);
    };
    add("w1", {32, 32}, 1024);
    add("b1", {32}, 32);
    add("scale", {32}, 32);
    add("w2", {32, 32}, 1024);
    add("w3", {32, 8}, 256);
    SetTensor(g->add_initializer(), "shape", kOnnxI64, {2}, RawBytes<int64_t>({-1, 4}));
    g.Node("MatMul", {"x", "w1"}, {"h1"});
    g.Node("Add", {"h1", "b1"}, {"h2"});
    g.Node("Mul", {"h2", "scale"}, {"h3"});
    g.Node("MatMul", {"h3", "w2"}, {"h4"});
    g.Node("Exp", {"h4"}, {"h5"});
    g.Node("MatMul", {"h5", "w3"}, {"h6"});
    g.Node("Reshape", {"h6", "shape"}, {"y"});
    g.Out("y", {4, 4});
    fs::create_directories(folder_ / "orig");
    MoveOut(*model.mutable_graph());
    Write("orig/m.onnx", model.SerializeAsString());
  }
  void MoveOut(onnx::GraphProto& graph) const {
    const Layout& layout = GetParam();
    std::map<std::string, std::string> files;
    std::string shared_entry;
    const int n = graph.initializer_size();
    for (int k = 0; k < n; ++k) {
      onnx::TensorProto& tensor = *graph.mutable_initializer(layout.backwards ? n - 1 - k : k);
      const std::string name = k % layout.files == 0 ? "m.onnx.data" : absl::StrCat("part", k % layout.files);
      std::string& file = files[name];
      if (file.empty()) file.resize(layout.begin);
      const bool shared = layout.shared && (tensor.name() == "w1" || tensor.name() == "w2");
      std::string at = absl::StrCat(shared && !shared_entry.empty() ? 0 : (file.size() + layout.align - 1) / layout.align * layout.align);
      if (shared && !shared_entry.empty()) {
        at = shared_entry;
      } else {
        file.resize(std::stoull(at));
        file += tensor.raw_data();
      }
      if (shared) shared_entry = at;
      const auto entry = [&](const char* key, const std::string& value) {
        onnx::StringStringEntryProto* e = tensor.add_external_data();
        e->set_key(key);
        e->set_value(value);
      };
      entry("location", name);
      if (layout.says_offset) entry("offset", at);
      if (layout.says_length) entry("length", absl::StrCat(tensor.raw_data().size()));
      tensor.clear_raw_data();
      tensor.set_data_location(1);
    }
    for (auto& [name, bytes] : files) Write("orig/" + name, bytes + std::string(layout.end, '\0'));
  }
  void ExpectOriginal(const std::string& what) const {
    EXPECT_TRUE(Read("back/m.onnx") == Read("orig/m.onnx")) << what;
    EXPECT_TRUE(Read("back/m.onnx.data") == Read("orig/m.onnx.data")) << what;
  }
  void Fresh(const std::string& folder) const {
    fs::remove_all(folder_ / folder);
    fs::create_directories(folder_ / folder);
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, ExternalData, ::testing::ValuesIn(Layouts()), [](const auto& info) { return info.param.name; });

TEST_P(ExternalData, StripGivesTheFilesBack) {
  for (const bool exact : {true, false}) {
    MakeExternal(exact);
    const std::vector<std::vector<std::string>> choices = {
        {}, {"--dtype", "bf16"}, {"--low-io"}, {"--level", "O1"}, {"--exclude", "reads:w3"}};
    for (const std::vector<std::string>& options : choices) {
      const std::string what = absl::StrCat(exact, ::testing::PrintToString(options));
      for (const char* folder : {"low", "again", "back", "copy"}) Fresh(folder);
      std::vector<std::string> convert = {"convert", "orig/m.onnx", "-o", "low/m.onnx", "--no-sync"};
      convert.insert(convert.end(), options.begin(), options.end());
      Ok(convert);
      EXPECT_LT(Read("low/m.onnx.data").size(), Read("orig/m.onnx.data").size() + 4096) << what;
      Ok({"convert", "low/m.onnx", "-o", "again/m.onnx", "--no-sync"});
      EXPECT_TRUE(Read("again/m.onnx") == Read("low/m.onnx") && Read("again/m.onnx.data") == Read("low/m.onnx.data")) << what;
      std::vector<std::string> strip = {"strip", "again/m.onnx", "-o", "back/m.onnx", "--no-sync"};
      if (!exact) strip.insert(strip.end(), {"--weights", "orig/m.onnx"});
      EXPECT_EQ(Ampc(strip).code, 0) << what;
      Ok({"convert", "orig/m.onnx", "-o", "copy/m.onnx", "--level", "O0", "--no-sync"});
      if (GetParam().files == 1) {
        ExpectOriginal(what);
        EXPECT_TRUE(Read("copy/m.onnx") == Read("orig/m.onnx") && Read("copy/m.onnx.data") == Read("orig/m.onnx.data")) << what;
      } else {  // one file where several were: the copy is what comes back
        EXPECT_TRUE(Read("copy/m.onnx") == Read("back/m.onnx") && Read("copy/m.onnx.data") == Read("back/m.onnx.data")) << what;
      }
    }
  }
}

}  // namespace
}  // namespace ampc::testing
