// Gradients against difference quotients: gradient_test FILE.case...   The files' format: README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "passes/autodiff/append_backward.h"
#include "runtime/session.h"
#include "tests/autodiff/gradient_case.h"
#include "tests/testlib/broken_file.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc::testing {
namespace {

constexpr int kSample = 48;  // elements of one feed that are compared

class GradientCheck {
 public:
  explicit GradientCheck(const GradientCase& c) : case_(c), random_(99) {}

  void Run() {
    ASSERT_OK_AND_ASSIGN(Program forward, ParseTyped(case_.program));
    ASSERT_NO_FATAL_FAILURE(MakeFeeds(forward));
    ASSERT_NO_FATAL_FAILURE(ComputeGradients(forward));
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(std::move(forward), {.threads = 1, .strict_rounding = true}));
    for (const auto& [name, gradient] : gradients_) ASSERT_NO_FATAL_FAILURE(Compare(session, name, gradient));
  }

 private:
  void MakeFeeds(const Program& forward) {
    for (const Var* feed : forward.feeds) {
      ASSERT_OK_AND_ASSIGN(feeds_[feed->name()], MakeFeed(case_, *feed));
      const bool fixed = std::find(case_.fixed.begin(), case_.fixed.end(), feed->name()) != case_.fixed.end();
      if (feed->type.IsFloat() && !fixed) wanted_.push_back(feed->name());
    }
    for (const Var* result : forward.fetches) {
      if (!result->type.IsFloat()) continue;
      ASSERT_TRUE(result->type.IsStatic()) << result->name() << " has no static type";
      ASSERT_OK_AND_ASSIGN(HostTensor factor, HostTensor::Create(DType::kF32, result->type.dims));
      for (float& v : factor.mutable_values<float>()) {
        const float size = static_cast<float>(256 + random_() % 769) / 1024;
        v = random_() % 2 == 0 ? -size : size;
      }
      factors_[result->name()] = std::move(factor);
    }
    ASSERT_FALSE(factors_.empty()) << "the program fetches no float";
    ASSERT_FALSE(wanted_.empty()) << "the program has no float feed to differentiate";
  }

