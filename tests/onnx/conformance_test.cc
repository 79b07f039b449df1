// Every model of the ONNX standard's backend tests, and others in their form: conformance_test --data=DIR... --left_out=FILE. Tests are
// <folder>/<name>. With --convert=f16 or bf16 it is their conversions, with --hide=dims or ranks the models whose shapes (and so the values
// of operands that stand for attributes) are known only while they run, of those that the list does not name.
//
// A line of FILE is "<folder>/<name>: <class>: <reason>": a model that does not pass. It fails the test when it passes, so the list says
// what is so. Of the node models whose class is not one of kOutOfScope, the share kShare must pass. The last line of the output counts.
// If the data is not installed, there is one test, which is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/dtype.h"
#include "tests/onnx/conformance_model.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

constexpr absl::string_view kFolders[] = {"node", "simple", "pytorch-converted", "pytorch-operator", "more"};
// Values that are no tensors of numbers, ops of training, results that are random or that contradict the model or the standard.
constexpr absl::string_view kOutOfScope[] = {"strings", "optional", "training", "random", "data"};
// Of the node models in scope, at least.
constexpr double kShare = 1;

struct LeftOut {
  std::string kind, reason;
};
using LeftOutList = std::map<std::string, LeftOut, std::less<>>;

struct Counts {
  int passed = 0, left_out = 0, wrong = 0;
};
std::map<std::string, Counts>& CountsByFolder() {
  static auto& counts = *new std::map<std::string, Counts>;
  return counts;
}

class ConvertedTest : public ::testing::Test {
 public:
  ConvertedTest(DType low, std::string path) : low_(low), path_(std::move(path)) {}
  void TestBody() override {
    const absl::Status status = RunConvertedModel(path_, low_, absl::StrCat(::testing::TempDir(), "/converted.onnx"));
    if (!status.ok() && absl::StrContains(status.message(), "no lossless conversion")) GTEST_SKIP() << status.message();
    EXPECT_OK(status);
  }

 private:
  const DType low_;
  const std::string path_;
};

class HiddenTest : public ::testing::Test {
 public:
  HiddenTest(Hide what, std::string path) : what_(what), path_(std::move(path)) {}
  void TestBody() override { EXPECT_OK(RunHiddenModel(path_, what_)); }

 private:
  const Hide what_;
  const std::string path_;
};

class ModelTest : public ::testing::Test {
 public:
  ModelTest(std::string name, std::string path, const LeftOut* left_out)
      : name_(std::move(name)), path_(std::move(path)), left_out_(left_out) {}
  void TestBody() override {
    Counts& counts = CountsByFolder()[name_.substr(0, name_.find('/'))];
    const absl::Status status = RunConformanceModel(path_);
    const bool as_listed = status.ok() == (left_out_ == nullptr);
    ++(!as_listed ? counts.wrong : status.ok() ? counts.passed : counts.left_out);
    if (left_out_ == nullptr) {
      EXPECT_OK(status);
    } else {
      EXPECT_FALSE(status.ok()) << name_ << " passes, but the list says that it does not: " << left_out_->reason;
      std::cout << name_ << " is left out (" << left_out_->kind << "): " << status.message() << "\n";
    }
  }

 private:
  const std::string name_, path_;
  const LeftOut* left_out_;
};

bool InScope(const LeftOut& entry) {
  return std::find(std::begin(kOutOfScope), std::end(kOutOfScope), entry.kind) == std::end(kOutOfScope);
}

// The list leaves enough models, and every line of it is about a model.
class ListTest : public ::testing::Test {
 public:
  ListTest(int node_models, std::vector<std::string> unknown, const LeftOutList* list)
      : node_models_(node_models), unknown_(std::move(unknown)), list_(*list) {}
  void TestBody() override {
    for (const std::string& name : unknown_) ADD_FAILURE() << "the list has " << name << ", which is no model";
    int in_scope = node_models_, failing = 0;
    for (const auto& [name, entry] : list_) {
      if (!absl::StartsWith(name, "node/")) continue;
      in_scope -= InScope(entry) ? 0 : 1;
      failing += InScope(entry) ? 1 : 0;
    }
    std::cout << "node models in scope: " << in_scope << ", of which the list leaves out " << failing << "\n";
    EXPECT_LE(failing, in_scope * (1 - kShare));
  }

