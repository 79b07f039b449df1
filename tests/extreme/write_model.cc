#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/packed.h"
#include "graph/ops/onnx/dtype_number.h"
#include "graph/program.h"
#include "graph/text/printer.h"
#include "proto/onnx.pb.h"
#include "tests/extreme/odd_model.h"

namespace ampc::extreme {
namespace {

std::string NameOf(size_t slot, size_t i) { return absl::StrCat(std::string(1, static_cast<char>('a' + slot)), i); }

void SetTensor(const HostTensor& value, const std::string& name, onnx::TensorProto* tensor) {
  tensor->set_name(name);
  tensor->set_data_type(onnx::NumberOfDType(value.dtype()));
  for (const int64_t dim : value.dims()) tensor->add_dims(dim);
  std::string bytes;
  if (IsPacked(value.dtype())) {
    AppendPacked(value.dtype(), value.data(), value.num_elements(), &bytes);
  } else {
    bytes.assign(reinterpret_cast<const char*>(value.data()), value.size_bytes());
  }
  tensor->set_raw_data(std::move(bytes));
}

struct SetAttribute {
  onnx::AttributeProto* to;
  void operator()(bool v) const { (*this)(int64_t{v}); }
  void operator()(int32_t v) const { (*this)(int64_t{v}); }
  void operator()(int64_t v) const {
    to->set_type(2);
    to->set_i(v);
  }
  void operator()(float v) const {
    to->set_type(1);
    to->set_f(v);
  }
  void operator()(double v) const { (*this)(static_cast<float>(v)); }
  void operator()(const std::string& v) const {
    to->set_type(3);
    to->set_s(v);
  }
  void operator()(DType v) const { (*this)(int64_t{onnx::NumberOfDType(v)}); }
  void operator()(const std::vector<int64_t>& v) const {
    to->set_type(7);
    for (const int64_t i : v) to->add_ints(i);
  }
  void operator()(const std::vector<float>& v) const {
    to->set_type(6);
    for (const float f : v) to->add_floats(f);
  }
  void operator()(const std::vector<std::string>& v) const {
    to->set_type(8);
    for (const std::string& s : v) to->add_strings(s);
  }
  void operator()(const Scalar& v) const {
    to->set_type(4);
    const double* real = std::get_if<double>(&v.value);
    const int64_t* integer = std::get_if<int64_t>(&v.value);
    SetTensor(integer != nullptr ? HostTensor::Of<int64_t>({1}, {*integer})
                                 : HostTensor::Of<float>({1}, {real != nullptr ? static_cast<float>(*real) : 0.0f}),
              "", to->mutable_t());
  }
  template <typename T>
  void operator()(const T&) const {}  // kinds that no ONNX attribute has
};

void Declare(const Operand& operand, const std::string& name, onnx::ValueInfoProto* info) {
  info->set_name(name);
  auto* tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::NumberOfDType(operand.value.dtype()));
  if (operand.open == 2) return;
  auto* shape = tensor->mutable_shape();
  for (const int64_t dim : operand.value.dims()) {
    auto* to = shape->add_dim();
    if (operand.open == 0) to->set_dim_value(dim);
  }
}

std::string OnnxFile(const OddModel& model) {
  onnx::ModelProto file;
  file.set_ir_version(8);
  const absl::string_view domain = onnx::DomainOf(model.schema->type);
  onnx::OperatorSetIdProto* opset = file.add_opset_import();
  opset->set_version(model.schema->since);
  if (!domain.empty()) {
    opset->set_domain(std::string(domain));
    file.add_opset_import()->set_version(17);
  }
  onnx::GraphProto* graph = file.mutable_graph();
  graph->set_name("g");
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(std::string(onnx::OperatorOf(model.schema->type)));
  if (!domain.empty()) node->set_domain(std::string(domain));
  for (size_t slot = 0; slot < model.slots.size(); ++slot) {
    if (model.slots[slot].empty()) node->add_input("");
    for (size_t i = 0; i < model.slots[slot].size(); ++i) {
      const Operand& operand = model.slots[slot][i];
      node->add_input(operand.given ? NameOf(slot, i) : "");
      if (!operand.given) continue;
      if (operand.constant) {
        SetTensor(operand.value, NameOf(slot, i), graph->add_initializer());
      } else {
        Declare(operand, NameOf(slot, i), graph->add_input());
      }
    }
  }
  while (node->input_size() > 0 && node->input(node->input_size() - 1).empty()) node->mutable_input()->RemoveLast();
  for (const Attr& attr : model.attrs) {
    onnx::AttributeProto* to = node->add_attribute();
    to->set_name(attr.name);
    std::visit(SetAttribute{to}, attr.value);
  }
  for (const onnx::Formal& formal : model.schema->outputs) {
    if (formal.optional && !model.all_results) break;
    for (int count = formal.variadic ? 2 : 1; count > 0; --count) {
      const std::string name = absl::StrCat("r", node->output_size());
      node->add_output(name);
      graph->add_output()->set_name(name);
    }
  }
  return file.SerializeAsString();
}

// Through the IR, whose printer knows every kind of attribute.
std::string TextFile(const OddModel& model) {
  Program program("odd");
  Block& block = program.main();
  std::unique_ptr<Op> op = block.NewOp(model.def);
  for (size_t slot = 0; slot < model.slots.size(); ++slot) {
    std::vector<Var*> vars;
    for (size_t i = 0; i < model.slots[slot].size(); ++i) {
      const Operand& operand = model.slots[slot][i];
      if (!operand.given) continue;
      TensorType type;
      type.dtype = operand.value.dtype();
      type.dims.assign(operand.value.dims().begin(), operand.value.dims().end());
      type.has_rank = operand.constant || operand.open < 2;
      if (!type.has_rank) type.dims.clear();
      if (!operand.constant && operand.open == 1) type.dims.assign(type.dims.size(), kUnknownDim);
      Var* var = block.AddVar(NameOf(slot, i), operand.constant ? VarKind::kConst : VarKind::kFeed, type);
      if (operand.constant) {
        var->literal = std::make_shared<const HostTensor>(operand.value);
      } else {
        program.feeds.push_back(var);
      }
      vars.push_back(var);
    }
    op->SetInputs(static_cast<int>(slot), vars);
  }
  for (const Attr& attr : model.attrs) op->SetAttr(attr.name, attr.value);
  const std::vector<SlotDef>& outputs = model.def->outputs;
  const bool all = model.all_results || std::all_of(outputs.begin(), outputs.end(), [](const SlotDef& slot) { return slot.optional; });
  for (size_t slot = 0; slot < model.def->outputs.size(); ++slot) {
    const SlotDef& def = model.def->outputs[slot];
    if (def.overwrites || (def.optional && !all)) continue;
    std::vector<Var*> vars;
    for (int count = def.variadic ? 2 : 1; count > 0; --count) {
      vars.push_back(block.AddVar(absl::StrCat("r", program.fetches.size()), VarKind::kTemp, TensorType()));
      program.fetches.push_back(vars.back());
    }
    op->SetOutputs(static_cast<int>(slot), vars);
  }
  block.Append(std::move(op));
  return PrintProgram(program);
}

}  // namespace

std::string FileOf(const OddModel& model) { return model.schema != nullptr ? OnnxFile(model) : TextFile(model); }

const char* ExtensionOf(const OddModel& model) { return model.schema != nullptr ? ".onnx" : ".prog"; }

}  // namespace ampc::extreme
