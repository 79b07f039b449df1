// Layouts in a plan: between two convolutions nothing is transposed by ops that can work channels-last.
#include "runtime/plan/layout_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/exec/observer.h"
#include "tests/runtime/text_session.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

// By name: how the value lies. An alias is not seen.
class Layouts : public StepObserver {
 public:
  absl::Status AfterStep(const ObservedStep& step) override {
    for (const ObservedValue& v : step.results) seen[v.var->name()] = v.desc.layout;
    return absl::OkStatus();
  }
  std::map<std::string, Layout> seen;
};

// A convolution makes a, [1, 4, 6, 5]; `body` makes of it whatever is fetched.
std::string Net(const std::string& body, const std::string& fetch) {
  std::string w;
  for (int i = 0; i < 16; ++i) absl::StrAppend(&w, i == 0 ? "" : ", ", i % 5 - 2, ".0");
  return absl::StrCat("feed x : f32 [1, 4, 6, 5]\nconst w : f32 [4, 4, 1, 1] = [", w,
                      "]\nconst c : f32 [4, 1, 1] = [1.0, 2.0, 3.0, 4.0]\nconst v : f32 [4] = [1.0, 2.0, 3.0, 4.0]\n",
                      "conv2d(Input=x, Filter=w) -> Output=a : f32 [1, 4, 6, 5]\n", body, "fetch ", fetch, "\n");
}

std::map<std::string, Layout> LayoutsOf(const std::string& body, const std::string& fetch) {
  const absl::StatusOr<Session> session = FromText(Net(body, fetch), {.threads = 1});
  EXPECT_OK(session.status());
  if (!session.ok()) return {};
  HostTensor x = *HostTensor::Create(DType::kF32, {1, 4, 6, 5});
  int i = 0;
  for (float& f : x.mutable_values<float>()) f = static_cast<float>(i++ % 7) - 3;
  Layouts layouts;
  EXPECT_OK(session->Run({{"x", x}}, layouts).status());
  return layouts.seen;
}

TEST(LayoutPlan, OpsBetweenConvolutionsKeepTheirOrder) {
  for (const std::string op : {
           "b = concat(a, a) axis=1 : f32 [1, 8, 6, 5]\n",
           "b = concat(a, x) axis=2 : f32 [1, 4, 12, 5]\n",
           "split(X=a) -> Out=[b, b2] axis=1 num=2 : f32 [1, 2, 6, 5], f32 [1, 2, 6, 5]\n",
           "b = slice(a) axes=[1, 3] starts=[1, 0] ends=[3, 4] : f32 [1, 2, 6, 4]\n",
           "b = strided_slice(a) axes=[2] starts=[0] ends=[6] strides=[2] : f32 [1, 4, 3, 5]\n",
           "b = pad(a) paddings=[0, 0, 0, 1, 2, 1, 0, 3] pad_value=1.5 : f32 [1, 5, 9, 8]\n",
           "b = softmax(a) axis=1 : f32 [1, 4, 6, 5]\n",
           "b = log_softmax(a) axis=2 : f32 [1, 4, 6, 5]\n",
           "b = transpose2(a) axis=[0, 1, 3, 2] : f32 [1, 4, 5, 6]\n",
           "b = elementwise_mul(a, c) : f32 [1, 4, 6, 5]\n",
           "b = elementwise_sub(c, a) : f32 [1, 4, 6, 5]\n",
           "b = elementwise_pow(a, v) axis=1 : f32 [1, 4, 6, 5]\n",
       }) {
    SCOPED_TRACE(op);
    const auto layouts = LayoutsOf(op + "y = abs(b) : f32 [?, ?, ?, ?]\nz = reshape2(y) shape=[-1] : f32 [?]\n", "z");
    ASSERT_TRUE(layouts.contains("y"));
    EXPECT_EQ(layouts.at("y"), Layout::kChannelsLast);
  }
}

// To and from the order in which the memory is already: an alias, not a step.
TEST(LayoutPlan, PermutationsToAndFromChannelsLastMoveNothing) {
  const auto layouts = LayoutsOf(
      "b = transpose2(a) axis=[0, 2, 3, 1] : f32 [1, 6, 5, 4]\n"
      "s = tanh(b) : f32 [1, 6, 5, 4]\n"
      "d = transpose2(s) axis=[0, 3, 1, 2] : f32 [1, 4, 6, 5]\n"
      "conv2d(Input=d, Filter=w) -> Output=e : f32 [1, 4, 6, 5]\n"
      "z = reshape2(e) shape=[-1] : f32 [?]\n",
      "z");
  EXPECT_FALSE(layouts.contains("b"));
  EXPECT_EQ(layouts.at("s"), Layout::kPlain);
  EXPECT_FALSE(layouts.contains("d"));
  EXPECT_EQ(layouts.at("e"), Layout::kChannelsLast);
}

// The small operand is transposed, not the large result; where another op goes on with that, nothing is.
TEST(LayoutPlan, AnEnlargedFetchIsRowMajor) {
  const std::string enlarge = "b = bilinear_interp_v2(a) out_h=60 out_w=50 : f32 [1, 4, 60, 50]\n";
  EXPECT_EQ(LayoutsOf(enlarge, "b").at("b"), Layout::kPlain);
  EXPECT_EQ(LayoutsOf(enlarge + "z = sigmoid(b) : f32 [1, 4, 60, 50]\n", "z").at("b"), Layout::kPlain);
  EXPECT_EQ(LayoutsOf(enlarge + "z = pool2d(b) pooling_type=\"max\" ksize=[60, 50] : f32 [1, 4, 1, 1]\n", "z").at("b"),
            Layout::kChannelsLast);
  EXPECT_EQ(LayoutsOf(enlarge + "conv2d(Input=b, Filter=w) -> Output=z : f32 [1, 4, 60, 50]\n", "b, z").at("b"), Layout::kChannelsLast);
  EXPECT_EQ(LayoutsOf("b = bilinear_interp_v2(a) out_h=3 out_w=5 : f32 [1, 4, 3, 5]\n", "b").at("b"), Layout::kChannelsLast);
}

}  // namespace
}  // namespace ampc
