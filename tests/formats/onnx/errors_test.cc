// Broken models: one sentence, the right code, no crash.
#include "graph/formats/format.h"
#include "tests/formats/onnx/model.h"
#include "tests/testlib/status.h"

namespace ampc {
namespace {

using ::ampc::testing::GraphBuilder;
using ::ampc::testing::NewModel;
using ::ampc::testing::RawBytes;
using ::ampc::testing::StatusIs;
using ::ampc::testing::TempFolder;
using ::ampc::testing::WriteFile;
using ::ampc::testing::WriteModel;
using ::testing::HasSubstr;

absl::Status Load(const onnx::ModelProto& model) {
  const TempFolder folder;
  return LoadModel(WriteModel(folder, model)).status();
}

onnx::ModelProto Small() {
  onnx::ModelProto model = NewModel();
  GraphBuilder g(model.mutable_graph());
  g.In("x");
  g.Node("Relu", {"x"}, {"y"})->set_name("relu");
  g.Out("y");
  return model;
}

TEST(OnnxErrors, OperatorSets) {
  EXPECT_OK(Load(Small()));
  onnx::ModelProto model = Small();
  model.mutable_opset_import(0)->set_version(0);
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kUnsupported, HasSubstr("operator set 0 is not supported, 1 to ")));
  model.mutable_opset_import(0)->set_version(9999);
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kUnsupported, HasSubstr("operator set 9999")));
  model.clear_opset_import();
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kUnsupported, HasSubstr("names no operator set")));
  model.add_opset_import()->set_domain("other");
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("no operator set for the default domain")));
}

// The metadata's bytes are no fields.
TEST(OnnxErrors, DamagedMetadata) {
  const TempFolder folder;
  WriteFile(folder / "m.onnx", Small().SerializeAsString() + "\x72\x02\xff\xff");
  EXPECT_THAT(LoadModel(folder / "m.onnx"), StatusIs(ExitCode::kBadInput, HasSubstr("m.onnx")));
}

TEST(OnnxErrors, Names) {
  onnx::ModelProto model = Small();
  model.mutable_graph()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("Relu node 'relu' reads 'nowhere', which nothing defines")));
  model = Small();
  *model.mutable_graph()->add_node() = model.graph().node(0);
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("value 'y' is defined twice")));
  model = Small();
  model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("a graph output reads 'z'")));
}

TEST(OnnxErrors, Cycle) {
  onnx::ModelProto model = Small();
  model.mutable_graph()->mutable_node(0)->set_input(0, "z");
  GraphBuilder g(model.mutable_graph());
  g.Node("Relu", {"y"}, {"z"});
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("the graph is cyclic: node 'relu'")));
  model = testing::ModelWithIf();  // a branch reads the result of its own node
  model.mutable_graph()->mutable_node(1)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_input(0, "y");
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("the graph is cyclic")));
}

TEST(OnnxErrors, Values) {
  onnx::ModelProto model = Small();
  testing::SetTensor(model.mutable_graph()->add_initializer(), "w", testing::kOnnxF32, {3}, RawBytes<float>({1, 2}));
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("initializer 'w': float32 [3] needs 12 bytes, its value has 8")));
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("is not possible")));
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 62);
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("is not possible")));
  model = Small();
  GraphBuilder g(model.mutable_graph());
  g.In("w", {4});
  g.Initializer("w", {3}, {1, 2, 3});
  EXPECT_THAT(Load(model), StatusIs(ExitCode::kBadInput, HasSubstr("input 'w' is f32 [4], its initializer is f32 [3]")));
}

