// The files of the exporter: patches for what changed, and the original again when the changes are taken back.
#include "graph/formats/onnx/export.h"

#include <algorithm>

#include "graph/base/atomic_file_set.h"
#include "graph/base/half.h"
#include "graph/formats/format.h"
#include "graph/op_registry.h"
#include "graph/text/parser.h"
#include "graph/verify.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::RawBytes;
using ::ampc::testing::ReadFile;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;
using ::ampc::testing::WriteModel;
using ::testing::HasSubstr;
using ::testing::Not;

onnx::ModelProto Parse(const std::string& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ReadFile(path)));
  return model;
}

// An op of the dialect, or opaque where nothing describes it, never matters here: only `cast` and values change.
onnx::ModelProto WithConstants() {
  onnx::ModelProto model = NewModel(15);
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Initializer("raw", {2}, {1, 100000});
  onnx::TensorProto* typed = g->add_initializer();
  typed->set_name("typed");
  typed->set_data_type(testing::kOnnxF32);
  typed->add_dims(3);
  for (const float value : {1.f, 2.f, 3.f}) typed->add_float_data(value);
  typed->set_doc_string("typed values");
  g.Initializer("large", {2000}, std::vector<float>(2000, 0.1f));
  g.Constant("node", testing::kOnnxF32, {1}, RawBytes<float>({0.1f}));
  onnx::AttributeProto* one = g.Node("Constant", {}, {"one"})->add_attribute();
  one->set_name("value_float");
  one->set_f(0.5f);
  one->set_type(1);
  onnx::NodeProto* foo = g.Node("Foo", {"x", "raw", "typed", "large", "node", "one"}, {"h"});
  foo->set_domain("d");
  foo->set_name("foo");
  g.Node("Bar", {"h"}, {"y"})->set_domain("d");
  testing::SetType(g->add_value_info(), "h", testing::kOnnxF32, {2, 3});
  g.Out("y");
  return model;
}

void LowerConstant(Var& var) {
  var.was = DType::kF32;
  var.type.dtype = DType::kF16;
  if (var.weight != nullptr) var.weight->transforms.push_back({DType::kF16, OnOverflow::kClamp, OnTiny::kSubnormal});
  if (var.literal == nullptr) return;
  HostTensor low = *HostTensor::Create(DType::kF16, var.literal->dims());
  for (int64_t i = 0; i < low.num_elements(); ++i) low.mutable_values<Half>()[i] = Half(std::min(var.literal->values<float>()[i], 65504.f));
  var.literal = std::make_shared<const HostTensor>(std::move(low));
}

// x is cast in front of foo, h becomes f16 and is cast back in front of bar; all constants become f16.
void Lower(Program& program) {
  Block& main = program.main();
  ForEachVar(program, [](const Var& var) {
    if ((var.kind == VarKind::kConst || var.kind == VarKind::kParam) && var.type.dtype == DType::kF32) LowerConstant(const_cast<Var&>(var));
  });
  std::vector<std::unique_ptr<Op>> ops = main.TakeOps(), out;
  const auto cast = [&](Var* from, DType to, const std::string& name) {
    std::unique_ptr<Op> op = main.NewOp(Ops().Find("cast"));
    Var* result = main.AddVar(name, VarKind::kTemp, from->type.WithDType(to));
    op->SetInputs(0, {from});
    op->SetOutputs(0, {result});
    op->SetAttr("in_dtype", from->type.dtype);
    op->SetAttr("out_dtype", to);
    op->marks.amp = AmpMark::kInserted;
    out.push_back(std::move(op));
    return result;
  };
  Var* h = main.FindVar("h");
  ASSERT_EQ(ops.size(), 2u);
  Var* low_x = cast(main.FindVar("x"), DType::kF16, "x.f16");
  ops[0]->ReplaceInput(0, low_x);
  h->was = DType::kF32;
  h->type.dtype = DType::kF16;
  out.push_back(std::move(ops[0]));
  ops[1]->ReplaceInput(0, cast(h, DType::kF32, "h.f32"));
  out.push_back(std::move(ops[1]));
  main.SetOps(std::move(out));
}

