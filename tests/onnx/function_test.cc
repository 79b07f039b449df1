// Local functions of a model: carried as they are, executed in place of their calls.
#include "graph/formats/format.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/verify.h"
#include "runtime/session.h"
#include "tests/formats/onnx/model_text.h"
#include "tests/formats/test_files.h"
#include "tests/testlib/status.h"

namespace ampc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OnnxFunction : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) const {
    WriteFile(folder_ / "m.onnx", ModelFromText(text).SerializeAsString());
    return folder_ / "m.onnx";
  }
  // The output y of the model for x = 1, -2, 3.
  std::vector<float> Run(const std::string& text, const std::vector<float>& x = {1, -2, 3}) const {
    const absl::StatusOr<Session> session = Session::Load(Write(text), {.threads = 1});
    EXPECT_OK(session);
    if (!session.ok()) return {};
    const int64_t n = static_cast<int64_t>(x.size());
    const absl::StatusOr<TensorMap> out = session->Run({{"x", HostTensor::FromValues<float>({n}, x)}});
    EXPECT_OK(out);
    if (!out.ok()) return {};
    const HostTensor& y = out->at("y");
    return {y.values<float>().begin(), y.values<float>().end()};
  }

  TempFolder folder_;
};

constexpr char kTwice[] = R"(
opset 17
opset mine 1
function mine.Twice(a) -> b {
  opset 17
  b = Add(a, a)
}
)";

TEST_F(OnnxFunction, StandsForItsNodes) {
  EXPECT_THAT(Run(std::string(kTwice) + "in x f32 [3]\ny = mine.Twice(x)\nout y f32 [3]\n"), ElementsAre(2, -4, 6));
}

// Two calls, one of what the other gives; a name that the graph has, too; shapes that only a run knows.
TEST_F(OnnxFunction, EachCallHasValuesOfItsOwn) {
  EXPECT_THAT(Run(std::string(kTwice) + "in x f32 [?]\nb = mine.Twice(x)\na = mine.Twice(b)\ny = Add(a, b)\nout y f32 [?]\n"),
              ElementsAre(6, -12, 18));
}

constexpr char kNested[] = R"(
opset 17
opset mine 1
function mine.Scale(a; by) -> b {
  opset 17
  k = Constant() value_float=@by:f
  b = Mul(a, k)
}
function mine.Outer(a; first, axis) -> b, c {
  opset 17
  opset mine 1
  t = mine.Scale(a) by=@first:f
  u = mine.Scale(t) by=3.0
  s = Softmax(u) axis=@axis:i
  b = Relu(u)
  c = Identity(s)
}
in x f32 [3]
y, p = mine.Outer(x) first=-0.5
out y f32 [3]
out p f32 [3]
)";

// Attributes by reference, through two levels; one that the call does not give is the operator's default.
TEST_F(OnnxFunction, OfFunctionsWithAttributes) { EXPECT_THAT(Run(kNested), ElementsAre(0, 3, 0)); }

TEST_F(OnnxFunction, AttributesWithDefaults) {
  onnx::ModelProto model = ModelFromText(R"(
opset 17
opset mine 1
function mine.Scale(a) -> b {
  opset 17
  k = Constant() value=@by:t
  b = Mul(a, k)
}
in x f32 [3]
h = mine.Scale(x)
y = mine.Scale(h) by=f32[1]{10}
out y f32 [3]
)");
  onnx::AttributeProto* by = model.mutable_functions(0)->add_attribute_proto();
  by->set_name("by");
  by->set_type(4);
  by->mutable_t()->add_dims(1);
  by->mutable_t()->set_data_type(1);
  by->mutable_t()->add_float_data(0.25f);
  WriteFile(folder_ / "d.onnx", model.SerializeAsString());
  ASSERT_OK_AND_ASSIGN(const Session session, Session::Load(folder_ / "d.onnx", {.threads = 1}));
  ASSERT_OK_AND_ASSIGN(TensorMap out, session.Run({{"x", HostTensor::Of<float>({3}, {1, -2, 3})}}));
  EXPECT_EQ(out.at("y"), HostTensor::Of<float>({3}, {2.5, -5, 7.5}));
}

// An operand and a result that the call leaves out.
TEST_F(OnnxFunction, OptionalOperandsAndResults) {
  EXPECT_THAT(Run(R"(
opset 17
opset mine 1
function mine.Bound(a, low, high) -> b, c {
  opset 17
  c = Neg(a)
  b = Clip(a, low, high)
}
in x f32 [3]
w top f32 [] = 2
y, _ = mine.Bound(x, , top)
out y f32 [3]
)"),
              ElementsAre(1, -2, 2));
}