 private:
  const int node_models_;
  const std::vector<std::string> unknown_;
  const LeftOutList& list_;
};

class SkippedTest : public ::testing::Test {
 public:
  void TestBody() override { GTEST_SKIP() << "the data is not installed: Debian's package libonnx-testdata has it"; }
};

template <typename T, typename... Args>
void Register(const std::string& name, Args... args) {
  const size_t slash = name.find('/');
  ::testing::RegisterTest(name.substr(0, slash).c_str(), name.substr(slash + 1).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [args...]() -> ::testing::Test* { return new T(args...); });
}

LeftOutList ReadLeftOut(const std::string& path) {
  LeftOutList out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(": ", 2));
    if (parts.size() == 3 && line[0] != '#') out[parts[0]] = {parts[1], parts[2]};
  }
  return out;
}

struct Mode {
  DType low = DType::kInvalid;  // converted
  std::optional<Hide> hide;
  bool plain() const { return low == DType::kInvalid && !hide.has_value(); }
};

void RegisterAll(const std::vector<std::string>& data, const LeftOutList& list, const Mode& mode) {
  std::vector<std::string> names;
  for (const std::string& root : data) {
    for (const absl::string_view folder : kFolders) {
      for (const std::string& path : ConformanceModels(absl::StrCat(root, "/", folder))) {
        std::string name = absl::StrCat(folder, "/", absl::StripPrefix(path.substr(path.rfind('/') + 1), "test_"));
        const auto at = list.find(name);
        if (mode.plain()) {
          Register<ModelTest>(name, name, path, at == list.end() ? nullptr : &at->second);
        } else if (at == list.end() && mode.hide.has_value()) {
          Register<HiddenTest>(name, *mode.hide, path);
        } else if (at == list.end()) {
          Register<ConvertedTest>(name, mode.low, path);
        }
        names.push_back(std::move(name));
      }
    }
  }
  std::sort(names.begin(), names.end());
  const auto in_node = [](const std::string& name) { return absl::StartsWith(name, "node/"); };
  const int node_models = static_cast<int>(std::count_if(names.begin(), names.end(), in_node));
  if (node_models == 0) return Register<SkippedTest>("conformance/data");
  if (!mode.plain()) return;
  std::vector<std::string> unknown;
  for (const auto& [name, entry] : list) {
    if (!std::binary_search(names.begin(), names.end(), name)) unknown.push_back(name);
  }
  Register<ListTest>("conformance/list", node_models, std::move(unknown), &list);
}

int Main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::vector<std::string> data;
  std::string left_out;
  Mode mode;
  for (int i = 1; i < argc; ++i) {
    absl::string_view arg = argv[i];
    if (absl::ConsumePrefix(&arg, "--data=")) data.emplace_back(arg);
    if (absl::ConsumePrefix(&arg, "--left_out=")) left_out = std::string(arg);
    if (absl::ConsumePrefix(&arg, "--convert=")) mode.low = ParseDType(arg).value_or(DType::kInvalid);
    if (absl::ConsumePrefix(&arg, "--hide=")) mode.hide = arg == "ranks" ? Hide::kRanks : Hide::kDims;
  }
  static const auto& list = *new LeftOutList(ReadLeftOut(left_out));
  RegisterAll(data, list, mode);
  const int result = RUN_ALL_TESTS();
  if (!mode.plain()) return result;
  std::string summary = "conformance:";
  for (const auto& [folder, c] : CountsByFolder()) {
    absl::StrAppend(&summary, " ", folder, " ", c.passed, " of ", c.passed + c.left_out + c.wrong, " pass, ", c.left_out, " left out, ",
                    c.wrong, " not as listed;");
  }
  std::cout << summary << "\n";
  return result;
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) { return ampc::testing::Main(argc, argv); }
