// Operators whose later versions take an attribute as an operand, have another default, or another name: bf16 came to operators late, and a
// conversion takes each node to the version that the lowest sufficient operator set has (passes/onnx/version_changes.cc, a row for each
// change).
#include "absl/strings/str_cat.h"
#include "tests/field/field.h"

namespace ampc::testing {
namespace {

// A product needs operator set 13, a convolution 22.
constexpr char kProduct[] = "in x f32 [4, 16]\nw w f32 [16, 16]\na = MatMul(x, w)\n";
constexpr char kConv[] = "in x f32 [1, 4, 8, 8]\nw w f32 [4, 4, 1, 1]\na = Conv(x, w)\n";

struct Version {
  std::string name;
  int opset = 0;
  std::string text;
  std::string line;  // of the conversion to bf16
  bool near = true;
};

const Version kVersions[] = {
    {"Slice", 9, absl::StrCat(kProduct, "y = Slice(a) starts=[1, 0] ends=[3, 99] axes=[0, 1]\nout y f32 [2, 16]\n"),
     "y.bf16 = Slice(a, y.operand, y.operand.1, y.operand.2)"},
    {"SliceOfAllAxes", 1, absl::StrCat(kProduct, "y = Slice(a) starts=[1, 0] ends=[3, -1]\nout y f32 [2, 15]\n"),
     "y.bf16 = Slice(a, y.operand, y.operand.1)"},
    {"Pad", 10, absl::StrCat(kProduct, "b = Relu(a)\ny = Pad(b) pads=[0, 1, 2, 0] value=1.5\nout y f32 [6, 17]\n"),
     "y.bf16 = Pad(b, y.operand, y.operand.1)"},
    {"PadWithZeros", 2, absl::StrCat(kProduct, "b = Relu(a)\ny = Pad(b) pads=[0, 1, 2, 0]\nout y f32 [6, 17]\n"),
     "y.bf16 = Pad(b, y.operand)"},
    {"Clip", 6, absl::StrCat(kProduct, "y = Clip(a) min=0.0 max=6.0\nout y f32 [4, 16]\n"), "y.bf16 = Clip(a, y.operand, y.operand.1)"},
    {"ClipBelow", 10, absl::StrCat(kProduct, "y = Clip(a) min=0.0\nout y f32 [4, 16]\n"), "y.bf16 = Clip(a, y.operand)"},
    {"Split", 11, absl::StrCat(kProduct, "b, c = Split(a) axis=1 split=[4, 12]\nout b f32 [4, 4]\nout c f32 [4, 12]\n"),
     "b.bf16, c.bf16 = Split(a, b.operand)"},
    {"SplitIntoEqualParts", 13, absl::StrCat(kConv, "b, c = Split(a) axis=1\nout b f32 [1, 2, 8, 8]\nout c f32 [1, 2, 8, 8]\n"),
     "b.bf16, c.bf16 = Split(a)"},
    {"TopK", 9, absl::StrCat(kProduct, "y, i = TopK(a) k=3\nout y f32 [4, 3]\n"), "y, i = TopK(a.f32, y.operand)"},
    {"BatchNormalization", 7,
     absl::StrCat(kConv, "w s f32 [4] = 1, 2, 1, 2\nw v f32 [4] = 1\ny = BatchNormalization(a, s, s, s, v)\nout y f32 [1, 4, 8, 8]\n"), ""},
    {"BatchNormalizationOfTests", 6,
     absl::StrCat(kConv,
                  "w s f32 [4] = 1, 2, 1, 2\nw v f32 [4] = 1\ny = BatchNormalization(a, s, s, s, v) is_test=1\nout y f32 [1, 4, 8, 8]\n"),
     ""},
    {"Dropout", 7, absl::StrCat(kProduct, "y = Dropout(a) ratio=0.25\nout y f32 [4, 16]\n"), "y.bf16 = Dropout(a, y.operand)"},
    {"DropoutByDefault", 10, absl::StrCat(kProduct, "y = Dropout(a)\nout y f32 [4, 16]\n"), "y.bf16 = Dropout(a)"},
    {"ReduceSum", 11, absl::StrCat(kProduct, "y = ReduceSum(a) axes=[1] keepdims=0\nout y f32 [4]\n"), ""},
    {"ReduceMax", 17, absl::StrCat(kConv, "y = ReduceMax(a) axes=[2, 3]\nout y f32 [1, 4, 1, 1]\n"), "y.bf16 = ReduceMax(a, y.operand)"},
    {"ReduceMin", 11, absl::StrCat(kConv, "y = ReduceMin(a) axes=[-1]\nout y f32 [1, 4, 8, 1]\n"), "y.bf16 = ReduceMin(a, y.operand)"},
    {"ReduceL1", 11, absl::StrCat(kConv, "y = ReduceL1(a) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceL2", 13, absl::StrCat(kConv, "y = ReduceL2(a) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceProd", 11, absl::StrCat(kConv, "y = ReduceProd(a) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceLogSumExp", 11, absl::StrCat(kConv, "y = ReduceLogSumExp(a) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceLogSum", 11, absl::StrCat(kConv, "b = Exp(a)\ny = ReduceLogSum(b) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceSumSquare", 11, absl::StrCat(kConv, "y = ReduceSumSquare(a) axes=[1]\nout y f32 [1, 1, 8, 8]\n"), ""},
    {"ReduceMeanOfAll", 11, absl::StrCat(kConv, "y = ReduceMean(a) keepdims=0\nout y f32 []\n"), ""},
    {"Unsqueeze", 11, absl::StrCat(kProduct, "y = Unsqueeze(a) axes=[0, 3]\nout y f32 [1, 4, 16, 1]\n"),
     "y.bf16 = Unsqueeze(a, y.operand)"},
    {"Squeeze", 11, absl::StrCat(kConv, "b = ReduceMax(a) axes=[2, 3]\ny = Squeeze(b) axes=[2, 3]\nout y f32 [1, 4]\n"),
     "y.bf16 = Squeeze(b, y.operand)"},
    {"Scatter", 9, absl::StrCat(kProduct, "w i i64 [1, 2] = 1, 3\nw u f32 [1, 2] = 0.5\ny = Scatter(a, i, u) axis=1\nout y f32 [4, 16]\n"),
     "y.bf16 = ScatterElements(a, i, u)"},
    {"RoiAlign", 15,
     absl::StrCat(
         kConv,
         "w r f32 [1, 4] = 1, 1, 6, 6\nw i i64 [1] = 0\ny = RoiAlign(a, r, i) output_height=2 output_width=2\nout y f32 [1, 4, 2, 2]\n"),
     ""},
    {"GridSample", 16, absl::StrCat(kConv, "w g f32 [1, 4, 4, 2]\ny = GridSample(a, g) mode=\"bicubic\"\nout y f32 [1, 4, 4, 4]\n"), ""},
    {"GridSampleByDefault", 16, absl::StrCat(kConv, "w g f32 [1, 4, 4, 2]\ny = GridSample(a, g)\nout y f32 [1, 4, 4, 4]\n"), ""},
    {"Dft", 17, absl::StrCat(kConv, "w n i64 [4] = 1, 32, 8, 1\nb = Reshape(a, n)\ny = DFT(b) axis=2\nout y f32 [1, 32, 8, 2]\n"), ""},
    {"Softmax", 12, absl::StrCat(kConv, "b = Softmax(a) axis=1\ny = Mul(b, a)\nout y f32 [1, 4, 8, 8]\n"), "b = Reshape(b.rows, b.dims)"},
    {"SoftmaxOfTheLast", 12, absl::StrCat(kConv, "b = Softmax(a) axis=3\ny = Mul(b, a)\nout y f32 [1, 4, 8, 8]\n"), "b = Softmax(a)"},
    {"LogSoftmax", 11, absl::StrCat(kConv, "y = LogSoftmax(a)\nout y f32 [1, 4, 8, 8]\n"), ""},
    {"Hardmax", 11, absl::StrCat(kConv, "y = Hardmax(a) axis=2\nout y f32 [1, 4, 8, 8]\n"), "", false},
    {"TwoInARow", 11, absl::StrCat(kConv, "b = Softmax(a) axis=2\nc = Softmax(b) axis=1\ny = Conv(c, w)\nout y f32 [1, 4, 8, 8]\n"), ""},
    {"Reshape", 1, absl::StrCat(kProduct, "y = Reshape(a) shape=[2, -1]\nout y f32 [2, 32]\n"), "y.bf16 = Reshape(a, y.operand)"},
    {"Add", 6, absl::StrCat(kProduct, "w b f32 [16]\ny = Add(a, b) broadcast=1 axis=1\nout y f32 [4, 16]\n"), "y.bf16 = Add(a, b)"},
    {"Gemm", 6, "in x f32 [4, 16]\nw w f32 [16, 16]\nw b f32 [16]\ny = Gemm(x, w, b) broadcast=1\nout y f32 [4, 16]\n",
     "y.bf16 = Gemm(x.bf16, w, b)"},
    {"PRelu", 6, absl::StrCat(kProduct, "w s f32 [1] = 0.25\ny = PRelu(a, s)\nout y f32 [4, 16]\n"), "y = PRelu(a.f32, s)"},
    // A tensor attribute: its type, which the record keeps beside it, is no attribute of the node.
    {"ConstantOfShape", 17,
     absl::StrCat(kConv, "w n i64 [1] = 4\ns = ConstantOfShape(n) value=i64[1]{1}\ny = Expand(a, s)\nout y f32 [1, 4, 8, 8]\n"),
     "s = ConstantOfShape(n)"},
    {"ConstantOfShapeOfFloats", 11,
     absl::StrCat(kConv, "w n i64 [1] = 8\ns = ConstantOfShape(n) value=f32[1]{0.5}\ny = Add(a, s)\nout y f32 [1, 4, 8, 8]\n"), ""},
    {"ConstantOfShapeByDefault", 9, absl::StrCat(kConv, "w n i64 [1] = 8\ns = ConstantOfShape(n)\ny = Add(a, s)\nout y f32 [1, 4, 8, 8]\n"),
     ""},
    // A constant that was an attribute is none that the weight's mean was computed from.
    {"StandardizedWeights", 17,
     "in x f32 [1, 4, 8, 8]\nw w f32 [4, 4, 1, 1]\nm = ReduceMean(w) axes=[1, 2, 3]\nc = Sub(w, m)\ny = Conv(x, c)\nout y f32 [1, 4, 8, "
     "8]\n",
     "m = ReduceMean(w, m.operand)"},
    {"OfAnUnknownRank", 11, "in x f32 [*]\nw w f32 [4, 4, 1, 1]\nb = Softmax(x) axis=2\ny = Conv(b, w)\nout y f32 [*]\n", ""},
};

class VersionTest : public FieldTest, public ::testing::WithParamInterface<Version> {};

TEST_P(VersionTest, KeepsItsMeaning) {
  const Version& version = GetParam();
  const bool runs = version.text.find("[*]") == std::string::npos;
  const Converted low =
      Converts(absl::StrCat("opset ", version.opset, "\n", version.text), {.dtype = "bf16", .runs = runs, .near = version.near});
  EXPECT_GT(low.model().opset_import(0).version(), version.opset);
  if (!version.line.empty()) {
    EXPECT_EQ(low.Line(version.line.substr(0, version.line.find_first_of(", "))), version.line);
  }
}
INSTANTIATE_TEST_SUITE_P(Versions, VersionTest, ::testing::ValuesIn(kVersions),
                         [](const ::testing::TestParamInfo<Version>& info) { return info.param.name; });

using FieldVersions = FieldTest;

// Bounds and values of f16, in a part that is low already.
TEST_F(FieldVersions, OfOperandsThatAreLow) {
  const Converted low = Converts(R"(
opset 10
in x f32 [1, 4, 8, 8]
w w f16 [4, 4, 1, 1]
w v f32 [4, 4, 1, 1]
h = Cast(x) to=f16
c = Conv(h, w)
d = Clip(c) min=0.0 max=6.0
p = Pad(d) pads=[0, 0, 1, 1, 0, 0, 1, 1] value=0.5
f = Cast(p) to=f32
y = Conv(f, v)
out y f32 [1, 4, 10, 10]
)",
                                 {.dtype = "bf16"});
  EXPECT_EQ(low.Line("d"), "d = Clip(c, d.operand, d.operand.1)");
  EXPECT_EQ(low.TypeOf("d.operand.1"), 10);
}

// The set of the model, not the version of the operator.
TEST_F(FieldVersions, WithoutALosslessConversion) {
  Converts(absl::StrCat("opset 17\n", kConv, "y = ReduceMax(a) own=1\nout y f32 [1, 1, 1, 1]\n"), {.runs = false});
  ExpectFailure({"convert", "m.onnx", "-o", "o.onnx", "--dtype", "bf16"}, 4,
                "the model has 17, and op 'ReduceMax' -> 'y' is carried as it is");
}

// Its scale and bias, of a group each, are repeated for each channel.
TEST_F(FieldVersions, OfEntriesForEachGroup) {
  const std::string text =
      absl::StrCat("opset 18\n", kConv, "w s f32 [2] = 0.5, 2\ny = GroupNormalization(a, s, s) num_groups=2\nout y f32 [1, 4, 8, 8]\n");
  Converts(text);
  const Converted low = Converts(text, {.dtype = "bf16"});
  EXPECT_NE(low.Line("y.repeated").find("= Gather("), std::string::npos) << low.Line("y.repeated");
}

// A slope for each channel, or a bias for the first dimensions, would go to the last ones.
TEST_F(FieldVersions, OfOperandsThatAreBroadcastElsewhere) {
  for (const std::string node : {"y = PRelu(a, s)", "y = Add(a, s) broadcast=1 axis=1"}) {
    Converts(absl::StrCat("opset 6\n", kConv, "w s f32 [4]\n", node, "\nout y f32 [1, 4, 8, 8]\n"));
    ExpectFailure({"convert", "m.onnx", "-o", "o.onnx", "--dtype", "bf16"}, 4,
                  "the model has 6, and these ops have no lossless conversion");
  }
}

constexpr char kFunction[] = R"(
opset 17
opset mine 1
function mine.Pool(a, flag; keep) -> b {
  opset 17
  opset mine 1
  r = Relu(a)
  m = ReduceMean(r) axes=[2, 3] keepdims=@keep:i
  b = If(flag) then_branch={
    t = ReduceMax(m) axes=[1] keepdims=1
    u = mine.Twice(t)
    out u f32 [*]
  } else_branch={
    e = Identity(m)
    out e f32 [*]
  }
}
function mine.Twice(a) -> b {
  opset 13
  m.operand = Add(a, a)
  b = Clip(m.operand)
}
in x f32 [1, 4, 8, 8]
in m bool []
w w f32 [4, 4, 1, 1]
c = Conv(x, w)
d = mine.Pool(c, m) keep=0
y = Relu(d)
out y f32 [*]
)";

// The operators of a function's body are those of the model's set (checkers ask for it), in branches, too; what a call gives stays open.
TEST_F(FieldVersions, OfFunctions) {
  const Converted low = Converts(kFunction, {.dtype = "bf16"});
  ASSERT_EQ(low.model().functions_size(), 2);
  const onnx::FunctionProto& pool = low.model().functions(0);
  EXPECT_EQ(pool.opset_import(0).version(), 22);
  EXPECT_EQ(pool.opset_import(1).version(), 1);
  ASSERT_EQ(pool.node_size(), 4);
  EXPECT_EQ(pool.node(1).op_type(), "Constant");
  EXPECT_EQ(pool.node(2).input(1), pool.node(1).output(0));
  ASSERT_EQ(pool.node(2).attribute_size(), 1);
  EXPECT_EQ(pool.node(2).attribute(0).ref_attr_name(), "keep");
  EXPECT_EQ(pool.node(3).attribute(0).g().node_size(), 3);
  EXPECT_EQ(low.model().functions(1).opset_import(0).version(), 22);
}

TEST_F(FieldVersions, OfFunctionsThatCannotFollow) {
  std::string text = kFunction;
  text.replace(text.find("b = Clip(m.operand)"), 19, "b = Softmax(m.operand) axis=@axis:i");
  text.replace(text.find("opset 13"), 8, "opset 12");
  Converts(text);
  ExpectFailure({"convert", "m.onnx", "-o", "o.onnx", "--dtype", "bf16"}, 4, "function 'mine.Twice': Softmax -> 'b'");
}

}  // namespace
}  // namespace ampc::testing
