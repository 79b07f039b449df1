// Shapes that a file declares are hints: whatever it says of the values in a block, or of what a block gives, the results are the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/host_tensor.h"
#include "runtime/session.h"
#include "tests/formats/onnx/model_text.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

struct Example {
  const char* name;
  const char* text;      // each <shape> is what a right file declares there
  std::vector<float> y;  // for x = 1, 2, 3
};

// A list that begins empty, as torch writes it; a state that changes its rank; what a body computes on the way; two levels.
const Example kExamples[] = {
    {"list",
     R"(
opset 17
in x f32 <[3]>
w none f32 [0, 3]
w most i64 [] = 2
w yes bool [] = 1
w row i64 [2] = 1, 3
list = Loop(most, yes, none) body={
  in i i64 <[]>
  in go bool <[]>
  in so_far f32 <[?, 3]>
  next = Reshape(x, row)
  value next f32 <[1, 3]>
  longer = Concat(so_far, next) axis=0
  on = Identity(go)
  out on bool <[]>
  out longer f32 <[?, 3]>
}
value list f32 <[2, 3]>
y = ReduceSum(list) keepdims=0
out y f32 []
)",
     {12}},
    {"rank",
     R"(
opset 17
in x f32 <[3]>
w zero f32 [] = 0
w most i64 [] = 3
w yes bool [] = 1
sum, all = Loop(most, yes, zero) body={
  in i i64 <[]>
  in go bool <[]>
  in before f32 <[3]>
  after = Add(before, x)
  value after f32 <[3]>
  on = Identity(go)
  out on bool <[]>
  out after f32 <[3]>
  out x f32 <[3]>
}
value sum f32 <[3]>
value all f32 <[3, 3]>
last = ReduceMean(all) axes=[0] keepdims=0
y = Add(sum, last)
out y f32 <[3]>
)",
     {4, 8, 12}},
    {"branches",
     R"(
opset 17
in x f32 <[3]>
w axes i64 [1] = 0
w none f32 [] = 0
m = ReduceMax(x) keepdims=0
positive = Greater(m, none)
value positive bool <[]>
b = If(positive) then_branch={
  t = Neg(x)
  value t f32 <[3]>
  u = Neg(t)
  out u f32 <[3]>
} else_branch={
  e = Unsqueeze(x, axes)
  out e f32 <[1, 3]>
}
value b f32 <[3]>
shape = Shape(b)
value shape i64 <[1]>
flat = Reshape(b, shape)
y = Softplus(flat)
out y f32 <[3]>
)",
     {1.3132616f, 2.126928f, 3.0485873f}},
    {"scan",
     R"(
opset 17
in x f32 <[3]>
w start f32 [] = 0
last, y = Scan(start, x) num_scan_inputs=1 body={
  in before f32 <[]>
  in one f32 <[]>
  sum = Add(before, one)
  value sum f32 <[]>
  copy = Identity(sum)
  out sum f32 <[]>
  out copy f32 <[]>
}
value last f32 <[]>
out y f32 <[3]>
)",
     {1, 3, 6}},
};

class Declared : public ::testing::TestWithParam<Example> {
 protected:
  void ExpectRuns(const std::string& text) {
    SCOPED_TRACE(text);
    WriteFile(folder_ / "m.onnx", ModelFromText(text).SerializeAsString());
    ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(folder_ / "m.onnx", {.threads = 1}));
    ASSERT_OK_AND_ASSIGN(const TensorMap out, session.Run({{"x", HostTensor::Of<float>({3}, {1, 2, 3})}}));
    const HostTensor& y = out.at("y");
    ASSERT_EQ(y.num_elements(), static_cast<int64_t>(GetParam().y.size()));
    for (size_t i = 0; i < GetParam().y.size(); ++i) EXPECT_NEAR(y.values<float>()[i], GetParam().y[i], 1e-6);
  }

  TempFolder folder_;
};

TEST_P(Declared, Right) { ExpectRuns(absl::StrReplaceAll(GetParam().text, {{"<", ""}, {">", ""}})); }

// Each declaration in turn is wrong; the feed's is none: it is what may be fed.
TEST_P(Declared, Wrong) {
  const std::string text = GetParam().text;
  for (size_t at = text.find('<', text.find('<') + 1); at != std::string::npos; at = text.find('<', at + 1)) {
    for (const char* wrong : {"[0, 320]", "[7]", "[]", "[*]", "[1, 1, 1, 1, 1]"}) {
      std::string changed = text;
      changed.replace(at, text.find('>', at) - at + 1, wrong);
      ExpectRuns(absl::StrReplaceAll(changed, {{"<", ""}, {">", ""}}));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Declared, ::testing::ValuesIn(kExamples), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ampc::testing
