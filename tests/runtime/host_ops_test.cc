// Ops whose results are as long as the data says, with operands that only a run shows.
#include <gtest/gtest.h>

#include <string>

#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

void ExpectRefused(absl::string_view text, const TensorMap& feeds, absl::string_view why) {
  ASSERT_OK_AND_ASSIGN(const Session session, FromText(text));
  ExpectError(session.Run(feeds).status(), ExitCode::kUsage, why);
}

TEST(HostOps, OperandsOfARunFitEachOther) {
  ExpectRefused(R"(
feed boxes : f32 [*]
feed scores : f32 [*]
y = non_max_suppression(Boxes=boxes, Scores=scores) : i64 [?, 3]
fetch y
)",
                {{"boxes", F({1, 4}, {0, 0, 1, 1})}, {"scores", F({1, 1, 1}, {1})}}, "Boxes has rank 2, needs 3");
  ExpectRefused(R"(
feed x : f32 [*]
unique(X=x) -> Out=y flatten=false axis=1 : f32 [*]
fetch y
)",
                {{"x", F({2}, {1, 2})}}, "axis 1 is outside [-1, 1)");
  ExpectRefused(R"(
feed x : f32 [*]
feed mask : bool [*]
masked_select(X=x, Mask=mask) -> Y=y : f32 [?]
fetch y
)",
                {{"x", F({3}, {1, 2, 3})}, {"mask", HostTensor::Of<bool>({4}, {true, true, true, true})}}, "Mask");
}

}  // namespace
}  // namespace ampc
