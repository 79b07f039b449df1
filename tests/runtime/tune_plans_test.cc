// SessionOptions::tune_plans: measured choices between implementations, kept in a file.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "graph/base/host_values.h"
#include "kernels/storage.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"
#include "tests/testlib/tolerance.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A file that is not there.
std::string NewFile(const std::string& name) {
  const std::string path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path;
}

// A convolution or product of random sizes, in front of another op.
struct Net {
  std::string text;
  std::vector<int64_t> dims;
  DType type = DType::kF32;
};

Net RandomNet(std::mt19937& random) {
  const auto upto = [&random](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint32_t>(most)) + 1; };
  Net net;
  net.type = upto(2) == 1 ? DType::kF32 : DType::kBF16;
  const std::string type = net.type == DType::kF32 ? "f32" : "bf16";
  const std::string behind = upto(2) == 1 ? "z = relu(y) : " : "z = gelu(y) : ";
  if (upto(3) == 1) {
    const int64_t rows = upto(40), k = upto(64), columns = upto(64);
    net.dims = {upto(3), rows, k};
    const std::string w = absl::StrCat(k, ", ", columns, "] = 0.125\n"), y = absl::StrCat(type, " [?, ", rows, ", ", columns, "]\n");
    net.text = absl::StrCat("feed x : ", type, " [?, ", rows, ", ", k, "]\nconst w : ", type, " [", w, "y = matmul_v2(x, w) : ", y, behind,
                            y, "fetch z\n");
    return net;
  }
  const bool transposed = upto(4) == 1;
  const int64_t groups = transposed ? 1 : upto(2), in = 8 * groups * upto(4), out = 8 * groups * upto(4), window = 2 * upto(2) - 1;
  net.dims = {1, in, 4 + upto(16), 4 + upto(16)};
  const std::string filter = transposed ? absl::StrCat(in, ", ", out) : absl::StrCat(out, ", ", in / groups);
  const std::string y = absl::StrCat(type, " [1, ", out, ", ?, ?]\n");
  net.text = absl::StrCat("feed x : ", type, " [1, ", in, ", ?, ?]\nconst w : ", type, " [", filter, ", ", window, ", ", window,
                          "] = 0.0625\nconv2d", transposed ? "_transpose" : "", "(Input=x, Filter=w) -> Output=y groups=", groups,
                          " strides=[", upto(2), ", ", upto(2), "] : ", y, behind, y, "fetch z\n");
  return net;
}

HostTensor Feed(const Net& net, uint32_t seed) {
  HostTensor x = *HostTensor::Create(DType::kF32, net.dims);
  std::mt19937 random(seed);
  for (float& f : x.mutable_values<float>()) f = static_cast<float>(static_cast<int>(random() % 9) - 4) / 4;
  return *FromStorage(x, net.type);
}

// The fetch, and the kernels that made it.
struct Made {
  HostTensor z;
  std::string plan;
};

absl::StatusOr<Made> Make(const Net& net, const std::string& file, int threads) {
  absl::StatusOr<Session> session = FromText(net.text, {.threads = threads, .tune_plans = file});
  if (!session.ok()) return session.status();
  const TensorMap feeds = {{"x", Feed(net, 7)}};
  absl::StatusOr<TensorMap> fetches = session->Run(feeds);
  if (!fetches.ok()) return fetches.status();
  absl::StatusOr<std::string> plan = session->PlanText(feeds);
  if (!plan.ok()) return plan.status();
  return Made{std::move(fetches->at("z")), *std::move(plan)};
}

void ExpectSameBits(const HostTensor& found, const HostTensor& needed) {
  ASSERT_EQ(found.size_bytes(), needed.size_bytes());
  EXPECT_EQ(std::memcmp(found.data(), needed.data(), needed.size_bytes()), 0);
}

void ExpectNear(const HostTensor& found, const HostTensor& needed) {
  const std::vector<float> x = *FloatsOf(found), y = *FloatsOf(needed);
  ASSERT_EQ(x.size(), y.size());
  double largest = 0;
  for (float f : y) largest = std::max(largest, static_cast<double>(std::abs(f)));
  const testing::Tolerance tolerance = testing::GoldenToleranceFor("conv2d", needed.dtype(), largest);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(testing::Near(x[i], y[i], tolerance)) << i << ": " << x[i] << " and " << y[i];
}

std::string WithImplementation(const std::string& text, const std::string& name) {
  return std::regex_replace(text, std::regex("\"implementation\": \"[^\"]*\""), absl::StrCat("\"implementation\": \"", name, "\""));
}