// The function's operator set counts: Softmax of 11 takes all dimensions from its axis on for one.
TEST_F(OnnxFunction, HasItsOwnOperatorSet) {
  EXPECT_THAT(Run(R"(
opset 17
opset mine 1
function mine.Share(a) -> b {
  opset 11
  t = Unsqueeze(a) axes=[0, 2]
  s = Softmax(t) axis=0
  b = Squeeze(s) axes=[0, 2]
}
in x f32 [2]
y = mine.Share(x)
out y f32 [2]
)",
                  {0, 0}),
              ElementsAre(0.5, 0.5));
}

// Branches inside, that read the function's values, and a call inside of a branch.
TEST_F(OnnxFunction, WithSubgraphs) {
  constexpr char text[] = R"(
opset 17
opset mine 1
function mine.Twice(a) -> b {
  opset 17
  b = Add(a, a)
}
function mine.Choose(a, flag; by) -> b {
  opset 17
  opset mine 1
  h = Neg(a)
  b = If(flag) then_branch={
    k = Constant() value_float=@by:f
    t = Mul(h, k)
    out t f32 [3]
  } else_branch={
    e = mine.Twice(a)
    out e f32 [3]
  }
}
in x f32 [3]
w zero f32 [] = 0
s = ReduceSum(x) keepdims=0
flag = Greater(s, zero)
y = mine.Choose(x, flag) by=5.0
out y f32 [3]
)";
  EXPECT_THAT(Run(text, {1, 2, 3}), ElementsAre(-5, -10, -15));
  EXPECT_THAT(Run(text, {-1, -2, -3}), ElementsAre(-2, -4, -6));
}

// A weight that the call hands over is read where it is; results have the types of the body.
TEST_F(OnnxFunction, TypesComeOutOfTheBody) {
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(Write(R"(
opset 17
opset mine 1
function mine.Lin(a, b) -> c, n {
  opset 17
  c = MatMul(a, b)
  n = Shape(c)
}
in x f32 [2, 3]
w w f32 [3, 5]
h, n = mine.Lin(x, w)
y = Relu(h)
out y f32 [2, 5]
out n i64 [2]
)")));
  EXPECT_OK(Verify(program));
  EXPECT_EQ(program.main().FindVar("h")->type, TensorType(DType::kF32, {2, 5}));
  EXPECT_EQ(program.main().FindVar("n")->type.dtype, DType::kI64);
  const Op& call = *program.main().ops()[0];
  ASSERT_NE(onnx::FunctionBodyOf(call), nullptr);
  EXPECT_EQ(onnx::FunctionBodyOf(call)->ops().size(), 4u);
}

TEST_F(OnnxFunction, IsWrittenAsItWas) {
  const std::string path = Write(kNested);
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(path));
  ASSERT_OK(SaveModel(program, folder_ / "o.onnx"));
  EXPECT_TRUE(ReadFile(path) == ReadFile(folder_ / "o.onnx"));
}

TEST_F(OnnxFunction, MayNotCallItself) {
  const std::string path = Write(R"(
opset 17
opset mine 1
function mine.A(a) -> b {
  opset mine 1
  b = mine.B(a)
}
function mine.B(a) -> b {
  opset mine 1
  b = mine.A(a)
}
in x f32 [3]
y = mine.A(x)
out y f32 [3]
)");
  EXPECT_THAT(LoadModel(path), StatusIs(ExitCode::kBadInput, HasSubstr("function 'mine.A' calls itself")));
}

// Each calls the one before twice.
// Together, for functions that call functions stand for more nodes than the file could list.
TEST_F(OnnxFunction, BodiesAreLimited) {
  std::string text =
      "opset 17\nopset mine 1\nfunction mine.Few(a) -> b {\n  opset 17\n  b = Neg(a)\n}\nfunction mine.Many(a) -> b {\n  opset 17\n";
  for (int i = 1; i < 249'999; ++i) text += "  c = Neg(a)\n";
  text += "  b = Neg(a)\n}\nfunction mine.F(a) -> b {\n  opset mine 1\n  h = mine.Few(a)\n  b = mine.Many(h)\n}\n";
  text += "in x f32 [3]\ny = mine.F(x)\nout y f32 [3]\n";
  EXPECT_THAT(LoadModel(Write(text)), StatusIs(ExitCode::kUnsupported, HasSubstr("calls that stand for more than 250000 nodes")));
}

TEST_F(OnnxFunction, ThatDoesNotGiveItsResult) {
  EXPECT_THAT(
      LoadModel(Write(
          "opset 17\nopset mine 1\nfunction mine.F(a) -> b {\n  opset 17\n  c = Neg(a)\n}\nin x f32 [3]\ny = mine.F(x)\nout y f32 [3]\n")),
      StatusIs(ExitCode::kBadInput, HasSubstr("reads 'b', which nothing defines")));
}

}  // namespace
}  // namespace ampc::testing
