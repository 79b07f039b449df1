// Ops that can be lowered only while the program runs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/base/half.h"
#include "graph/base/host_tensor.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// The filter's dims are the places of what is not 0 in `places`, which has too many elements to steer shapes.
constexpr char kConvPlusZ[] = R"(
feed  places : f32 [20]
feed  x : f16 [1, 2, 3, 4]
feed  w : f16 [24]
const z : f16 [1, 1, 1, 1] = [1.0]
const line : i64 [1] = [-1]
onnx.NonZero.13(X=[places]) -> Y=[found] : i64 [1, ?]
onnx.Reshape.13(data=[found], shape=[line]) -> reshaped=[dims] : i64 [?]
onnx.Reshape.13(data=[w], shape=[dims]) -> reshaped=[filter] : f16 [*]
com.microsoft.FusedConv.1(X=[x], W=[filter], Z=[z]) -> Y=[y] activation="Relu" : f16 [*]
fetch y
)";

TensorMap Feeds() {
  std::vector<float> places(20, 0);
  for (int i = 1; i <= 4; ++i) places[i] = 1;
  std::vector<Half> x(24, Half(0.0f)), w(24, Half(1.0f));
  x[0] = Half(2048.0f);
  x[1] = Half(1.0f);
  return {{"places", F({20}, places)}, {"x", HostTensor::FromValues<Half>({1, 2, 3, 4}, x)}, {"w", HostTensor::FromValues<Half>({24}, w)}};
}

// 2048 + 1 + 1: the sum of the convolution is between two numbers of f16, so that rounding it loses its last 1.
TEST(DeferredOp, RoundsEachResultWhereRoundingIsStrict) {
  for (const bool strict : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const Session session, FromText(kConvPlusZ, {.threads = 1, .strict_rounding = strict}));
    ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run(Feeds()));
    EXPECT_EQ(static_cast<float>(out.at("y").values<Half>()[0]), strict ? 2048 : 2050);
  }
}

}  // namespace
}  // namespace ampc