TEST(TunePlans, OneFileAlwaysGivesTheSameBits) {
  std::mt19937 random(2026);
  for (int i = 0; i < 12; ++i) {
    const Net net = RandomNet(random);
    SCOPED_TRACE(net.text);
    const std::string file = NewFile("choices.json");
    const absl::StatusOr<Made> untuned = Make(net, "", 1), first = Make(net, file, 1);
    ASSERT_OK(untuned.status());
    ASSERT_OK(first.status());
    ExpectNear(first->z, untuned->z);
    const std::string kept = ReadText(file);
    EXPECT_THAT(kept, HasSubstr("\"shape\": "));
    for (int threads : {1, 2}) {
      const absl::StatusOr<Made> again = Make(net, file, threads);
      ASSERT_OK(again.status());
      ExpectSameBits(again->z, first->z);
      EXPECT_EQ(ReadText(file), kept) << "a known shape is not measured again";
    }
  }
}

// oneDNN's gemm computes on any CPU.
TEST(TunePlans, TheFileSaysWhichImplementationRuns) {
  std::mt19937 random(2027);
  int gemms = 0;
  for (int i = 0; i < 12; ++i) {
    const Net net = RandomNet(random);
    SCOPED_TRACE(net.text);
    const std::string file = NewFile("choices.json");
    const absl::StatusOr<Made> untuned = Make(net, "", 1);
    ASSERT_OK(untuned.status());
    ASSERT_OK(Make(net, file, 1).status());
    WriteText(file, WithImplementation(ReadText(file), "onednn:gemm:jit"));
    const absl::StatusOr<Made> by_gemm = Make(net, file, 1);
    ASSERT_OK(by_gemm.status());
    ExpectNear(by_gemm->z, untuned->z);
    if (by_gemm->plan.find("gemm:jit") != std::string::npos) ++gemms;
  }
  EXPECT_GT(gemms, 0);
}

TEST(TunePlans, AnImplementationThatIsNotThereIsChosenByTheShapes) {
  std::mt19937 random(2028);
  for (int i = 0; i < 6; ++i) {
    const Net net = RandomNet(random);
    SCOPED_TRACE(net.text);
    const std::string file = NewFile("choices.json");
    const absl::StatusOr<Made> untuned = Make(net, "", 1);
    ASSERT_OK(untuned.status());
    ASSERT_OK(Make(net, file, 1).status());
    WriteText(file, WithImplementation(ReadText(file), "onednn:of another release"));
    const absl::StatusOr<Made> found = Make(net, file, 1);
    ASSERT_OK(found.status());
    ExpectSameBits(found->z, untuned->z);
    EXPECT_EQ(found->plan, untuned->plan);
  }
}

TEST(TunePlans, ChoicesOfAnotherMachineAreKept) {
  std::mt19937 random(2029);
  const Net net = RandomNet(random);
  const std::string file = NewFile("choices.json");
  WriteText(file,
            R"({"ampc-kernel-choices": 1, "machines": [{"machine": "another", "choices": [{"shape": "s", "implementation": "i"}]}]})");
  ASSERT_OK(Make(net, file, 1).status());
  EXPECT_THAT(ReadText(file), HasSubstr("\"machine\": \"another\""));
  EXPECT_THAT(ReadText(file), HasSubstr("\"shape\": \"s\""));
  EXPECT_THAT(ReadText(file), HasSubstr(" activation ")) << "those of this machine";
}

TEST(TunePlans, ABadFileIsNamed) {
  const std::string file = NewFile("choices.json");
  const Net net = {"feed x : f32 [1]\nz = relu(x) : f32 [1]\nfetch z\n", {1}};
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", ""},
           {"[]", "'ampc-kernel-choices' needs to be 1"},
           {R"({"ampc-kernel-choices": 2, "machines": []})", "'ampc-kernel-choices' needs to be 1"},
           {R"({"ampc-kernel-choices": 1})", "'machines' needs to be an array"},
           {R"({"ampc-kernel-choices": 1, "machines": [7]})", "'machine' needs to be a string"},
           {R"({"ampc-kernel-choices": 1, "machines": [{"machine": "m"}]})", "'choices' needs to be an array"},
           {R"({"ampc-kernel-choices": 1, "machines": [{"machine": "m", "choices": [{"shape": 1}]}]})", "'shape' needs to be a string"},
           {R"({"ampc-kernel-choices": 1, "machines": [{"machine": "m", "choices": [{"shape": "s"}]}]})",
            "'implementation' needs to be a string"},
           {R"({"ampc-kernel-choices": 1, "machines": [{"machine": "m", "choices": [
               {"shape": "s", "implementation": "i"}, {"shape": "s", "implementation": "i"}]}]})",
            "shape 's' is there twice"}}) {
    WriteText(file, text);
    const absl::Status status = Make(net, file, 1).status();
    ExpectError(status, ExitCode::kBadInput, file);
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_EQ(ReadText(file), text);
  }
}

TEST(TunePlans, AFileThatCannotBeWrittenIsAnError) {
  std::mt19937 random(2030);
  ExpectError(Make(RandomNet(random), "/dev/null/choices.json", 1).status(), ExitCode::kInternal, "/dev/null/choices.json");
}

}  // namespace
}  // namespace ampc
