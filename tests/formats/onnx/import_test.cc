// Programs that the importer makes of models.
#include "graph/base/half.h"
#include "graph/formats/format.h"
#include "graph/verify.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::RawBytes;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Program> Load(const onnx::ModelProto& model) {
  const TempFolder folder;
  return LoadModel(WriteModel(folder, model));
}

std::vector<std::string> OpTypes(const Block& block) {
  std::vector<std::string> types;
  for (const std::unique_ptr<Op>& op : block.ops()) types.push_back(op->type().substr(0, op->type().rfind('.')));
  return types;
}

const Op& OpOf(const Program& program, absl::string_view result) {
  const Op* found = nullptr;
  ForEachOp(program, [&](const Op& op) {
    for (const Var* var : op.outputs()) found = var->name() == result ? &op : found;
  });
  return *found;
}

TEST(OnnxImport, CastIsNativeAndAForeignDomainIsOpaque) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  testing::SetInt(g.Node("Cast", {"x"}, {"h"}), "to", testing::kOnnxF16);
  g.Node("Gelu", {"h", "", "x"}, {"y"})->set_domain("com.microsoft");
  g.Out("y", {2, 3}, testing::kOnnxF16);
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  ASSERT_OK(Verify(program));
  const Op& cast = OpOf(program, "h");
  EXPECT_EQ(cast.type(), "cast");
  EXPECT_EQ(cast.GetDType("out_dtype"), DType::kF16);
  EXPECT_EQ(program.main().FindVar("h")->type, TensorType(DType::kF16, {2, 3}));
  const Op& gelu = OpOf(program, "y");
  EXPECT_EQ(gelu.type(), "com.microsoft.Gelu");
  EXPECT_TRUE(gelu.def().opaque);
  EXPECT_EQ(gelu.inputs().size(), 2u);
  EXPECT_EQ(gelu.inputs(1).size(), 0u);
  ASSERT_EQ(program.feeds.size(), 1u);
  EXPECT_EQ(program.feeds[0]->name(), "x");
}

TEST(OnnxImport, ConstantsOfEveryForm) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  onnx::TensorProto* typed = g->add_initializer();
  typed->set_name("typed");
  typed->set_data_type(testing::kOnnxF16);
  typed->add_dims(2);
  typed->add_int32_data(0x3c00);
  typed->add_int32_data(0xc000);
  onnx::TensorProto* longs = g->add_initializer();
  longs->set_name("longs");
  longs->set_data_type(testing::kOnnxI64);
  longs->add_dims(2);
  longs->add_int64_data(-1);
  longs->add_int64_data(5);
  onnx::TensorProto* text = g->add_initializer();
  text->set_name("text");
  text->set_data_type(testing::kOnnxString);
  text->add_dims(1);
  text->add_string_data("a");
  g.Initializer("large", {1025}, std::vector<float>(1025, 0.5f));
  onnx::AttributeProto* ints = g.Node("Constant", {}, {"ints"})->add_attribute();
  ints->set_name("value_ints");
  ints->set_type(7);
  ints->add_ints(3);
  ints->add_ints(4);
  onnx::AttributeProto* one = g.Node("Constant", {}, {"one"})->add_attribute();
  one->set_name("value_float");
  one->set_type(1);
  one->set_f(1.5f);
  g.Constant("raw", testing::kOnnxF32, {1}, RawBytes<float>({7}));
  g.Node("Identity", {"raw"}, {"y"});
  g.Out("y", {1});
  g.Out("large", {1025});
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  const Block& main = program.main();
  ASSERT_NE(main.FindVar("typed")->literal, nullptr);
  EXPECT_EQ(main.FindVar("typed")->literal->values<Half>()[1].bits, 0xc000);
  EXPECT_THAT(main.FindVar("longs")->literal->values<int64_t>(), ElementsAre(-1, 5));
  EXPECT_EQ(main.FindVar("text")->type.kind, TypeKind::kOpaque);
  EXPECT_EQ(main.FindVar("large")->kind, VarKind::kParam);
  ASSERT_NE(main.FindVar("large")->weight, nullptr);
  EXPECT_EQ(main.FindVar("large")->weight->bytes, 4100u);
  EXPECT_THAT(main.FindVar("ints")->literal->values<int64_t>(), ElementsAre(3, 4));
  EXPECT_THAT(main.FindVar("one")->literal->values<float>(), ElementsAre(1.5f));
  EXPECT_EQ(main.FindVar("one")->type.rank(), 0);
  EXPECT_EQ(main.FindVar("raw")->kind, VarKind::kConst);
  EXPECT_EQ(main.ops().size(), 1u);
  EXPECT_EQ(program.fetches[1], main.FindVar("large"));
}

