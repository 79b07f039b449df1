// The kernels of some families on a device against the CPU's: device_kernels_test FILE.safetensors... FILE.case...
// Programs come from the golden cases of ops and from the cases of gradients, the latter with their backward part; each also with its
// floats in f16 and bf16. Tests are <file>/<case>.<type>; only programs with an op of the families are tests. The last one,
// Coverage.every_kernel_ran, skipped where only some of the tests run, wants that each op and float type that the families register was
// compared at least once. If that is counted over several programs (tests/testlib/kernels_ran.h), it is skipped, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/text/printer.h"
#include "passes/autodiff/append_backward.h"
#include "tests/autodiff/gradient_case.h"
#include "tests/cuda/device_under_test.h"
#include "tests/cuda/kernel_compare.h"
#include "tests/golden_ops/golden_case.h"
#include "tests/testlib/broken_file.h"
#include "tests/testlib/kernels_ran.h"
#include "tests/testlib/status.h"

namespace ampc::testing {

// Defined by the rule device_kernels_test: the families under test.
absl::Status RegisterKernelsUnderTest(KernelRegistry* registry);

namespace {

// The ops that a mixed-precision program adds to its network, and those that they become: `--cases=amp` runs these alone.
const std::set<std::string>& AmpOps() {
  static const auto* const ops = new std::set<std::string>{"adam",
                                                           "adamw",
                                                           "cast",
                                                           "check_finite_and_unscale",
                                                           "clip_by_norm",
                                                           "fused_elementwise",
                                                           "fused_gemm_epilogue",
                                                           "fused_gemm_epilogue_grad",
                                                           "grouped_update",
                                                           "lamb",
                                                           "matmul_v2",
                                                           "momentum",
                                                           "sgd",
                                                           "softmax_with_cross_entropy",
                                                           "update_loss_scaling"};
  return *ops;
}

struct UnderTest {
  bool only_amp = false;
  KernelRegistry kernels;
  absl::StatusOr<std::shared_ptr<Device>> device = DeviceUnderTest();
  absl::Status status = RegisterKernelsUnderTest(&kernels);
  ComparedKernels compared;
};

UnderTest& Shared() {
  static auto* const shared = new UnderTest;
  return *shared;
}

bool HasOp(const Program& program) {
  bool has = false;
  const bool all = !Shared().only_amp;
  ForEachOp(program,
            [&](const Op& op) { has = has || (Shared().kernels.Find(op.type()) != nullptr && (all || AmpOps().contains(op.type()))); });
  return has;
}

class ProgramTest : public ::testing::Test {
 public:
  void TestBody() override {
    UnderTest& shared = Shared();
    ASSERT_OK(shared.status);
    if (ExitCodeOf(shared.device.status()) == ExitCode::kUnsupported) GTEST_SKIP() << shared.device.status().message();
    ASSERT_OK(shared.device);
    absl::StatusOr<ReadyCase> ready = Make();
    ASSERT_OK(ready);
    shared.compared.failures.clear();
    const absl::Status status = CompareKernels(ready->program, ready->feeds, shared.kernels, **shared.device, &shared.compared);
    if (ExitCodeOf(status) == ExitCode::kUnsupported) return;  // the CPU cannot run it, or not in one plan
    ASSERT_OK(status);
    EXPECT_TRUE(shared.compared.failures.empty()) << absl::StrJoin(shared.compared.failures, "\n") << "\n" << PrintProgram(ready->program);
  }

 protected:
  virtual absl::StatusOr<ReadyCase> Make() = 0;
};

class GoldenOpTest : public ProgramTest {
 public:
  GoldenOpTest(GoldenCase golden, DType type) : golden_(std::move(golden)), type_(type) {}

 protected:
  absl::StatusOr<ReadyCase> Make() override { return MakeReady(golden_, {.low = type_}, type_); }

 private:
  GoldenCase golden_;
  DType type_;
};

absl::StatusOr<Program> ParseAs(const GradientCase& c, DType type) {
  return ParseTyped(absl::StrReplaceAll(c.program, {{"f32", std::string(Name(type))}}));
}

// The forward part and, where a float is differentiated, the gradients of the sum of all results.
absl::StatusOr<Program> WithBackward(const GradientCase& c, DType type) {
  absl::StatusOr<Program> program = ParseAs(c, type);
  if (!program.ok()) return program;
  BackwardOptions options;
  for (const Var* feed : program->feeds) {
    const bool fixed = std::find(c.fixed.begin(), c.fixed.end(), feed->name()) != c.fixed.end();
    if (feed->type.IsFloat() && !fixed) options.wanted.push_back(feed->name());
  }
  std::vector<VarGradient> seeds;
  for (Var* result : program->fetches) {
    if (!result->type.IsFloat()) continue;
    Var* seed = program->main().AddVar(absl::StrCat(result->name(), ".factor"), VarKind::kFeed, result->type);
    program->feeds.push_back(seed);
    seeds.push_back({result, seed});
  }
  if (options.wanted.empty() || seeds.empty()) return program;
  absl::StatusOr<std::vector<VarGradient>> gradients = AppendGradients(*program, seeds, options);
  if (!gradients.ok()) return gradients.status();
  for (const VarGradient& g : *gradients) {
    if (g.gradient != nullptr) program->fetches.push_back(g.gradient);
  }
  return program;
}

class GradientCaseTest : public ProgramTest {
 public:
  GradientCaseTest(GradientCase c, DType type) : case_(std::move(c)), type_(type) {}