void Restore(Program& program, const Program& original) {
  Block& main = program.main();
  std::vector<std::unique_ptr<Op>> ops = main.TakeOps(), out;
  for (std::unique_ptr<Op>& op : ops) {
    if (op->marks.amp != AmpMark::kInserted) out.push_back(std::move(op));
  }
  out[0]->ReplaceInput(0, main.FindVar("x"));
  out[1]->ReplaceInput(0, main.FindVar("h"));
  main.SetOps(std::move(out));
  std::vector<bool> dead(program.num_var_ids());
  for (const char* name : {"x.f16", "h.f32"}) dead[main.FindVar(name)->id()] = true;
  main.RemoveVars(dead);
  for (const std::unique_ptr<Var>& var : main.vars()) {
    if (var->was == DType::kInvalid) continue;
    var->type.dtype = var->was;
    var->was = DType::kInvalid;
    const Var* from = original.main().FindVar(var->name());
    var->literal = from->literal;
    if (from->weight != nullptr) var->weight = std::make_unique<WeightRef>(*from->weight);
  }
}

TEST(OnnxExport, ALoweredModelAndBack) {
  const TempFolder folder;
  const std::string path = WriteModel(folder, WithConstants());
  ASSERT_OK_AND_ASSIGN(const Program original, LoadModel(path));
  Program program = original.Clone();
  Lower(program);
  ASSERT_OK(Verify(program));
  ASSERT_OK(SaveModel(program, folder / "low.onnx"));
  const onnx::ModelProto low = Parse(folder / "low.onnx");
  const onnx::GraphProto& graph = low.graph();
  ASSERT_EQ(graph.node_size(), 6);
  EXPECT_EQ(graph.node(0).attribute(0).t().data_type(), testing::kOnnxF16);
  EXPECT_EQ(graph.node(0).attribute(0).t().raw_data(), RawBytes<uint16_t>({Half(0.1f).bits}));
  EXPECT_EQ(graph.node(1).attribute(0).name(), "value");
  EXPECT_EQ(graph.node(1).attribute(0).t().dims_size(), 0);
  EXPECT_EQ(graph.node(2).op_type(), "Cast");
  EXPECT_EQ(graph.node(2).name(), "ampc/x.f16");
  EXPECT_EQ(graph.node(2).attribute(0).i(), testing::kOnnxF16);
  EXPECT_EQ(graph.node(3).name(), "foo");
  EXPECT_EQ(graph.node(3).input(0), "x.f16");
  EXPECT_EQ(graph.node(4).output(0), "h.f32");
  EXPECT_EQ(graph.initializer(0).raw_data(), RawBytes<uint16_t>({Half(1.f).bits, Half(65504.f).bits}));
  EXPECT_EQ(graph.initializer(1).data_type(), testing::kOnnxF16);
  EXPECT_EQ(graph.initializer(1).float_data_size(), 0);
  EXPECT_EQ(graph.initializer(1).raw_data().size(), 6u);
  EXPECT_EQ(graph.initializer(1).doc_string(), "typed values");
  EXPECT_EQ(graph.initializer(2).raw_data().size(), 4000u);
  EXPECT_EQ(graph.value_info(0).type().tensor_type().elem_type(), testing::kOnnxF16);
  EXPECT_EQ(graph.output(0).type().tensor_type().elem_type(), testing::kOnnxF32);
  ASSERT_EQ(low.metadata_props_size(), 1);
  EXPECT_EQ(low.metadata_props(0).key(), "ampc_undo");
  // Raw data become raw data again without a word; the others name the field that held them.
  EXPECT_THAT(low.metadata_props(0).value(), HasSubstr("was=f32 form=4"));
  EXPECT_THAT(low.metadata_props(0).value(), Not(HasSubstr("form=1")));
  EXPECT_THAT(low.metadata_props(0).value(), Not(HasSubstr("form=9")));

  ASSERT_OK_AND_ASSIGN(Program back, LoadModel(folder / "low.onnx"));
  *program.main().FindVar("large")->weight = *back.main().FindVar("large")->weight;  // stored low now
  std::string why;
  EXPECT_TRUE(SameProgram(program, back, &why)) << why;
  ASSERT_OK(SaveModel(back, folder / "same.onnx"));
  EXPECT_EQ(ReadFile(folder / "same.onnx"), ReadFile(folder / "low.onnx"));
  Restore(back, original);
  ASSERT_OK(SaveModel(back, folder / "stripped.onnx"));
  EXPECT_EQ(ReadFile(folder / "stripped.onnx"), ReadFile(path));
}

