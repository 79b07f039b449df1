// Names and scopes of nodes, as exporters write them.
#include "graph/formats/onnx/node_names.h"

#include <google/protobuf/unknown_field_set.h>

#include "graph/formats/format.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteModel;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An entry of metadata_props, which the proto of this tree leaves out.
void AddMetadata(onnx::NodeProto* node, const std::string& key, const std::string& value) {
  const std::string entry = std::string("\x0a") + static_cast<char>(key.size()) + key + "\x12" + static_cast<char>(value.size()) + value;
  node->GetReflection()->MutableUnknownFields(node)->AddLengthDelimited(9, entry);
}

TEST(NodeNames, AndScopes) {
  onnx::ModelProto model = NewModel();
  GraphBuilder b(model.mutable_graph());
  b.In("x");
  b.Node("Relu", {"x"}, {"a"})->set_name("/layer1/conv1/Relu");
  onnx::NodeProto* const node = b.Node("Relu", {"a"}, {"b"});
  node->set_name("node_relu_1");
  AddMetadata(node, "namespace", "other");
  AddMetadata(node, "pkg.torch.onnx.name_scopes", "['', 'layer1', 'layer1.0', 'relu']");
  b.Node("Relu", {"b"}, {"c"});
  b.Out("c");
  const TempFolder folder;
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(WriteModel(folder, model)));
  ASSERT_EQ(program.main().ops().size(), 3u);
  const auto op = [&program](int i) -> const Op& { return *program.main().ops()[i]; };
  EXPECT_EQ(onnx::NodeName(program, op(0)), "/layer1/conv1/Relu");
  EXPECT_THAT(onnx::NodeScopes(program, op(0)), ElementsAre("/layer1/conv1/"));
  EXPECT_EQ(onnx::NodeName(program, op(1)), "node_relu_1");
  EXPECT_THAT(onnx::NodeScopes(program, op(1)), ElementsAre("layer1", "/layer1/", "layer1.0", "/layer1/0/"));
  EXPECT_EQ(onnx::NodeName(program, op(2)), "");
  EXPECT_THAT(onnx::NodeScopes(program, op(2)), IsEmpty());
}

}  // namespace
}  // namespace ampc
