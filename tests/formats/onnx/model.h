// ONNX models by hand.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "proto/onnx.pb.h"
#include "tests/formats/test_files.h"

namespace ampc::testing {

// Element types by ONNX's numbers.
enum : int {
  kOnnxF32 = 1,
  kOnnxI32 = 6,
  kOnnxI64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxF16 = 10,
  kOnnxF64 = 11,
  kOnnxBF16 = 16,
  kOnnxU4 = 21,
  kOnnxI4 = 22
};

inline void SetType(onnx::ValueInfoProto* info, const std::string& name, int type, const std::vector<int64_t>& dims) {
  info->set_name(name);
  onnx::TypeProto::Tensor* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  for (const int64_t dim : dims) tensor->mutable_shape()->add_dim()->set_dim_value(dim);
}

template <typename T>
std::string RawBytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline void SetTensor(onnx::TensorProto* tensor, const std::string& name, int type, const std::vector<int64_t>& dims,
                      const std::string& raw) {
  for (const int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_data_type(type);
  if (!name.empty()) tensor->set_name(name);
  tensor->set_raw_data(raw);
}

class GraphBuilder {
 public:
  explicit GraphBuilder(onnx::GraphProto* graph) : graph_(graph) { graph->set_name("g"); }

  onnx::NodeProto* Node(const std::string& type, const std::vector<std::string>& in, const std::vector<std::string>& out) {
    onnx::NodeProto* node = graph_->add_node();
    for (const std::string& name : in) node->add_input(name);
    for (const std::string& name : out) node->add_output(name);
    node->set_op_type(type);
    return node;
  }
  onnx::NodeProto* Constant(const std::string& name, int type, const std::vector<int64_t>& dims, const std::string& raw) {
    onnx::NodeProto* node = Node("Constant", {}, {name});
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name("value");
    attribute->set_type(4);
    SetTensor(attribute->mutable_t(), "", type, dims, raw);
    return node;
  }
  void In(const std::string& name, const std::vector<int64_t>& dims = {2, 3}, int type = kOnnxF32) {
    SetType(graph_->add_input(), name, type, dims);
  }
  void Out(const std::string& name, const std::vector<int64_t>& dims = {2, 3}, int type = kOnnxF32) {
    SetType(graph_->add_output(), name, type, dims);
  }
  onnx::TensorProto* Initializer(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    onnx::TensorProto* tensor = graph_->add_initializer();
    SetTensor(tensor, name, kOnnxF32, dims, RawBytes(values));
    return tensor;
  }
  onnx::GraphProto* operator->() { return graph_; }

 private:
  onnx::GraphProto* graph_;
};

inline onnx::ModelProto NewModel(int opset = 17) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  model.add_opset_import()->set_version(opset);
  return model;
}

inline void SetInt(onnx::NodeProto* node, const std::string& name, int64_t value) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_i(value);
  attribute->set_type(2);
}

inline onnx::GraphProto* SetGraph(onnx::NodeProto* node, const std::string& name) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  return attribute->mutable_g();
}

// y = if cond then x + w else x, with w a constant of the branch.
inline onnx::ModelProto ModelWithIf() {
  onnx::ModelProto model = NewModel();
  GraphBuilder main(model.mutable_graph());
  main.In("x");
  main.In("cond", {}, kOnnxBool);
  main.Node("Relu", {"x"}, {"h"});
  onnx::NodeProto* node = main.Node("If", {"cond"}, {"y"});
  GraphBuilder then(SetGraph(node, "then_branch"));
  then.Constant("w", kOnnxF32, {}, RawBytes<float>({2}));
  then.Node("Add", {"h", "w"}, {"t"});
  then.Out("t");
  GraphBuilder otherwise(SetGraph(node, "else_branch"));
  otherwise.Node("Identity", {"h"}, {"t"});
  otherwise.Out("t");
  main.Out("y");
  return model;
}

inline std::string WriteModel(const TempFolder& folder, const onnx::ModelProto& model, const std::string& name = "m.onnx") {
  WriteFile(folder / name, model.SerializeAsString());
  return folder / name;
}

}  // namespace ampc::testing