TEST(OnnxExport, NewConstantsBecomeInitializersWhenTheyAreRead) {
  const TempFolder folder;
  onnx::ModelProto model = WithConstants();
  model.set_ir_version(3);
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, model)));
  Block& main = program.main();
  for (const char* name : {"new", "unread"}) {
    Var* var = main.AddVar(name, VarKind::kConst, TensorType(DType::kF32, {1}));
    var->literal = std::make_shared<const HostTensor>(HostTensor::Of<float>({1}, {3}));
  }
  main.ops()[1]->ReplaceInput(0, main.FindVar("new"));
  ASSERT_OK(SaveModel(program, folder / "new.onnx"));
  const onnx::ModelProto with = Parse(folder / "new.onnx");
  ASSERT_EQ(with.graph().initializer_size(), 4);
  EXPECT_EQ(with.graph().initializer(3).name(), "new");
  EXPECT_EQ(with.graph().initializer(3).raw_data(), RawBytes<float>({3}));
  // IR version 3 wants initializers among the inputs.
  ASSERT_EQ(with.graph().input_size(), 2);
  EXPECT_EQ(with.graph().input(1).name(), "new");
  EXPECT_EQ(with.graph().node(3).input(0), "new");
}

TEST(OnnxExport, WhatIsGoneIsNotWritten) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, WithConstants())));
  Block& main = program.main();
  main.ops()[1]->ReplaceInput(0, main.FindVar("x"));
  std::vector<std::unique_ptr<Op>> ops = main.TakeOps();
  ops.erase(ops.begin());
  main.SetOps(std::move(ops));
  std::vector<bool> dead(program.num_var_ids());
  for (const char* name : {"h", "typed", "node"}) dead[main.FindVar(name)->id()] = true;
  main.RemoveVars(dead);
  ASSERT_OK(SaveModel(program, folder / "less.onnx"));
  const onnx::ModelProto less = Parse(folder / "less.onnx");
  EXPECT_EQ(less.graph().node_size(), 2);
  EXPECT_EQ(less.graph().initializer_size(), 2);
  EXPECT_EQ(less.graph().value_info_size(), 0);
}

TEST(OnnxExport, OtherNativeOpsHaveNoForm) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, WithConstants())));
  Block& main = program.main();
  std::unique_ptr<Op> op = main.NewOp(Ops().Find("relu"));
  op->SetInputs(0, {main.FindVar("x")});
  op->SetOutputs(0, {main.AddVar("r", VarKind::kTemp, main.FindVar("x")->type)});
  main.Append(std::move(op));
  EXPECT_THAT(SaveModel(program, folder / "m2.onnx"), StatusIs(ExitCode::kUnsupported, HasSubstr("has no form in an ONNX model")));
  EXPECT_FALSE(std::filesystem::exists(folder / "m2.onnx"));
}

TEST(OnnxExport, CastsInsideASubgraph) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, testing::ModelWithIf())));
  Block& branch = program.block(1);
  LowerConstant(*branch.FindVar("w"));
  std::vector<std::unique_ptr<Op>> ops = branch.TakeOps();
  std::unique_ptr<Op> cast = branch.NewOp(Ops().Find("cast"));
  Var* wide = branch.AddVar("w.f32", VarKind::kTemp, branch.FindVar("w")->type.WithDType(DType::kF32));
  cast->SetInputs(0, {branch.FindVar("w")});
  cast->SetOutputs(0, {wide});
  cast->SetAttr("out_dtype", DType::kF32);
  cast->marks.amp = AmpMark::kInserted;
  for (int i = 0; i < static_cast<int>(ops[0]->inputs().size()); ++i) {
    if (ops[0]->inputs()[i] == branch.FindVar("w")) ops[0]->ReplaceInput(i, wide);
  }
  ops.insert(ops.begin(), std::move(cast));
  branch.SetOps(std::move(ops));
  ASSERT_OK(SaveModel(program, folder / "low.onnx"));
  const onnx::ModelProto low = Parse(folder / "low.onnx");
  const onnx::GraphProto& then = low.graph().node(1).attribute(0).g();
  ASSERT_EQ(then.node_size(), 3);
  EXPECT_EQ(then.node(1).op_type(), "Cast");
  EXPECT_EQ(then.node(2).input(1), "w.f32");
  EXPECT_EQ(low.graph().node(1).attribute(1).SerializeAsString(), testing::ModelWithIf().graph().node(1).attribute(1).SerializeAsString());
  EXPECT_EQ(low.graph().node(1).input_size(), 1);
  ASSERT_OK_AND_ASSIGN(const Program back, LoadModel(folder / "low.onnx"));
  EXPECT_EQ(back.block(1).FindVar("w")->was, DType::kF32);
  EXPECT_EQ(back.block(1).ops()[0]->marks.amp, AmpMark::kInserted);
}

