// Integer operands keep every bit, however large they are.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/base/host_tensor.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

// Three boxes, the second covered by the first.
constexpr char kBoxes[] = R"(
feed most : i64 [1]
const boxes : f32 [1, 3, 4] = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.9, 2.0, 2.0, 3.0, 3.0]
const scores : f32 [1, 1, 3] = [0.5, 0.4, 0.6]
const overlap : f32 [1] = [0.5]
y = non_max_suppression(Boxes=boxes, Scores=scores, MaxOutputBoxes=most, IouThreshold=overlap) : i64 [?, 3]
fetch y
)";

TEST(IntegerOperands, AsManyBoxesAsAnInt64Says) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(kBoxes));
  const std::vector<int64_t> all = {0, 0, 2, 0, 0, 0};
  for (const int64_t most : {int64_t{2}, (int64_t{1} << 53) + 1, int64_t{1} << 62, kMost}) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"most", I(most)}}));
    EXPECT_EQ(Longs(out.at("y")), all) << most;
  }
  for (const int64_t most : {int64_t{0}, int64_t{-1}, kLeast}) {
    ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"most", I(most)}}));
    EXPECT_EQ(out.at("y").num_elements(), 0) << most;
  }
}

}  // namespace
}  // namespace ampc