  // The loss is the sum of results times factors, so the gradients of the results are the factors.
  void ComputeGradients(const Program& forward) {
    Program program = forward.Clone();
    TensorMap feeds = feeds_;
    std::vector<VarGradient> seeds;
    for (Var* result : program.fetches) {
      const auto factor = factors_.find(result->name());
      if (factor == factors_.end()) continue;
      Var* seed = program.main().AddVar(absl::StrCat(result->name(), ".factor"), VarKind::kFeed, result->type);
      program.feeds.push_back(seed);
      feeds[seed->name()] = factor->second;
      seeds.push_back({result, seed});
    }
    BackwardOptions options;
    options.wanted = wanted_;
    ASSERT_OK_AND_ASSIGN(const std::vector<VarGradient> gradients, AppendGradients(program, seeds, options));
    program.fetches.clear();
    for (const VarGradient& g : gradients) {
      if (g.gradient != nullptr) program.fetches.push_back(g.gradient);
    }
    ASSERT_OK(Verify(program)) << PrintProgram(program);
    const std::string text = PrintProgram(program);
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(program.Clone(), {.threads = 1, .strict_rounding = true}));
    const absl::StatusOr<TensorMap> out = session.Run(feeds);
    ASSERT_OK(out) << text;
    for (const VarGradient& g : gradients) {
      ASSERT_OK_AND_ASSIGN(HostTensor gradient, HostTensor::Create(DType::kF32, g.var->type.dims));
      if (g.gradient != nullptr) gradient = out->at(g.gradient->name());
      ASSERT_EQ(gradient.dims(), feeds_.at(g.var->name()).dims()) << "gradient of " << g.var->name() << "\n" << text;
      gradients_.emplace_back(g.var->name(), std::move(gradient));
    }
  }

  // The loss where element `at` of the feed is moved by `plus`, less that where it is moved by -`plus`; halves may not be exact, hence the
  // width.
  void Difference(const Session& session, const std::string& feed, int64_t at, double plus, double* difference, double* width) {
    float& value = feeds_.at(feed).mutable_values<float>()[at];
    const float before = value, high = static_cast<float>(before + plus), low = static_cast<float>(before - plus);
    value = high;
    const absl::StatusOr<TensorMap> above = session.Run(feeds_);
    value = low;
    const absl::StatusOr<TensorMap> below = session.Run(feeds_);
    value = before;
    ASSERT_OK(above);
    ASSERT_OK(below);
    *difference = 0;
    *width = static_cast<double>(high) - low;
    for (const auto& [name, factor] : factors_) {
      const absl::Span<const float> a = above->at(name).values<float>(), b = below->at(name).values<float>(), f = factor.values<float>();
      ASSERT_EQ(a.size(), f.size()) << name;
      for (size_t i = 0; i < f.size(); ++i) *difference += f[i] * (static_cast<double>(a[i]) - b[i]);
    }
  }

  // Of fourth order: what is left out is of the size of the fourth power of the step.
  void Quotient(const Session& session, const std::string& feed, int64_t at, double* quotient) {
    double near = 0, far = 0, near_width = 1, far_width = 1;
    ASSERT_NO_FATAL_FAILURE(Difference(session, feed, at, case_.step, &near, &near_width));
    ASSERT_NO_FATAL_FAILURE(Difference(session, feed, at, 2 * case_.step, &far, &far_width));
    *quotient = (4 * near / near_width - far / far_width) / 3;
  }

  void Compare(const Session& session, const std::string& feed, const HostTensor& gradient) {
    const absl::Span<const float> found = gradient.values<float>();
    const int64_t n = static_cast<int64_t>(found.size()), count = std::min<int64_t>(n, kSample);
    std::vector<int64_t> at(count);
    std::vector<double> needed(count);
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
      at[i] = i * n / count;
      ASSERT_NO_FATAL_FAILURE(Quotient(session, feed, at[i], &needed[i]));
      largest = std::max(largest, std::abs(needed[i]));
    }
    const Tolerance tolerance = GradientToleranceFor(case_.tolerance);
    int wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double allowed = tolerance.abs + tolerance.rel * largest;
      if (std::abs(found[at[i]] - needed[i]) <= allowed) continue;
      if (++wrong <= 8) {
        ADD_FAILURE() << "gradient of " << feed << ", element " << at[i] << " of " << n << ": found " << found[at[i]]
                      << ", the difference quotient is " << needed[i] << ", may differ by " << allowed;
      }
    }
    EXPECT_EQ(wrong, 0) << "of " << count << " elements of " << feed;
  }

  const GradientCase& case_;
  std::mt19937 random_;
  TensorMap feeds_, factors_;
  std::vector<std::string> wanted_;
  std::vector<std::pair<std::string, HostTensor>> gradients_;
};

class GradientTest : public ::testing::Test {
 public:
  explicit GradientTest(GradientCase c) : case_(std::move(c)) {}
  void TestBody() override {
    SCOPED_TRACE(absl::StrCat("case of line ", case_.line, "\n", case_.program));
    GradientCheck(case_).Run();
  }

 private:
  GradientCase case_;
};

void RegisterFile(const std::string& path) {
  absl::string_view stem = path;
  stem.remove_prefix(stem.rfind('/') + 1);  // npos + 1 is 0
  const std::string suite = absl::StrCat("Gradient/", absl::StripSuffix(stem, ".case"));
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const absl::StatusOr<std::vector<GradientCase>> cases = ParseGradientCases(text.str());
  if (!in || !cases.ok()) {
    const std::string message = absl::StrCat(path, ":", in ? cases.status().message() : " cannot be read");
    ::testing::RegisterTest(suite.c_str(), "file_is_well_formed", nullptr, nullptr, path.c_str(), 1,
                            [message]() -> ::testing::Test* { return new BrokenFileTest(message); });
    return;
  }
  for (const GradientCase& c : *cases) {
    ::testing::RegisterTest(suite.c_str(), c.name.c_str(), nullptr, nullptr, path.c_str(), c.line,
                            [c]() -> ::testing::Test* { return new GradientTest(c); });
  }
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) ampc::testing::RegisterFile(argv[i]);
  return RUN_ALL_TESTS();
}