TEST(OnnxExport, AnOutputOfASubgraphUnderAnotherName) {
  const TempFolder folder;
  onnx::ModelProto model = testing::ModelWithIf();
  model.mutable_graph()->mutable_node(1)->mutable_attribute(1)->mutable_g()->mutable_output(0)->set_doc_string("else");
  const std::string path = WriteModel(folder, model);
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(path));
  Block& branch = program.block(2);
  Op& yield = *branch.ops().back();
  Var* t = yield.inputs()[0];
  std::vector<std::unique_ptr<Op>> ops = branch.TakeOps();
  std::unique_ptr<Op> cast = branch.NewOp(Ops().Find("cast"));
  cast->SetInputs(0, {t});
  cast->SetOutputs(0, {branch.AddVar("t.f32", VarKind::kTemp, t->type)});
  cast->SetAttr("out_dtype", DType::kF32);
  yield.ReplaceInput(0, cast->outputs()[0]);
  ops.insert(ops.end() - 1, std::move(cast));
  branch.SetOps(std::move(ops));
  ASSERT_OK(SaveModel(program, folder / "other.onnx"));
  const onnx::ModelProto other = Parse(folder / "other.onnx");
  const onnx::GraphProto& graph = other.graph().node(1).attribute(1).g();
  EXPECT_EQ(graph.output(0).name(), "t.f32");
  EXPECT_EQ(graph.output(0).doc_string(), "else");
  ASSERT_OK_AND_ASSIGN(Program back, LoadModel(folder / "other.onnx"));
  ops = back.block(2).TakeOps();
  ops.back()->ReplaceInput(0, back.block(2).FindVar("t"));
  ops.erase(ops.end() - 2);
  back.block(2).SetOps(std::move(ops));
  ASSERT_OK(SaveModel(back, folder / "back.onnx"));
  EXPECT_EQ(ReadFile(folder / "back.onnx"), ReadFile(path));
}

TEST(OnnxExport, TheOperatorSetIsTheNewestThatIsNeeded) {
  const TempFolder folder;
  onnx::ModelProto model = NewModel(11);
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Node("Foo", {"x"}, {"y"})->set_domain("d");
  testing::SetInt(g.Node("Cast", {"y"}, {"z"}), "to", testing::kOnnxF16);
  g.Out("z", {2, 3}, testing::kOnnxF16);
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, model)));
  Op& cast = *program.main().ops()[1];
  cast.SetAttr("out_dtype", DType::kBF16);
  cast.output(0)->type.dtype = DType::kBF16;
  cast.output(0)->was = DType::kF16;
  ASSERT_OK(SaveModel(program, folder / "bf16.onnx"));
  const onnx::ModelProto bf16 = Parse(folder / "bf16.onnx");
  EXPECT_EQ(bf16.opset_import(0).version(), 13);
  EXPECT_EQ(bf16.graph().node(1).attribute(0).i(), testing::kOnnxBF16);
  EXPECT_EQ(bf16.graph().output(0).type().tensor_type().elem_type(), testing::kOnnxBF16);
  ASSERT_OK_AND_ASSIGN(Program back, LoadModel(folder / "bf16.onnx"));
  Op& again = *back.main().ops()[1];
  again.SetAttr("out_dtype", DType::kF16);
  again.output(0)->type.dtype = DType::kF16;
  again.output(0)->was = DType::kInvalid;
  ASSERT_OK(SaveModel(back, folder / "stripped.onnx"));
  EXPECT_EQ(ReadFile(folder / "stripped.onnx"), model.SerializeAsString());
}