onnx::ModelProto External(const std::string& location, const std::string& offset, const std::string& length) {
  onnx::ModelProto model = Small();
  onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(testing::kOnnxF32);
  tensor->add_dims(4);
  tensor->set_data_location(1);
  for (const auto& [key, value] :
       {std::make_pair("location", location), std::make_pair("offset", offset), std::make_pair("length", length)}) {
    if (value.empty()) continue;
    onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model;
}

TEST(OnnxErrors, ExternalData) {
  const TempFolder folder;
  WriteFile(folder / "in/w.bin", std::string(20, 'x'));
  WriteFile(folder / "w.bin", std::string(20, 'x'));
  std::filesystem::create_symlink("../w.bin", folder / "in/link.bin");
  const auto load = [&](const onnx::ModelProto& model) { return LoadModel(WriteModel(folder, model, "in/m.onnx")).status(); };
  EXPECT_OK(load(External("w.bin", "4", "16")));
  EXPECT_OK(load(External("./w.bin", "", "")));
  EXPECT_THAT(load(External("gone.bin", "", "")), StatusIs(ExitCode::kBadInput, HasSubstr("gone.bin does not exist")));
  for (const std::string outside : {"../w.bin", "a/../../w.bin", "/etc/passwd", "link.bin"}) {
    EXPECT_THAT(load(External(outside, "", "")), StatusIs(ExitCode::kBadInput, HasSubstr("lies outside the model's folder"))) << outside;
  }
  EXPECT_THAT(load(External("w.bin", "21", "16")), StatusIs(ExitCode::kBadInput, HasSubstr("at offset 21")));
  EXPECT_THAT(load(External("w.bin", "8", "16")), StatusIs(ExitCode::kBadInput, HasSubstr("external data of 16 bytes at offset 8")));
  EXPECT_THAT(load(External("w.bin", "18446744073709551615", "16")),
              StatusIs(ExitCode::kBadInput, HasSubstr("at offset 18446744073709551615")));
  EXPECT_THAT(load(External("w.bin", "minus", "16")), StatusIs(ExitCode::kBadInput, HasSubstr("needs a number")));
  EXPECT_THAT(load(External("w.bin", "0", "8")), StatusIs(ExitCode::kBadInput, HasSubstr("needs 16 bytes, its value has 8")));
  EXPECT_THAT(load(External("", "", "")), StatusIs(ExitCode::kBadInput, HasSubstr("without a location")));
}

// It can be carried in the file that has it, not into another one: nobody knows how many bytes it has.
TEST(OnnxErrors, ExternalDataOfAnUnknownTypeIsNotCopied) {
  const TempFolder folder;
  WriteFile(folder / "w.bin", std::string(20, 'x'));
  onnx::ModelProto model = External("w.bin", "4", "16");
  model.mutable_graph()->mutable_initializer(0)->set_data_type(99);
  ASSERT_OK_AND_ASSIGN(const Program program, LoadModel(WriteModel(folder, model)));
  EXPECT_THAT(SaveModel(program, folder / "copy.onnx"),
              StatusIs(ExitCode::kUnsupported, HasSubstr("initializer 'w': external data of a type that is not known cannot be copied")));
}

TEST(OnnxErrors, NoModel) {
  const TempFolder folder;
  for (const std::string bytes : {"", "hello", "\x08\x08", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    WriteFile(folder / "m.onnx", bytes);
    EXPECT_EQ(ExitCodeOf(LoadModel(folder / "m.onnx").status()), ExitCode::kBadInput) << bytes;
  }
}

TEST(OnnxErrors, NestingIsLimited) {
  std::string graph;
  for (int i = 0; i < 3000; ++i) {
    onnx::GraphProto outer;
    onnx::NodeProto* node = outer.add_node();
    node->set_op_type("If");
    std::string attribute = "\x0a\x01g\x32";  // name "g", field g
    const auto varint = [](size_t n) {
      std::string out;
      for (; n >= 128; n >>= 7) out.push_back(static_cast<char>(n | 128));
      out.push_back(static_cast<char>(n));
      return out;
    };
    attribute += varint(graph.size()) + graph;
    std::string bytes = node->SerializeAsString();
    bytes += "\x2a" + varint(attribute.size()) + attribute;
    graph = "\x0a" + varint(bytes.size()) + bytes;
  }
  onnx::ModelProto model = NewModel();
  std::string bytes = model.SerializeAsString();
  std::string size;
  for (size_t n = graph.size();; n >>= 7) {
    size.push_back(static_cast<char>(n >= 128 ? n | 128 : n));
    if (n < 128) break;
  }
  const TempFolder folder;
  WriteFile(folder / "m.onnx", bytes + "\x3a" + size + graph);
  EXPECT_THAT(LoadModel(folder / "m.onnx"), StatusIs(ExitCode::kBadInput, HasSubstr("more than 64 levels")));
}

// `levels` subgraphs, one in the other, around a call of `innermost`.
onnx::GraphProto Nested(int levels, const std::string& innermost) {
  onnx::GraphProto graph;
  GraphBuilder(&graph).Node(innermost, {"x"}, {"y"})->set_domain(innermost == "Relu" ? "" : "d");
  for (int i = 0; i < levels; ++i) {
    testing::SetType(graph.add_output(), "y", testing::kOnnxF32, {2, 3});
    onnx::GraphProto outer;
    onnx::NodeProto* node = GraphBuilder(&outer).Node("If", {"b"}, {"y"});
    for (const char* name : {"then_branch", "else_branch"}) {
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name(name);
      attribute->set_type(5);
      *attribute->mutable_g() = std::string(name) == "then_branch" ? graph : Nested(0, "Relu");
      if (attribute->g().output_size() == 0) testing::SetType(attribute->mutable_g()->add_output(), "y", testing::kOnnxF32, {2, 3});
    }
    graph = outer;
  }
  return graph;
}

// A function's subgraphs are as deep as its call is, and deeper by their own levels.
TEST(OnnxErrors, NestingOfACalledFunctionCountsFromTheCall) {
  const auto load = [](int around_the_call, int in_the_function) {
    onnx::ModelProto model = NewModel();
    *model.mutable_graph() = Nested(around_the_call, "Deep");
    GraphBuilder g(model.mutable_graph());
    g.In("x");
    g.In("b", {}, testing::kOnnxBool);
    g.Out("y");
    model.add_opset_import()->set_domain("d");
    onnx::FunctionProto* function = model.add_functions();
    function->set_name("Deep");
    function->set_domain("d");
    function->add_input("x");
    function->add_output("y");
    *function->add_opset_import() = model.opset_import(0);
    onnx::GraphProto body = Nested(in_the_function, "Relu");
    onnx::GraphProto constant;
    const std::string yes(1, '\1');
    *function->add_node() = *GraphBuilder(&constant).Constant("b", testing::kOnnxBool, {}, yes);
    for (const onnx::NodeProto& node : body.node()) *function->add_node() = node;
    return Load(model);
  };
  EXPECT_OK(load(20, 20));
  EXPECT_THAT(load(40, 40), StatusIs(ExitCode::kBadInput, HasSubstr("more than 64 levels")));
}

// Reading and writing bytes with any damage ends in a status.
TEST(OnnxErrors, Damage) {
  const TempFolder folder;
  onnx::ModelProto model = testing::ModelWithIf();
  model.add_metadata_props()->set_key("ampc_undo");
  model.mutable_metadata_props(0)->set_value("1;opset=11;o0-2,n1 was=f32;g1:n0 was=f32");
  const std::string whole = model.SerializeAsString();
  const auto attempt = [&](const std::string& bytes) {
    WriteFile(folder / "m.onnx", bytes);
    absl::StatusOr<Program> program = LoadModel(folder / "m.onnx");
    if (program.ok()) (void)SaveModel(*program, folder / "again.onnx", {.no_sync = true});
    return program.ok();
  };
  EXPECT_TRUE(attempt(whole));
  int read = 0;
  for (size_t cut = 0; cut < whole.size(); ++cut) read += attempt(whole.substr(0, cut)) ? 1 : 0;
  EXPECT_LT(read, static_cast<int>(whole.size() / 2));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 4, 0x40, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      attempt(bytes);
    }
  }
}

}  // namespace
}  // namespace ampc
