// Every golden case of every file that the command line names: golden_test FILE.safetensors...  Tests are <file>/<case>.<variant>:
//   paddle         equal to the reference
//   unknown_dims   the same when the dims of the feeds are known only when the program runs
//   f16, bf16      the op declared low equals its fp32 result on the same operands, rounded once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_registry.h"
#include "tests/golden_ops/golden_case.h"
#include "tests/testlib/broken_file.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

std::string OpOf(const GoldenCase& golden) {
  absl::StatusOr<Program> program = ImportCase(golden, {});
  const Op* op = program.ok() ? SingleOp(*program) : nullptr;
  return op == nullptr ? "" : op->type();
}

class ReferenceTest : public ::testing::Test {
 public:
  ReferenceTest(GoldenCase golden, Variant variant) : golden_(std::move(golden)), variant_(variant) {}
  void TestBody() override {
    ASSERT_OK(ImportCase(golden_, variant_));
    ASSERT_OK_AND_ASSIGN(const TensorMap found, RunCase(golden_, variant_, DType::kF32));
    for (const auto& [name, needed] : golden_.out) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_EQ(DiffResult(found.at(name), needed, OpOf(golden_)), "") << "result " << name;
    }
  }

 private:
  GoldenCase golden_;
  Variant variant_;
};

class LowTest : public ::testing::Test {
 public:
  LowTest(GoldenCase golden, DType low) : golden_(std::move(golden)), low_(low) {}
  void TestBody() override {
    const std::string op = OpOf(golden_);
    ASSERT_OK_AND_ASSIGN(const TensorMap fp32, RunCase(golden_, {}, low_));
    ASSERT_OK_AND_ASSIGN(const TensorMap found, RunCase(golden_, {.low = low_}, low_));
    for (const auto& [name, needed] : fp32) {
      if (!golden_.out.contains(name)) continue;
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_EQ(DiffLowResult(found.at(name), needed, op, low_), "") << "result " << name;
    }
  }

 private:
  GoldenCase golden_;
  DType low_;
};

template <typename T, typename... Args>
void Register(const std::string& suite, const char* name, const std::string& file, const Args&... args) {
  ::testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, file.c_str(), 1,
                          [args...]() -> ::testing::Test* { return new T(args...); });
}

bool HasKernel(const std::string& op, DType dtype) {
  const KernelEntry* entry = CpuKernels().Find(op);
  return entry != nullptr && std::find(entry->dtypes.begin(), entry->dtypes.end(), dtype) != entry->dtypes.end();
}

void RegisterFile(const std::string& path) {
  std::string stem = path.substr(path.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  absl::StatusOr<std::vector<GoldenCase>> cases = ReadGoldenFile(path);
  if (!cases.ok()) return Register<BrokenFileTest>(stem, "file_is_well_formed", path, std::string(cases.status().message()));
  for (const GoldenCase& golden : *cases) {
    const std::string suite = absl::StrCat(stem, "/", golden.name), op = OpOf(golden);
    Register<ReferenceTest>(suite, "paddle", path, golden, Variant());
    if (op.empty()) continue;
    if (!golden.in.empty()) Register<ReferenceTest>(suite, "unknown_dims", path, golden, Variant{.unknown_dims = true});
    if (!CanBeLow(golden)) continue;
    if (HasKernel(op, DType::kF16)) Register<LowTest>(suite, "f16", path, golden, DType::kF16);
    if (HasKernel(op, DType::kBF16)) Register<LowTest>(suite, "bf16", path, golden, DType::kBF16);
  }
}

}  // namespace
}  // namespace ampc::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) ampc::testing::RegisterFile(argv[i]);
  if (argc < 2) {
    ampc::testing::Register<ampc::testing::BrokenFileTest>("golden", "has_files", __FILE__, std::string("no file was given"));
  }
  return RUN_ALL_TESTS();
}
