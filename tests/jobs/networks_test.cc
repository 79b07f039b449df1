#include "tools/examples/networks/networks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "graph/base/host_tensor.h"
#include "graph/base/shape.h"
#include "graph/initializer.h"
#include "runtime/session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

class NetworksTest : public ::testing::TestWithParam<const char*> {};

// The numbers of trained values of the published networks, with 1 channel and 10 classes.
TEST_P(NetworksTest, HasItsSize) {
  static const std::map<std::string, int64_t> kSizes = {
      {"guarded", 6 * 9 + 2 * 6 + 1014 * 10 + 10},
      {"lenet", 61706},
      {"resnet18", 11172810},
      {"lstm", 4 * 128 * (28 + 128 + 2) + 1290},
      {"transformer", 28 * 64 + 64 + 28 * 64 + 2 * (4 * (64 * 64 + 64) + 4 * 64 + 2 * 64 * 128 + 192) + 650},
      {"simplenet", 3 * (4096 * 4096 + 4096)}};
  ASSERT_OK_AND_ASSIGN(const NetworkInfo* info, FindNetwork(GetParam()));
  ProgramBuilder b;
  info->build(b);
  ASSERT_OK(b.status());
  int64_t size = 0;
  ForEachVar(b.program(), [&](const Var& var) { size += var.trainable ? var.type.NumElements() : 0; });
  EXPECT_EQ(size, kSizes.at(info->name));
}

TEST_P(NetworksTest, RunsForward) {
  ASSERT_OK_AND_ASSIGN(const NetworkInfo* info, FindNetwork(GetParam()));
  ProgramBuilder b;
  const Network net = info->build(b);
  ASSERT_OK(b.status());
  b.Fetch(net.loss);
  b.Fetch(net.output);
  if (net.accuracy.var != nullptr) b.Fetch(net.accuracy);
  ASSERT_OK(b.Build());
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Create(b.CloneForTest(), {.threads = 2}));
  const bool images = info->data == NetworkData::kImages;
  const auto random = [&](const char* name) {
    const std::vector<int64_t> dims = images ? std::vector<int64_t>{2, 1, 28, 28} : std::vector<int64_t>{2, info->features};
    return *InitialValues(Initializer::Normal(0, 1), DType::kF32, dims, 1, name);
  };
  TensorMap feeds = {{"x", random("x")}, {"y", images ? HostTensor::Of<int64_t>({2, 1}, {3, 9}) : random("y")}};
  ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run(feeds));
  ASSERT_EQ(out.size(), images ? 3u : 2u);
  const HostTensor& logits = out.at(net.output.var->name());
  EXPECT_EQ(ShapeToString(logits.dims()), images ? "[2, 10]" : "[2, 4096]");
  const float loss = out.at(net.loss.var->name()).values<float>()[0];
  if (images) {  // what the logits say
    double want = 0;
    for (int row = 0; row < 2; ++row) {
      const absl::Span<const float> z = logits.values<float>().subspan(row * 10, 10);
      double sum = 0;
      for (float v : z) sum += std::exp(v);
      want += (std::log(sum) - z[feeds.at("y").values<int64_t>()[row]]) / 2;
    }
    EXPECT_NEAR(loss, want, 1e-5 * want);
  } else {
    EXPECT_GT(loss, 0.5);
    EXPECT_LT(loss, 4);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworksTest, ::testing::Values("guarded", "lenet", "resnet18", "lstm", "transformer", "simplenet"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Networks, AreTheTestedOnes) { EXPECT_EQ(Networks().size(), 6u); }

TEST(Networks, AnUnknownNameListsTheKnown) {
  EXPECT_THAT(
      FindNetwork("lenet5"),
      StatusIs(ExitCode::kUsage, HasSubstr("needed one of guarded, lenet, resnet18, lstm, transformer, simplenet, did you mean 'lenet'?")));
}

}  // namespace
}  // namespace ampc