TEST(OnnxExport, LargeWeightsGoToAFileOfTheirOwn) {
  const TempFolder folder;
  const std::string path = WriteModel(folder, WithConstants());
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(path));
  AtomicFileSet files;
  ASSERT_OK(onnx::ExportModel(program, folder / "e.onnx", {}, &files, 4000));
  ASSERT_OK(files.Commit());
  const onnx::ModelProto external = Parse(folder / "e.onnx");
  const onnx::TensorProto& large = external.graph().initializer(2);
  EXPECT_FALSE(large.has_raw_data());
  EXPECT_EQ(large.data_location(), 1);
  EXPECT_EQ(large.external_data(0).value(), "e.onnx.data");
  EXPECT_EQ(ReadFile(folder / "e.onnx.data"), RawBytes(std::vector<float>(2000, 0.1f)));
  EXPECT_TRUE(external.graph().initializer(0).has_raw_data());

  // It came with external data, so it keeps that: the same bytes under the same name.
  ASSERT_OK_AND_ASSIGN(Program back, LoadModel(folder / "e.onnx"));
  std::filesystem::create_directories(folder / "copy");
  ASSERT_OK(SaveModel(back, folder / "copy/e.onnx"));
  EXPECT_EQ(ReadFile(folder / "copy/e.onnx"), ReadFile(folder / "e.onnx"));
  EXPECT_EQ(ReadFile(folder / "copy/e.onnx.data"), ReadFile(folder / "e.onnx.data"));
  Lower(back);
  ASSERT_OK(SaveModel(back, folder / "low.onnx"));
  EXPECT_EQ(ReadFile(folder / "low.onnx.data"), RawBytes(std::vector<uint16_t>(2000, Half(0.1f).bits)));
  ASSERT_OK(LoadModel(folder / "low.onnx"));
  EXPECT_THAT(LoadModel(folder / "low.onnx", {.program_only = true}), testing::IsOk());
  // Another model must not take the file.
  ASSERT_OK_AND_ASSIGN(Program low, LoadModel(folder / "low.onnx"));
  std::filesystem::rename(folder / "low.onnx", folder / "moved.onnx");
  ASSERT_OK_AND_ASSIGN(Program moved, LoadModel(folder / "moved.onnx"));
  EXPECT_THAT(SaveModel(moved, folder / "low.onnx"), StatusIs(ExitCode::kUsage, HasSubstr("holds the weights of the model that was read")));
}

TEST(OnnxExport, AProgramThatNoFileHad) {
  const TempFolder folder;
  Program program;
  Block& main = program.main();
  Var* x = main.AddVar("x", VarKind::kFeed, TensorType(DType::kF32, {program.SymbolDim("n"), 3}));
  Var* y = main.AddVar("y", VarKind::kTemp, TensorType(DType::kF16, {-2, 3}));
  std::unique_ptr<Op> cast = main.NewOp(Ops().Find("cast"));
  cast->SetInputs(0, {x});
  cast->SetOutputs(0, {y});
  cast->SetAttr("out_dtype", DType::kF16);
  main.Append(std::move(cast));
  program.feeds = {x};
  program.fetches = {y};
  ASSERT_OK(SaveModel(program, folder / "m.onnx"));
  const onnx::ModelProto model = Parse(folder / "m.onnx");
  EXPECT_EQ(model.opset_import(0).version(), 13);
  EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  ASSERT_OK_AND_ASSIGN(Program back, LoadModel(folder / "m.onnx"));
  EXPECT_EQ(back.fetches[0]->type, y->type);
}

Program ParsedText(absl::string_view text) {
  ParseOptions options;
  options.bare = true;
  absl::StatusOr<Program> program = ParseProgram(text, options);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : Program();
}

TEST(OnnxExport, DomainsOfAProgramThatNoFileHad) {
  const TempFolder folder;
  const Program program = ParsedText(
      "feed x : f32 [2, 4]\ncom.microsoft.QuickGelu.1(X=[x]) -> Y=[y] : f32 [2, 4]\nonnx.Relu.14(X=y) -> Out=z : f32 [2, 4]\nfetch z\n");
  ASSERT_OK(SaveModel(program, folder / "m.onnx"));
  const onnx::ModelProto model = Parse(folder / "m.onnx");
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(0).domain(), "");
  EXPECT_EQ(model.opset_import(0).version(), 14);
  EXPECT_EQ(model.opset_import(1).domain(), "com.microsoft");
  EXPECT_EQ(model.opset_import(1).version(), 1);
}

TEST(OnnxExport, NoOperatorSetHasBothVersions) {
  const TempFolder folder;
  const Program program = ParsedText(
      "feed x : f32 [2, 4]\nonnx.Softmax.11(input=[x]) -> output=[y] : f32 [2, 4]\nonnx.Relu.14(X=y) -> Out=z : f32 [2, 4]\nfetch z\n");
  EXPECT_THAT(SaveModel(program, folder / "m.onnx"),
              StatusIs(ExitCode::kUnsupported, HasSubstr("operator set 14, which has other versions of Softmax")));
}

}  // namespace
}  // namespace ampc