TEST(OnnxImport, AnInputWithAnInitializerIsNoFeed) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.In("w", {3});
  g.Initializer("w", {3}, {1, 2, 3});
  g.Node("Foo", {"x", "w"}, {"y"})->set_domain("d");
  g.Out("y");
  g.Out("x");
  g.Out("w", {3});
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  ASSERT_OK(Verify(program));
  ASSERT_EQ(program.feeds.size(), 1u);
  EXPECT_EQ(program.fetches[1], program.feeds[0]);
  EXPECT_EQ(program.fetches[2]->kind, VarKind::kConst);
}

TEST(OnnxImport, SubgraphsListWhatTheyRead) {
  ASSERT_OK_AND_ASSIGN(Program program, Load(testing::ModelWithIf()));
  ASSERT_OK(Verify(program));
  ASSERT_EQ(program.num_blocks(), 3);
  const Op& op = OpOf(program, "y");
  EXPECT_EQ(op.SubBlocks(), std::vector<int>({1, 2}));
  const absl::Span<Var* const> captures = op.inputs(op.def().InputSlot("captures"));
  ASSERT_EQ(captures.size(), 1u);
  EXPECT_EQ(captures[0]->name(), "h");
  EXPECT_THAT(OpTypes(program.block(2)), ElementsAre("onnx.Identity", "onnx"));
  EXPECT_EQ(program.block(2).ops().back()->type(), "onnx.yield");
  EXPECT_EQ(program.block(1).FindVar("w")->kind, VarKind::kConst);
}

TEST(OnnxImport, SubgraphInputsAreEnteredAndHidingNamesChange) {
  onnx::ModelProto model = NewModel();
  GraphBuilder main(model.mutable_graph());
  main.In("n", {}, testing::kOnnxI64);
  main.In("cond", {}, testing::kOnnxBool);
  main.In("x");
  onnx::NodeProto* loop = main.Node("Loop", {"n", "cond", "x"}, {"y"});
  GraphBuilder body(testing::SetGraph(loop, "body"));
  body.In("i", {}, testing::kOnnxI64);
  body.In("go", {}, testing::kOnnxBool);
  body.In("x");  // hides the outer one
  body.Node("Foo", {"x"}, {"later"})->set_domain("d");
  body.Out("go", {}, testing::kOnnxBool);
  body.Out("later");
  main.Node("Foo", {"y"}, {"later"})->set_domain("d");
  main.Out("later");
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  ASSERT_OK(Verify(program));
  const Block& block = program.block(1);
  EXPECT_EQ(block.ops().front()->type(), "onnx.enter");
  ASSERT_EQ(block.ops().front()->outputs().size(), 3u);
  const Var& inner = *block.ops().front()->outputs()[2];
  EXPECT_EQ(inner.name(), "x.1");
  EXPECT_EQ(inner.exported(), "x");
  EXPECT_EQ(block.ops()[1]->outputs()[0]->exported(), "later");
  EXPECT_EQ(block.ops()[1]->inputs()[0], &inner);
}

TEST(OnnxImport, NodesOutOfOrderAreSorted) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Node("C", {"b"}, {"c"})->set_domain("d");
  g.Node("B", {"a"}, {"b"})->set_domain("d");
  g.Node("A", {"x"}, {"a"})->set_domain("d");
  g.Out("c");
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  ASSERT_OK(Verify(program));
  EXPECT_EQ(program.main().ops()[0]->type(), "d.A");
  EXPECT_EQ(program.main().ops()[2]->type(), "d.C");
}

