// Names, order, initializers, subgraphs, shapes, size (README.md, rows 26 to 41).
#include "tests/field/field.h"
#include "tests/formats/onnx/model_text.h"

namespace ampc::testing {
namespace {

// clang-format off
const FieldModel kModels[] = {
    // They stay in the file's order, which is the producer's; every reader that sorts by itself takes it.
    {.name = "NodesOutOfOrder", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
y = MatMul@last(c, w)
b = Exp(a)
c = Log(b)
a = MatMul@first(x, w)
out y f32 [4, 16]
)"},
    {.name = "AnInitializerWithFp32AndLowReaders", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w b f32 [16]
a = MatMul(x, w)
e = Exp(w)
l = Log(e)
c = MatMul(a, l)
y = Add(c, b)
z = Exp(b)
out y f32 [4, 16]
out z f32 [16]
)", .lines = {"a = MatMul(x.f16, w.f16)", "z = Exp(b)"}, .full = {"w"}, .low = {"w.f16"}},
    {.name = "OutputsThatAreInputsOrInitializers", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w k f32 [2] = 1, 70000
y = MatMul(x, w)
out y f32 [4, 16]
out x f32 [4, 16]
out w f32 [16, 16]
out k f32 [2]
)", .full = {"w", "k"}},
    {.name = "OneValueUnderTwoNames", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
a = MatMul(x, w)
y = Identity(a)
z = Identity(a)
out y f32 [4, 16]
out z f32 [4, 16]
)"},
    {.name = "NodesThatNothingReads", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w unused f32 [5]
y = MatMul(x, w)
d = Exp(x)
e = MatMul(d, w)
out y f32 [4, 16]
)"},
    {.name = "ConstantNodes", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
k = Constant() value=f32[16]{0.5, 0.25}
f = Constant() value_float=2.5
l = Constant() value_floats=[1.0]
a = MatMul(x, w)
b = Mul(a, f)
c = Add(b, k)
d = Add(c, l)
e = Exp(f)
y = Add(d, e)
out y f32 [4, 16]
)", .lines = {"e = Exp(f)"}},
    // A branch that is the outer value itself.
    {.name = "ABranchWithoutNodes", .text = R"(
opset 17
in x f32 [4, 16]
in m bool []
w w f32 [16, 16]
a = MatMul(x, w)
b = If(m) then_branch={
  t = MatMul(a, w)
  out t f32 [4, 16]
} else_branch={
  e = Identity(a)
  out e f32 [4, 16]
}
y = MatMul(b, w)
out y f32 [4, 16]
)"},
    // The state of a loop has one type at its start, in its body and at its end.
    {.name = "StatesOfLoops", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w n i64 [] = 3
a = MatMul(x, w)
l, all = Loop(n, , a) body={
  in i i64 []
  in go bool []
  in s f32 [4, 16]
  t = MatMul(s, w)
  u = Tanh(t)
  on = Identity(go)
  v = ReduceMean(u) axes=[1] keepdims=0
  out on bool []
  out u f32 [4, 16]
  out v f32 [4]
}
y = MatMul(l, w)
out y f32 [4, 16]
out all f32 [?, 4]
)"},
    {.name = "ALoopThatGivesWhatItGets", .text = R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w n i64 [] = 3
l, all = Loop(n, , x) body={
  in i i64 []
  in go bool []
  in s f32 [4, 16]
  on = Identity(go)
  t = MatMul(s, w)
  out on bool []
  out t f32 [4, 16]
  out s f32 [4, 16]
}
y = MatMul(l, w)
out y f32 [4, 16]
out all f32 [?, 4, 16]
)"},
    {.name = "Scans", .text = R"(
opset 17
in x f32 [4, 1, 16]
w w f32 [16, 16]
w s0 f32 [1, 16] = 0
a = MatMul(x, w)
last, all = Scan(s0, a) num_scan_inputs=1 body={
  in s f32 [1, 16]
  in e f32 [1, 16]
  t = MatMul(e, w)
  u = Add(s, t)
  o = Relu(u)
  out u f32 [1, 16]
  out o f32 [1, 16]
}
out last f32 [1, 16]
out all f32 [4, 1, 16]
)"},
    // Shapes that nobody knows, and that no inference finds.
    {.name = "UnknownShapes", .text = R"(
opset 17
in x f32 [?, rows]
w w f32 [4, 16]
w two f32 [] = 2
a = MatMul(x, w)
n = NonZero(a)
t = Transpose(n)
g = GatherND(a, t)
b = Mul(g, two)
s = Shape(b)
y = Expand(b, s)
out y f32 [?]
)"},
    // Numbers of frames in floats: f16 counts to 2048.
    {.name = "CountingInFloats", .text = R"(
opset 17
in x f32 [1, 6000]
w at i64 [] = 1
w hop f32 [] = 3
w zero i64 [] = 0
w one i64 [] = 1
s = Shape(x)
n = Gather(s, at)
nf = Cast(n) to=f32
q = Div(nf, hop)
fl = Floor(q)
count = Cast(fl) to=i64
r = Range(zero, count, one)
rf = Cast(r) to=f32
p = Mul(rf, hop)
i = Cast(p) to=i64
g = Gather(x, i) axis=1
y = Neg(g)
out y f32 [1, 2000]
out i i64 [2000]
)", .lines = {"p = Mul(rf, hop)"}, .full = {"hop"}},
    // Sizes that are computed in floats, up to the operator that takes them.
    {.name = "SizesComputedInFloats", .text = R"(
opset 13
in x f32 [1, 3, 8, 8]
w w f32 [3, 3, 1, 1]
w two f32 [4] = 1, 1, 2, 2
w st i64 [4] = 0
w en i64 [4] = 1, 3, 9, 9
a = Conv(x, w)
s = Shape(x)
f = Cast(s) to=f32
g = Mul(f, two)
i = Cast(g) to=i64
b = Resize(a, , , i) mode="linear"
y = Slice(b, st, en)
out y f32 [1, 3, 9, 9]
)", .lines = {"b = Resize(a, , , i)"}, .full = {"two"}},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Graphs, FieldModelTest, ::testing::ValuesIn(kModels), NameOfFieldModel);

using FieldGraphs = FieldTest;
using ::testing::HasSubstr;

TEST_F(FieldGraphs, NodesWithOneNameOrNone) {
  for (const std::string name : {"@n", ""}) {
    const Converted low =
        Converts("opset 17\nin x f32 [4, 16]\nw w f32 [16, 16]\na = MatMul" + name + "(x, w)\nb = Exp" + name + "(a)\nc = Log" + name +
                 "(b)\nd = MatMul" + name + "(c, w)\ny = Relu" + name + "(d)\nout y f32 [4, 16]\n");
    for (const auto& node : low.model().graph().node())
      EXPECT_TRUE(node.name() == (name.empty() ? "" : "n") || node.name().find("ampc/") == 0) << node.name();
  }
}

// Models of older tools list initializers as inputs, too: what is declared there follows.
TEST_F(FieldGraphs, InitializersThatAreInputs) {
  const Converted low = Converts(R"(
opset 17
in x f32 [4, 16]
in w f32 [16, 16]
in b f32 [16]
w w f32 [16, 16]
w b f32 [16]
a = MatMul(x, w)
y = Add(a, b)
out y f32 [4, 16]
)");
  EXPECT_EQ(low.TypeOf("w"), 10);
  EXPECT_EQ(low.model().graph().input(1).type().tensor_type().elem_type(), 10);
  EXPECT_EQ(low.model().graph().input(0).type().tensor_type().elem_type(), 1);
}

constexpr char kIf[] = R"(
opset 17
in x f32 [4, 16]
in m bool []
w w f32 [16, 16]
a = MatMul@n(x, w)
b = If@n(m) then_branch={
  t = MatMul@n(a, w)
  r = Exp(t)
  s = Log(r)
  out s f32 [4, 16]
} else_branch={
  w v f32 [16, 16]
  s = MatMul@n(a, v)
  out s f32 [4, 16]
}
c = If(m) then_branch={
  u = Identity(w)
  out u f32 [16, 16]
} else_branch={
  k = Constant() value=f32[16,16]{0.25}
  out k f32 [16, 16]
}
y = MatMul(b, c)
out y f32 [4, 16]
)";

// A value that a branch reads from outside is cast in the branch, its results have one type, and a weight may be low for a branch alone.
TEST_F(FieldGraphs, Branches) {
  const Converted low = Converts(kIf);
  EXPECT_EQ(low.TypeOf("v"), 10);
  const onnx::GraphProto& then = *GraphsOf(low.model())[1];
  EXPECT_EQ(then.output(0).type().tensor_type().elem_type(), 1);
  EXPECT_EQ(then.node(0).op_type(), "MatMul") << "a is low outside already";
  Converts(kIf, {.dtype = "bf16"});
}

// Sequences go through branches and loops; their elements keep their type.
TEST_F(FieldGraphs, Sequences) {
  const std::string begin =
      "opset 17\nin x f32 [4, 16]\nin m bool []\nw w f32 [16, 16]\nw k i64 [] = 0\nw n i64 [] = 2\na = MatMul(x, w)\ns = "
      "SequenceConstruct(a, x)\n";
  const std::string end = "e = SequenceAt(u, k)\ny = MatMul(e, w)\nout y f32 [4, 16]\n";
  const std::string branches =
      "i = Identity(s)\nu = If(m) then_branch={\n  q = Identity(i)\n  out q seq(f32) [4, 16]\n} else_branch={\n  r = SequenceEmpty()\n"
      "  t = SequenceInsert(r, a)\n  out t seq(f32) [4, 16]\n}\n";
  const std::string loop =
      "u = Loop(n, m, s) body={\n  in i i64 []\n  in go bool []\n  in t seq(f32) [4, 16]\n  on = Identity(go)\n  v = SequenceInsert(t, a)\n"
      "  out on bool []\n  out v seq(f32) [4, 16]\n}\n";
  for (const std::string& middle : {branches, loop}) {
    for (const std::string dtype : {"fp16", "bf16"}) {
      const Converted low = Converts(begin + middle + end, {.dtype = dtype});
      EXPECT_EQ(low.TypeOf("w"), dtype == "fp16" ? 10 : 16);
    }
  }
}

// A run takes and gives tensors.
TEST_F(FieldGraphs, SequencesAtTheBorder) {
  Converts("opset 17\nin x f32 [4, 16]\ns = SequenceConstruct(x)\nout s seq(f32) [4, 16]\n", {.runs = false});
  for (const std::string model : {"m.onnx", "low.onnx"}) {
    ExpectFailure({"run", model, "--input", "in.npz", "-o", "o.npz"}, 4,
                  "fetch 's' is array<f32> [*], models are executed with tensors as fetches");
  }
}

// The body's values have names that outer values have, too.
TEST_F(FieldGraphs, NamesThatHideOthers) {
  const Converted low = Converts(R"(
opset 17
in x f32 [4, 16]
w w f32 [16, 16]
w n i64 [] = 2
a = MatMul(x, w)
y, sums = Loop(n, , a) body={
  in i i64 []
  in go bool []
  in s f32 [4, 16]
  on = Identity(go)
  y = MatMul(s, w)
  sums = ReduceMean(y) axes=[1] keepdims=0
  out on bool []
  out y f32 [4, 16]
  out sums f32 [4]
}
out y f32 [4, 16]
out sums f32 [?, 4]
)");
  // No value of the body has another type than the outer one of its name: checkers look outside.
  const onnx::GraphProto& body = *GraphsOf(low.model())[1];
  for (const auto& node : body.node()) {
    const bool hides = node.output(0) == "y" || node.output(0) == "sums";
    EXPECT_TRUE(!hides || node.op_type() == "Cast") << node.output(0);
  }
}

// The weights lie beside the model, at an offset beyond 2 GiB in a file that is all hole but for them: nothing is read that is not needed.
TEST_F(FieldGraphs, WeightsBeyondTwoGigabytes) {
  onnx::ModelProto model = ModelFromText("opset 17\nin x f32 [1, 2]\nw w f32 [2, 16]\na = MatMul(x, w)\ny = Relu(a)\nout y f32 [1, 16]\n");
  onnx::TensorProto* tensor = model.mutable_graph()->mutable_initializer(0);
  const std::string values = tensor->raw_data();
  constexpr int64_t kOffset = int64_t{5} << 30;
  tensor->clear_raw_data();
  tensor->set_data_location(1);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "w.bin"},
                                   {"offset", std::to_string(kOffset)},
                                   {"length", std::to_string(values.size())}}) {
    onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  Write("m.onnx", model.SerializeAsString());
  {
    std::ofstream file(folder_ / "w.bin", std::ios::binary);
    file.seekp(kOffset);
    file.write(values.data(), static_cast<std::streamsize>(values.size()));
    ASSERT_TRUE(file.good());
  }
  WriteArchive("in.npz", {{"x", HostTensor::Of<float>({1, 2}, {1, -2})}});
  Ok({"convert", "m.onnx", "-o", "low.onnx", "--no-sync"});
  Ok({"run", "m.onnx", "--input", "in.npz", "-o", "before.npz"});
  Ok({"run", "low.onnx", "--input", "in.npz", "-o", "after.npz"});
  const HostTensor before = ReadArchive("before.npz").at("y"), after = ReadArchive("after.npz").at("y");
  for (int i = 0; i < 16; ++i) EXPECT_EQ(before.values<float>()[i], after.values<float>()[i]);  // exact in f16
  EXPECT_LT(Read("low.onnx.data").size(), 10000u);
}

}  // namespace
}  // namespace ampc::testing
