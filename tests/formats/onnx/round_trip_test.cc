// Models that nothing changed are written byte for byte.
#include "graph/formats/format.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::RawBytes;
using ::ampc::testing::ReadFile;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteModel;

void ExpectRoundTrip(const onnx::ModelProto& model) {
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(Program program, LoadModel(WriteModel(folder, model)));
  ASSERT_OK(SaveModel(program.Clone(), folder / "again.onnx"));
  EXPECT_EQ(ReadFile(folder / "again.onnx"), model.SerializeAsString());
}

TEST(OnnxRoundTrip, EverythingThatTheProgramDoesNotKnow) {
  onnx::ModelProto model = testing::ModelWithIf();
  model.set_doc_string("about");
  model.set_domain("d");
  model.mutable_unknown_fields()->AddVarint(999, 5);
  model.add_opset_import()->set_domain("com.microsoft");
  model.add_metadata_props()->set_key("k");
  model.add_functions()->set_name("f");
  model.add_training_info()->mutable_algorithm()->add_node()->set_op_type("Sgd");
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_doc_string("graph");
  graph->mutable_unknown_fields()->AddLengthDelimited(99, "unknown");
  graph->mutable_node(0)->set_name("same");
  graph->mutable_node(0)->set_doc_string("node");
  graph->mutable_node(0)->mutable_unknown_fields()->AddFixed64(98, 1);
  GraphBuilder g(graph);
  onnx::NodeProto* foreign = g.Node("Relu", {"y", "", "y"}, {"", "z"});
  foreign->set_name("same");
  foreign->set_domain("com.microsoft");
  foreign->add_attribute()->set_name("tensors");
  foreign->mutable_attribute(0)->add_tensors()->set_name("t");
  onnx::SparseTensorProto* sparse = graph->add_sparse_initializer();
  sparse->mutable_values()->set_name("sparse");
  testing::SetType(graph->add_value_info(), "h", testing::kOnnxF32, {2, 3});
  testing::SetType(graph->add_value_info(), "nothing", testing::kOnnxF32, {2, 3});
  ExpectRoundTrip(model);
}

TEST(OnnxRoundTrip, NodesOutOfOrder) {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Node("Relu", {"a"}, {"b"});
  g.Constant("w", testing::kOnnxF32, {1}, RawBytes<float>({1}));
  g.Node("Foo", {"x", "w"}, {"a"})->set_domain("d");
  g.Out("b");
  g.Out("b");
  ExpectRoundTrip(model);
}

}  // namespace
}  // namespace ampc
