// Small programs of ONNX ops, run on values that stand beside them: evaluate_test FILE.case...
//
//   --- in
//   feed x : f32 [2] = [1.0, -2.0]       given at run time; a `const` is known to the compiler
//   y = onnx.Abs.13(x)
//   --- out
//   y : f32 [2] = [1.0, 2.0]             to the tolerance of the type (tests/testlib/tolerance.h)
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/half.h"
#include "graph/base/shape.h"
#include "graph/base/status_macros.h"
#include "runtime/session.h"
#include "tests/testlib/case_file.h"
#include "tests/testlib/parse_bare.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

// `name : type = literal` of each line.
absl::StatusOr<std::vector<std::pair<std::string, HostTensor>>> ReadValues(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, "const ", line, "\n");
  AMPC_ASSIGN_OR_RETURN(const Program program, ParseBare(text));
  std::vector<std::pair<std::string, HostTensor>> out;
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find(' '));
    out.emplace_back(name, *program.main().FindVar(name)->literal);
  }
  return out;
}

template <typename T>
double AsDouble(T value) {
  return static_cast<double>(value);
}
double AsDouble(Half value) { return static_cast<float>(value); }

template <typename T>
void ExpectNear(const HostTensor& found, const HostTensor& needed) {
  for (int64_t i = 0; i < needed.num_elements(); ++i) {
    const double f = AsDouble(found.values<T>()[i]), n = AsDouble(needed.values<T>()[i]);
    EXPECT_TRUE(Near(f, n, ToleranceFor(needed.dtype()))) << "element " << i << " is " << f << ", needed " << n;
  }
}

void Compare(const HostTensor& found, const HostTensor& needed) {
  ASSERT_EQ(Name(found.dtype()), Name(needed.dtype()));
  ASSERT_EQ(ShapeToString(found.dims()), ShapeToString(needed.dims()));
  switch (needed.dtype()) {
    case DType::kF16: return ExpectNear<Half>(found, needed);
    case DType::kF32: return ExpectNear<float>(found, needed);
    case DType::kF64: return ExpectNear<double>(found, needed);
    case DType::kI8: return ExpectNear<int8_t>(found, needed);
    case DType::kI16: return ExpectNear<int16_t>(found, needed);
    case DType::kI32: return ExpectNear<int32_t>(found, needed);
    case DType::kU8: return ExpectNear<uint8_t>(found, needed);
    default: EXPECT_TRUE(found == needed) << "other values, to the bit";
  }
}

class EvaluateTest : public ::testing::Test {
 public:
  explicit EvaluateTest(Case c) : case_(std::move(c)) {}
  void TestBody() override {
    const std::vector<std::string> needs = absl::StrSplit(case_.expected, '\n', absl::SkipEmpty());
    std::vector<std::string> feeds;
    std::string program, blocks;
    for (absl::string_view line : absl::StrSplit(case_.in, '\n', absl::SkipEmpty())) {
      if (absl::StartsWith(line, "feed ")) {
        feeds.emplace_back(line.substr(5));
        line = line.substr(0, line.find(" = "));
      }
      absl::StrAppend(blocks.empty() && !absl::StartsWith(line, "block ") ? &program : &blocks, line, "\n");
    }
    ASSERT_OK_AND_ASSIGN(const auto needed, ReadValues(needs));
    for (const auto& [name, value] : needed) absl::StrAppend(&program, "fetch ", name, "\n");
    absl::StrAppend(&program, blocks);
    ASSERT_OK_AND_ASSIGN(const auto given, ReadValues(feeds));
    ASSERT_OK_AND_ASSIGN(Program parsed, ParseBare(program));
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(parsed), {.threads = 1}));
    ASSERT_OK_AND_ASSIGN(const TensorMap found, session.Run(TensorMap(given.begin(), given.end())));
    for (const auto& [name, value] : needed) {
      SCOPED_TRACE(name);
      Compare(found.at(name), value);
    }
  }

 private:
  const Case case_;
};

int Main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::ifstream in(argv[i]);
    std::stringstream text;
    text << in.rdbuf();
    const absl::StatusOr<std::vector<Case>> cases = ParseCases(text.str());
    if (!in || !cases.ok()) {
      std::cerr << argv[i] << ": " << (in ? cases.status().message() : "cannot be read") << "\n";
      return 1;
    }
    for (const Case& c : *cases) {
      ::testing::RegisterTest("Evaluate", c.name.c_str(), nullptr, nullptr, argv[i], c.line,
                              [c]() -> ::testing::Test* { return new EvaluateTest(c); });
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) { return ampc::testing::Main(argc, argv); }
