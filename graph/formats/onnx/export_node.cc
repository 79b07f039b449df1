#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/formats/marks.h"
#include "graph/formats/onnx/attr.h"
#include "graph/formats/onnx/exporter.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/dtype_number.h"
#include "graph/ops/onnx/schema.h"

namespace ampc::onnx {
namespace {

constexpr absl::string_view kOwnNode = "ampc/";  // how the names of new nodes begin
constexpr size_t kMostSearched = 1024;           // bytes of a node in which a text is found sooner than a field

// The fields of the file's node, with the names that it has now.
void AppendNames(int number, const NodeNames& names, std::string* out) {
  for (const absl::string_view name : names) AppendBytesField(number, name, out);
}

// Calls take(var) for every operand or result by position, null for an absent one.
template <typename Take>
void ForEachPosition(const Op& op, bool inputs, Take&& take) {
  const std::vector<SlotDef>& slots = inputs ? op.def().inputs : op.def().outputs;
  for (size_t s = 0; s < slots.size(); ++s) {
    if (inputs && slots[s].name == kCaptures) continue;
    const absl::Span<Var* const> vars = inputs ? op.inputs(static_cast<int>(s)) : op.outputs(static_cast<int>(s));
    if (vars.empty() && !slots[s].variadic) take(nullptr);
    if (vars.empty() && op.def().opaque && slots.size() > 1) take(nullptr);
    for (const Var* var : vars) take(var);
  }
}

bool IsCast(const Op& op) { return op.type() == "cast"; }

// Whether the op still has the attribute as the file says it; `gone` when it has it no more.
bool SameAttr(const Op& op, const AttributeView& view, const std::shared_ptr<const WeightSource>& file, bool* gone) {
  if (IsCast(op)) return view.name != "to" || (view.has_i ? DTypeOfNumber(view.i) : DTypeOfEnumerator(view.s)) == op.GetDType("out_dtype");
  std::vector<Attr> had;
  const AttrDef* def = op.def().FindAttr(view.name);
  if (def != nullptr && def->extra) def = nullptr;  // of the native op, not of the operator
  if (op.def().opaque || !ImportAttr(view, def, file, &had)) return true;
  *gone = !had.empty() && op.explicit_attr(had[0].name) == nullptr;
  return std::all_of(had.begin(), had.end(), [&op](const Attr& attr) {
    const AttrValue* has = op.explicit_attr(attr.name);
    return has != nullptr && ampc::SameAttr(attr.value, *has);
  });
}

// A tensor of one element with another element or type; `had` is the one that it was, or "".
std::string ScalarTensor(absl::string_view had, const Scalar& value, DType dtype) {
  std::string out, raw;
  AppendBytesField(tensor::kRaw, ScalarBytes(value, dtype), &raw);
  if (had.empty()) AppendVarintField(tensor::kDims, 1, &out);
  if (had.empty()) AppendVarintField(tensor::kDataType, static_cast<uint64_t>(NumberOfDType(dtype)), &out);
  WireReader reader(had);
  bool written = false;
  for (WireField field; reader.Next(&field);) {
    if (field.number > tensor::kRaw && !std::exchange(written, true)) out += raw;
    switch (field.number) {
      case tensor::kDataType: AppendVarintField(tensor::kDataType, static_cast<uint64_t>(NumberOfDType(dtype)), &out); break;
      case tensor::kFloats:
      case tensor::kInts:
      case tensor::kLongs:
      case tensor::kRaw:
      case tensor::kDoubles: break;
      default: absl::StrAppend(&out, field.all);
    }
  }
  if (!written) out += raw;
  return out;
}

// The type that a cast gives, as operator set `opset` has it.
std::string CastAttr(const Op& op, int opset) {
  const DType to = op.GetDType("out_dtype");
  return opset > 0 && opset < 6 ? EncodeAttr("to", std::string(EnumeratorOfDType(to))) : EncodeAttr("to", to);
}

// The attribute as the op has it; "" for one that an ONNX node cannot have.
std::string MakeAttr(const Op& op, absl::string_view name, absl::string_view had_tensor) {
  const AttrValue* value = op.explicit_attr(name);
  const Scalar* scalar = std::get_if<Scalar>(value);
  if (scalar == nullptr) return EncodeAttr(name, *value);
  std::string out;
  AppendBytesField(attribute::kName, name, &out);
  AppendBytesField(attribute::kT, ScalarTensor(had_tensor, *scalar, op.GetDType(absl::StrCat(name, "_dtype"), DType::kF32)), &out);
  AppendVarintField(attribute::kType, attribute::kTypeTensor, &out);
  return out;
}

Rope AttributeField(absl::string_view content) {
  std::string text;
  AppendBytesField(node::kAttribute, content, &text);
  Rope out;
  out.Text(text);
  return out;
}

}  // namespace

std::string MakeNode(const NodeNames& inputs, const NodeNames& outputs, absl::string_view name, absl::string_view type) {
  std::string out;
  AppendNames(node::kInput, inputs, &out);
  AppendNames(node::kOutput, outputs, &out);
  AppendBytesField(node::kName, name, &out);
  AppendBytesField(node::kType, OperatorOf(type), &out);
  if (!DomainOf(type).empty()) AppendBytesField(node::kDomain, DomainOf(type), &out);
  return out;
}

// By position; "" for an absent one, and none at the end.
NodeNames Exporter::Names(const Op& op, bool inputs) const {
  NodeNames names;
  ForEachPosition(op, inputs, [&](const Var* var) { names.push_back(var == nullptr ? absl::string_view() : NameOf(*var)); });
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

// Does a node with the names `had` have those of the op? Absent ones at the end do not count.
bool Exporter::HasNames(const Op& op, bool inputs, const NodeNames& had) const {
  size_t next = 0;
  bool same = true;
  ForEachPosition(op, inputs, [&](const Var* var) {
    const absl::string_view before = next < had.size() ? had[next] : absl::string_view();
    same = same && (var == nullptr ? before.empty() : before == NameOf(*var));
    ++next;
  });
  for (; same && next < had.size(); ++next) same = had[next].empty();
  return same;
}

// A name for the node that gives `result`. Names of values differ, so only an earlier conversion can have taken it.
std::string Exporter::NodeName(absl::string_view result) {
  if (!std::exchange(node_names_known_, true) && origin_ != nullptr) {
    NodeView view;
    for (const absl::string_view bytes : origin_->graphs) {
      WireReader reader(bytes);
      for (WireField field; reader.Next(&field);) {
        if (!field.Is(graph::kNode, kBytes)) continue;
        if (field.bytes.size() <= kMostSearched && !absl::StrContains(field.bytes, kOwnNode)) continue;
        const absl::string_view name = BytesField(field.bytes, node::kName);
        if (absl::StartsWith(name, kOwnNode)) node_names_.insert(std::string(name));
      }
    }
  }
  std::string name = absl::StrCat(kOwnNode, result);
  for (int n = 1; !node_names_.insert(name).second; ++n) name = absl::StrCat(kOwnNode, result, ".", n);
  return name;
}

void Exporter::Mark(const Op& op, absl::string_view original, Graph* graph) {
  const int index = graph->nodes++;
  std::string marks = WithOriginalNode(original, EncodeMarks(op.marks));
  if (MadeByOpset(op)) marks = AsMade(marks);
  undo_.Add({.section = 'o', .graph = graph->number, .index = index}, marks);
  int position = 0;
  for (size_t s = 0; s < op.def().outputs.size(); ++s) {
    const absl::Span<Var* const> vars = op.outputs(static_cast<int>(s));
    if (vars.empty()) ++position;
    for (const Var* var : vars) MarkValue(*var, {.section = 'n', .graph = graph->number, .sub = position++, .index = index});
  }
}

absl::StatusOr<Rope> Exporter::WriteGraphAttribute(const Op& op, absl::string_view had, const AttributeView& view) {
  std::vector<BlockRef> blocks;
  const AttrValue* value = op.explicit_attr(view.name);
  if (value != nullptr && std::holds_alternative<BlockRef>(*value)) blocks = {std::get<BlockRef>(*value)};
  if (value != nullptr && std::holds_alternative<std::vector<BlockRef>>(*value)) blocks = std::get<std::vector<BlockRef>>(*value);
  Rope content;
  size_t next = 0;
  WireReader reader(had);
  for (WireField field; reader.Next(&field);) {
    if ((!field.Is(attribute::kG, kBytes) && !field.Is(attribute::kGraphs, kBytes)) || next == blocks.size()) {
      content.Keep(field.all);
      continue;
    }
    AMPC_ASSIGN_OR_RETURN(const Rope graph, WriteGraph(program_.block(blocks[next++].index), field.bytes));
    graph.Are(field.bytes) ? content.Keep(field.all) : content.Field(field.number, graph);
  }
  return content;
}

absl::Status Exporter::WriteNewAttributes(const Op& op, Attributes* attributes) {
  const auto had = [attributes](absl::string_view name) {
    return std::find(attributes->names.begin(), attributes->names.end(), name) != attributes->names.end();
  };
  if (IsCast(op)) {
    if (!had("to")) attributes->added.push_back(AttributeField(CastAttr(op, opset_)));
    return absl::OkStatus();
  }
  for (const Attr& attr : op.attrs()) {
    if (had(attr.name)) continue;
    const AttrDef* def = op.def().FindAttr(attr.name);
    if (op.def().opaque || def == nullptr || def->extra) continue;
    const bool companion = absl::EndsWith(attr.name, "_dtype") && op.explicit_attr(attr.name.substr(0, attr.name.size() - 6)) != nullptr;
    if (companion) continue;
    if (const BlockRef* block = std::get_if<BlockRef>(&attr.value)) {
      AMPC_ASSIGN_OR_RETURN(const Rope graph, WriteGraph(program_.block(block->index), ""));
      Rope content;
      std::string name, type;
      AppendBytesField(attribute::kName, attr.name, &name);
      AppendVarintField(attribute::kType, attribute::kTypeGraph, &type);
      content.Text(name);
      content.Field(attribute::kG, graph);
      content.Text(type);
      attributes->added.emplace_back().Field(node::kAttribute, content);
      continue;
    }
    const std::string content = MakeAttr(op, attr.name, "");
    if (content.empty()) return UnsupportedError(absl::StrCat(Describe(op), ": attribute ", attr.name, " has no form in an ONNX model"));
    attributes->added.push_back(AttributeField(content));
  }
  return absl::OkStatus();
}

absl::Status Exporter::WriteAttributes(const Op& op, const NodeView& node, Attributes* attributes) {
  for (const absl::string_view bytes : node.attributes) {
    AttributeView view;
    (void)ReadAttribute(bytes, &view);
    attributes->names.push_back(view.name);
    attributes->kept.push_back(true);
    bool gone = false;
    if (view.has_g || !view.graphs.empty()) {
      AMPC_ASSIGN_OR_RETURN(const Rope content, WriteGraphAttribute(op, bytes, view));
      if (content.Are(bytes)) continue;
      attributes->changed.emplace_back().Field(node::kAttribute, content);
    } else {
      if (SameAttr(op, view, origin_->source, &gone)) continue;
      attributes->changed.push_back(gone ? Rope() : AttributeField(IsCast(op) ? CastAttr(op, opset_) : MakeAttr(op, view.name, view.t)));
    }
    attributes->kept.back() = false;
  }
  return WriteNewAttributes(op, attributes);
}

// `had`: the field of the file's graph with its node.
absl::Status Exporter::WriteNode(const Op& op, const WireField& had, Graph* graph, Rope* out) {
  if (WriteRestored(op, graph, out)) return absl::OkStatus();
  NodeView view;
  (void)ReadNode(had.bytes, &view);
  const bool dialect = !op.def().opaque && !IsCast(op);
  const bool changed =
      !HasNames(op, true, view.inputs) || !HasNames(op, false, view.outputs) || (dialect && OperatorOf(TypeName(op.def())) != view.type);
  Attributes attributes;
  AMPC_RETURN_IF_ERROR(WriteAttributes(op, view, &attributes));
  Mark(op, OriginalToKeep(op, view, had.bytes, attributes), graph);
  if (!changed && attributes.changed.empty() && attributes.added.empty()) {
    out->Keep(had.all);
    return absl::OkStatus();
  }
  NodeNames inputs = Names(op, true), outputs = Names(op, false);
  inputs.resize(std::max(inputs.size(), view.inputs.size()));
  outputs.resize(std::max(outputs.size(), view.outputs.size()));
  size_t input = 0, output = 0, attribute = 0, rewritten = 0;
  bool added = false;
  Rope node;
  std::string text;
  // New ones of a kind come behind the last that the file has.
  const auto add_new = [&](int next) {
    if (input >= view.inputs.size() && next > node::kInput) {
      for (; input < inputs.size(); ++input) AppendBytesField(node::kInput, inputs[input], &text);
    }
    if (output >= view.outputs.size() && next > node::kOutput) {
      for (; output < outputs.size(); ++output) AppendBytesField(node::kOutput, outputs[output], &text);
    }
    if (attribute < view.attributes.size() || next <= node::kAttribute || std::exchange(added, true)) return;
    node.Text(text);
    text.clear();
    for (const Rope& attribute : attributes.added) node.Append(attribute);
  };
  WireReader reader(had.bytes);
  for (WireField field; reader.Next(&field);) {
    add_new(field.number);
    if (field.Is(node::kInput, kBytes)) {
      AppendBytesField(node::kInput, inputs[input++], &text);
    } else if (field.Is(node::kOutput, kBytes)) {
      AppendBytesField(node::kOutput, outputs[output++], &text);
    } else if (field.Is(node::kAttribute, kBytes) && !attributes.kept[attribute++]) {
      node.Text(text);
      text.clear();
      node.Append(attributes.changed[rewritten++]);
    } else if (field.Is(node::kType, kBytes) && dialect) {
      AppendBytesField(node::kType, OperatorOf(TypeName(op.def())), &text);
    } else {
      absl::StrAppend(&text, field.all);
    }
  }
  add_new(1 << 20);
  node.Text(text);
  out->Field(graph::kNode, node);
  return absl::OkStatus();
}

absl::Status Exporter::WriteNewNode(const Op& op, Graph* graph, Rope* out) {
  const bool cast = IsCast(op);
  if (!cast && DefOf(op.def()) == nullptr) {
    return UnsupportedError(absl::StrCat(Describe(op), ": it has no form in an ONNX model"));
  }
  Mark(op, "", graph);
  const NodeNames outputs = Names(op, false);
  const std::string name = NodeName(outputs.empty() ? absl::string_view() : outputs[0]);
  Rope node;
  node.Text(MakeNode(Names(op, true), outputs, name, cast ? absl::string_view("Cast") : TypeName(op.def())));
  Attributes attributes;
  AMPC_RETURN_IF_ERROR(WriteNewAttributes(op, &attributes));
  for (const Rope& attribute : attributes.added) node.Append(attribute);
  out->Field(graph::kNode, node);
  return absl::OkStatus();
}

}  // namespace ampc::onnx