TEST(OnnxImport, SymbolsAndForeignTypes) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x", {0, 3});
  onnx::TensorShapeProto* shape = g->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("batch");
  g.In("u", {2}, testing::kOnnxString);
  g->add_input()->set_name("list");
  g->mutable_input(2)->mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
  testing::SetInt(g.Node("Cast", {"u"}, {"f"}), "to", testing::kOnnxF32);
  g.Out("f");
  g.In("open");
  g->mutable_input(3)->mutable_type()->clear_tensor_type();  // a type that says nothing
  g->add_sparse_initializer()->mutable_values()->set_name("sparse");
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  EXPECT_EQ(program.feeds[3]->type, TensorType::Unranked(DType::kInvalid));
  ASSERT_EQ(program.symbols.size(), 1u);
  EXPECT_EQ(program.symbols[0], "batch");
  EXPECT_EQ(program.feeds[0]->type.dims[0], -2);
  EXPECT_EQ(program.feeds[1]->type.kind, TypeKind::kOpaque);
  EXPECT_EQ(program.feeds[2]->type.kind, TypeKind::kTensorArray);
  EXPECT_EQ(program.feeds[2]->type.dtype, DType::kF32);
  EXPECT_TRUE(OpOf(program, "f").def().opaque);
  EXPECT_EQ(program.main().FindVar("f")->type.dtype, DType::kF32);
  EXPECT_EQ(program.main().FindVar("sparse")->type.kind, TypeKind::kOpaque);
}

TEST(OnnxImport, PackedElements) {
  onnx::ModelProto model = NewModel(21);
  GraphBuilder g(model.mutable_graph());
  onnx::TensorProto* typed = g->add_initializer();
  typed->set_name("typed");
  typed->set_data_type(testing::kOnnxI4);
  typed->add_dims(3);
  typed->add_int32_data(0x78);  // -8, 7
  typed->add_int32_data(0x0f);  // -1
  onnx::TensorProto* large = g->add_initializer();
  large->set_name("large");
  large->set_data_type(testing::kOnnxU4);
  large->add_dims(1025);
  large->set_raw_data(std::string(513, '\x21'));
  g.Node("Identity", {"typed"}, {"y"});
  g.Out("y", {3}, testing::kOnnxI4);
  g.Out("large", {1025}, testing::kOnnxU4);
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  const HostTensor& literal = *program.main().FindVar("typed")->literal;
  EXPECT_EQ(std::vector<int8_t>(static_cast<const int8_t*>(literal.data()), static_cast<const int8_t*>(literal.data()) + 3),
            (std::vector<int8_t>{-8, 7, -1}));
  const WeightRef& weight = *program.main().FindVar("large")->weight;
  EXPECT_EQ(weight.bytes, 513u);
  ASSERT_OK_AND_ASSIGN(const HostTensor value, LoadWeight(weight, {1025}));
  EXPECT_EQ(static_cast<const uint8_t*>(value.data())[1023], 2);
  EXPECT_EQ(static_cast<const uint8_t*>(value.data())[1024], 1);
  large->mutable_raw_data()->pop_back();
  EXPECT_THAT(Load(model).status(), StatusIs(ExitCode::kBadInput, HasSubstr("uint4 [1025] needs 513 bytes, its value has 512")));
}

TEST(OnnxImport, AFunctionOfTheModelIsOpaque) {
  onnx::ModelProto model = NewModel();
  onnx::FunctionProto* function = model.add_functions();
  function->set_name("Relu");
  function->set_domain("mine");
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Node("Relu", {"x"}, {"y"})->set_domain("mine");
  g.Out("y");
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  EXPECT_EQ(OpOf(program, "y").type(), "mine.Relu");
}

TEST(OnnxImport, StaleDeclarationsGiveWay) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  testing::SetInt(g.Node("Cast", {"x"}, {"y"}), "to", testing::kOnnxF16);
  g.Out("y", {9, 9}, testing::kOnnxF32);
  ASSERT_OK_AND_ASSIGN(Program program, Load(model));
  EXPECT_EQ(program.fetches[0]->type, TensorType(DType::kF16, {2, 3}));
}

}  // namespace
}  // namespace ampc