 protected:
  absl::StatusOr<ReadyCase> Make() override {
    ReadyCase ready;
    absl::StatusOr<Program> program = WithBackward(case_, type_);
    if (!program.ok()) return program.status();
    ready.program = *std::move(program);
    for (const Var* feed : ready.program.feeds) {
      absl::StatusOr<HostTensor> value = MakeFeed(case_, *feed);
      if (!value.ok()) return value.status();
      ready.feeds[feed->exported()] = *std::move(value);
    }
    return ready;
  }

 private:
  GradientCase case_;
  DType type_;
};

class CoverageTest : public ::testing::Test {
 public:
  void TestBody() override {
    if (ExitCodeOf(Shared().device.status()) == ExitCode::kUnsupported) GTEST_SKIP() << Shared().device.status().message();
    if (NotesKernelsRan()) GTEST_SKIP() << "counted over all test programs";
    if (::testing::GTEST_FLAG(filter) != "*" || Shared().only_amp || std::getenv("GTEST_TOTAL_SHARDS") != nullptr)
      GTEST_SKIP() << "not all tests ran";
    for (const auto& [op, type] : KernelsToRun(Shared().kernels)) {
      EXPECT_TRUE(Shared().compared.compared.contains({op, type})) << op << " in " << Name(type) << " has a kernel that no case ran";
    }
    std::set<std::string> refused(Shared().compared.refused.begin(), Shared().compared.refused.end());
    for (const std::string& line : refused) std::cout << "left to the host: " << line << "\n";
  }
};

template <typename T, typename... Args>
void Register(const std::string& suite, const std::string& name, const std::string& file, const Args&... args) {
  ::testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, file.c_str(), 1,
                          [args...]() -> ::testing::Test* { return new T(args...); });
}

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};

void RegisterGoldenFile(const std::string& path, const std::string& stem) {
  const absl::StatusOr<std::vector<GoldenCase>> cases = ReadGoldenFile(path);
  if (!cases.ok()) return Register<BrokenFileTest>(stem, "file_is_well_formed", path, std::string(cases.status().message()));
  for (const GoldenCase& golden : *cases) {
    const absl::StatusOr<Program> program = ImportCase(golden, {});
    if (!program.ok() || !HasOp(*program)) continue;
    for (const DType type : kTypes) {
      if (type == DType::kF32 || CanBeLow(golden)) {
        Register<GoldenOpTest>(absl::StrCat(stem, "/", golden.name), std::string(Name(type)), path, golden, type);
      }
    }
  }
}

void RegisterCaseFile(const std::string& path, const std::string& stem) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  const absl::StatusOr<std::vector<GradientCase>> cases = ParseGradientCases(text.str());
  if (!in || !cases.ok()) {
    return Register<BrokenFileTest>(stem, "file_is_well_formed", path,
                                    absl::StrCat(path, ":", in ? cases.status().message() : " cannot be read"));
  }
  for (const GradientCase& c : *cases) {
    for (const DType type : kTypes) {
      const absl::StatusOr<Program> program = WithBackward(c, type);
      const bool low = type != DType::kF32;
      if (low && !program.ok()) continue;  // an op of the case has no such type
      if (program.ok() && !HasOp(*program)) continue;
      Register<GradientCaseTest>(absl::StrCat(stem, "/", c.name), std::string(Name(type)), path, c, type);
    }
  }
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ampc::testing::Shared().only_amp = std::find(argv, argv + argc, std::string_view("--cases=amp")) != argv + argc;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    if (path.starts_with("--")) continue;
    std::string stem = path.substr(path.rfind('/') + 1);
    stem = stem.substr(0, stem.rfind('.'));
    if (absl::EndsWith(path, ".case")) {
      ampc::testing::RegisterCaseFile(path, stem);
    } else {
      ampc::testing::RegisterGoldenFile(path, stem);
    }
  }
  ampc::testing::NoteKernelsUnderTest(ampc::testing::Shared().kernels);
  ampc::testing::Register<ampc::testing::CoverageTest>("Coverage", "every_kernel_ran", __FILE__);
  return RUN_ALL_TESTS();
}
