#include "tests/formats/onnx/model_text.h"

#include <cstring>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/dtype.h"
#include "graph/base/half.h"
#include "graph/ops/onnx/dtype_number.h"

namespace ampc::testing {
namespace {

[[noreturn]] void Fail(absl::string_view line) { throw std::runtime_error(absl::StrCat("not a line of an ONNX text: ", line)); }

double ToNumber(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) Fail(text);
  return value;
}

int TypeNumber(absl::string_view name) {
  if (name == "string") return 8;
  const std::optional<DType> dtype = ParseDType(name);
  if (!dtype.has_value()) Fail(name);
  return onnx::NumberOfDType(*dtype);
}

template <typename T>
void Append(T value, std::string* raw) {
  raw->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void AppendElement(int type, double value, std::string* raw) {
  switch (onnx::DTypeOfNumber(type)) {
    case DType::kF32: return Append(static_cast<float>(value), raw);
    case DType::kF64: return Append(value, raw);
    case DType::kF16: return Append(Half(static_cast<float>(value)), raw);
    case DType::kI64: return Append(static_cast<int64_t>(value), raw);
    case DType::kI32: return Append(static_cast<int32_t>(value), raw);
    case DType::kBool:
    case DType::kU8: return Append(static_cast<uint8_t>(value), raw);
    default: Fail(absl::StrCat("element type ", type));
  }
}

// Parts between `separator`, without blanks around them; none for "".
std::vector<std::string> Parts(absl::string_view text, char separator = ',') {
  std::vector<std::string> out;
  if (absl::StripAsciiWhitespace(text).empty()) return out;
  for (const absl::string_view part : absl::StrSplit(text, separator)) out.emplace_back(absl::StripAsciiWhitespace(part));
  return out;
}

// `values`: "" for the pattern.
void FillTensor(int type, const std::vector<std::string>& dims, absl::string_view values, onnx::TensorProto* tensor) {
  int64_t count = 1;
  for (const std::string& dim : dims) {
    tensor->add_dims(static_cast<int64_t>(ToNumber(dim)));
    count *= tensor->dims().Get(tensor->dims_size() - 1);
  }
  tensor->set_data_type(type);
  std::vector<double> given;
  for (const std::string& value : Parts(values)) given.push_back(ToNumber(value));
  std::string raw;
  for (int64_t i = 0; i < count; ++i) {
    const double pattern = static_cast<double>((i * 7919 + count * 31) % 17 - 8) / 32;
    AppendElement(type, given.empty() ? pattern : given[i % given.size()], &raw);
  }
  tensor->set_raw_data(raw);
}

class Reader {
 public:
  explicit Reader(const std::string& text) : in_(text) {}

  void Model(onnx::ModelProto* model) {
    model->set_ir_version(8);
    model->mutable_graph()->set_name("g");
    Lines(model, model->mutable_graph(), nullptr);
  }

 private:
  bool Next() {
    while (std::getline(in_, line_)) {
      const size_t comment = line_.find('#');
      line_ = std::string(absl::StripAsciiWhitespace(absl::string_view(line_).substr(0, comment)));
      if (!line_.empty()) return true;
    }
    return false;
  }

  // Up to the end, or to a line that begins with '}', which stays in line_.
  void Lines(onnx::ModelProto* model, onnx::GraphProto* graph, onnx::FunctionProto* function) {
    while (Next() && line_[0] != '}') {
      absl::string_view line = line_;
      if (absl::ConsumePrefix(&line, "opset ")) {
        Opset(line, function != nullptr ? function->add_opset_import() : model->add_opset_import());
      } else if (absl::ConsumePrefix(&line, "in ")) {
        Value(line, graph->add_input());
      } else if (absl::ConsumePrefix(&line, "out ")) {
        Value(line, graph->add_output());
      } else if (absl::ConsumePrefix(&line, "value ")) {
        Value(line, graph->add_value_info());
      } else if (absl::ConsumePrefix(&line, "w ")) {
        Initializer(line, graph->add_initializer());
      } else if (absl::ConsumePrefix(&line, "function ")) {
        Function(line, model);
      } else {
        Node(function != nullptr ? function->add_node() : graph->add_node());
      }
    }
  }

  static void Opset(absl::string_view text, onnx::OperatorSetIdProto* opset) {
    const std::vector<std::string> parts = Parts(text, ' ');
    if (parts.size() == 2) opset->set_domain(parts[0]);
    opset->set_version(static_cast<int64_t>(ToNumber(parts.back())));
  }

  // "x f32 [4, ?]"
  void Value(absl::string_view text, onnx::ValueInfoProto* info) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
    if (parts.size() != 3) Fail(line_);
    info->set_name(parts[0]);
    absl::string_view type = parts[1];
    const bool sequence = absl::ConsumePrefix(&type, "seq(") && absl::ConsumeSuffix(&type, ")");
    onnx::TypeProto* of = sequence ? info->mutable_type()->mutable_sequence_type()->mutable_elem_type() : info->mutable_type();
    onnx::TypeProto::Tensor* tensor = of->mutable_tensor_type();
    tensor->set_elem_type(TypeNumber(type));
    const std::string inside = Inside(parts[2], '[', ']');
    if (inside == "*") return;
    onnx::TensorShapeProto* shape = tensor->mutable_shape();
    for (const std::string& dim : Parts(inside)) {
      onnx::TensorShapeProto::Dimension* to = shape->add_dim();
      if (dim == "?") continue;
      int64_t number = 0;
      absl::SimpleAtoi(dim, &number) ? to->set_dim_value(number) : to->set_dim_param(dim);
    }
  }

  std::string Inside(absl::string_view text, char open, char close) const {
    const size_t begin = text.find(open), end = text.find(close);
    if (begin == absl::string_view::npos || end == absl::string_view::npos || end < begin) Fail(line_);
    return std::string(text.substr(begin + 1, end - begin - 1));
  }

  void Initializer(absl::string_view text, onnx::TensorProto* tensor) {
    const std::vector<std::string> sides = absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::vector<std::string> parts = absl::StrSplit(sides[0], absl::MaxSplits(' ', 2));
    if (parts.size() != 3) Fail(line_);
    tensor->set_name(parts[0]);
    FillTensor(TypeNumber(parts[1]), Parts(Inside(parts[2], '[', ']')), sides.size() > 1 ? sides[1] : "", tensor);
  }

  // "mine.Lin(a, b; alpha) -> y {"
  void Function(absl::string_view text, onnx::ModelProto* model) {
    onnx::FunctionProto* function = model->add_functions();
    const std::string name(text.substr(0, text.find('(')));
    const size_t dot = name.rfind('.');
    function->set_domain(name.substr(0, dot));
    function->set_name(name.substr(dot + 1));
    const std::vector<std::string> formals = absl::StrSplit(Inside(text, '(', ')'), ';');
    for (const std::string& input : Parts(formals[0])) function->add_input(input);
    if (formals.size() > 1) {
      for (const std::string& attribute : Parts(formals[1])) function->add_attribute(attribute);
    }
    const size_t arrow = text.find("->");
    if (arrow == absl::string_view::npos) Fail(line_);
    for (const std::string& output : Parts(absl::StripSuffix(text.substr(arrow + 2), "{"))) function->add_output(output);
    Lines(model, nullptr, function);
  }

  void Node(onnx::NodeProto* node) {
    const size_t equals = line_.find(" = "), open = line_.find('('), close = line_.find(')');
    if (equals == std::string::npos || open == std::string::npos || close == std::string::npos) Fail(line_);
    for (const std::string& output : Parts(line_.substr(0, equals))) node->add_output(output == "_" ? "" : output);
    std::string type = line_.substr(equals + 3, open - equals - 3);
    if (const size_t at = type.find('@'); at != std::string::npos) {
      node->set_name(type.substr(at + 1));
      type.resize(at);
    }
    if (const size_t dot = type.rfind('.'); dot != std::string::npos) {
      node->set_domain(type.substr(0, dot));
      type = type.substr(dot + 1);
    }
    node->set_op_type(type);
    for (const std::string& input : Parts(line_.substr(open + 1, close - open - 1))) node->add_input(input);
    std::string rest = line_.substr(close + 1);
    while (Attributes(rest, node)) {
      Lines(nullptr, node->mutable_attribute(node->attribute_size() - 1)->mutable_g(), nullptr);
      rest = line_.substr(1);
    }
  }

  // Reads "a=1 b=[1, 2]"; true when the last is a graph, whose lines follow.
  bool Attributes(absl::string_view text, onnx::NodeProto* node) {
    for (text = absl::StripAsciiWhitespace(text); !text.empty(); text = absl::StripLeadingAsciiWhitespace(text)) {
      const size_t equals = text.find('=');
      if (equals == absl::string_view::npos) Fail(line_);
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name(std::string(text.substr(0, equals)));
      text.remove_prefix(equals + 1);
      if (text == "{") {
        attribute->set_type(5);
        attribute->mutable_g()->set_name(attribute->name());
        return true;
      }
      const size_t bracket = text[0] == '[' ? text.find(']') : text.find('{') < text.find(' ') ? text.find('}') : 0;
      const size_t end = std::min(text.find(' ', bracket), text.size());
      SetValue(text.substr(0, end), attribute);
      text.remove_prefix(end);
    }
    return false;
  }

  void SetValue(absl::string_view text, onnx::AttributeProto* attribute) {
    if (absl::ConsumePrefix(&text, "@")) {
      constexpr absl::string_view kKinds = "?fistgFIS";
      attribute->set_ref_attr_name(std::string(text.substr(0, text.size() - 2)));
      attribute->set_type(static_cast<int>(kKinds.find(text.back())));
    } else if (text[0] == '"') {
      attribute->set_s(std::string(text.substr(1, text.size() - 2)));
      attribute->set_type(3);
    } else if (text.back() == '}') {
      const std::string name(text.substr(0, text.find('[')));
      FillTensor(TypeNumber(name), Parts(Inside(text, '[', ']')), Inside(text, '{', '}'), attribute->mutable_t());
      attribute->set_type(4);
    } else if (text[0] == '[') {
      const bool floats = text.find('.') != absl::string_view::npos;
      for (const std::string& value : Parts(Inside(text, '[', ']'))) {
        floats ? attribute->add_floats(static_cast<float>(ToNumber(value))) : attribute->add_ints(static_cast<int64_t>(ToNumber(value)));
      }
      attribute->set_type(floats ? 6 : 7);
    } else if (ParseDType(text).has_value()) {
      attribute->set_i(TypeNumber(text));
      attribute->set_type(2);
    } else if (int64_t integer = 0; absl::SimpleAtoi(text, &integer)) {
      attribute->set_i(integer);
      attribute->set_type(2);
    } else {
      attribute->set_f(static_cast<float>(ToNumber(text)));
      attribute->set_type(1);
    }
  }

  std::istringstream in_;
  std::string line_;
};

}  // namespace

onnx::ModelProto ModelFromText(const std::string& text) {
  onnx::ModelProto model;
  Reader(text).Model(&model);
  return model;
}

}  // namespace ampc::testing
