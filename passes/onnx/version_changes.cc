#include "passes/onnx/version_changes.h"

#include <algorithm>
#include <cfloat>

#include "graph/ops/onnx/dialect.h"

namespace ampc {
namespace {

using onnx::FormalAttr;
using onnx::OnnxDef;
using onnx::Schema;

// One step; the node is still of the version before. False: it cannot be done.
using Step = bool (*)(NodeDraft& node);

bool Never(NodeDraft&) { return false; }

// An attribute becomes the operand at position 1; without it there was none.
bool IntsToOperand(NodeDraft& node, const char* attr) {
  if (const auto ints = node.TakeInts(attr)) node.SetOperand(1, node.Const(*ints));
  return true;
}
bool AxesToOperand(NodeDraft& node) { return IntsToOperand(node, "axes"); }
bool SplitToOperand(NodeDraft& node) { return IntsToOperand(node, "split"); }
bool KToOperand(NodeDraft& node) { return IntsToOperand(node, "k"); }
bool ShapeToOperand(NodeDraft& node) { return IntsToOperand(node, "shape"); }

// Without sizes, the number of parts has to be said.
bool SplitCount(NodeDraft& node) {
  if (node.Operand(1) == nullptr) node.SetAttr("num_outputs", static_cast<int64_t>(node.NumResults()));
  return true;
}

// Up to operator set 6 the second operand was broadcast on demand, from dimension `axis` of the first on; from 7 on always, to its last
// ones.
bool Broadcast(NodeDraft& node) {
  const TensorType &x = node.Operand(0)->type, &y = node.Operand(1)->type;
  const auto on_demand = node.TakeInts("broadcast"), axis = node.TakeInts("axis");
  if (!on_demand.has_value() || (*on_demand)[0] == 0 || !axis.has_value() || (*axis)[0] == -1) return true;
  if (y.IsStatic() && y.NumElements() == 1) return true;
  return x.has_rank && y.has_rank && (*axis)[0] == x.rank() - y.rank();
}
// The third operand of Gemm always went to the last dimensions.
bool NoBroadcast(NodeDraft& node) {
  node.RemoveAttr("broadcast");
  return true;
}
// One slope, or one for each channel; from operator set 7 on they go to the last dimensions.
bool Slopes(NodeDraft& node) {
  const TensorType &x = node.Operand(0)->type, &slope = node.Operand(1)->type;
  return (slope.IsStatic() && slope.NumElements() == 1) || (x.has_rank && x.rank() == 2 && slope.has_rank && slope.rank() == 1);
}

bool ClipBounds(NodeDraft& node) {
  const DType dtype = node.Operand(0)->type.dtype;
  if (!IsFloat(dtype)) return false;
  const std::optional<double> low = node.TakeFloat("min"), high = node.TakeFloat("max");
  if (low.has_value() && *low > -FLT_MAX) node.SetOperand(1, node.ConstScalar(*low, dtype));
  if (high.has_value() && *high < FLT_MAX) node.SetOperand(2, node.ConstScalar(*high, dtype));
  return true;
}

// The mask has another type from operator set 10 on.
bool NoMask(NodeDraft& node) { return !node.HasResult(1); }
bool DropoutRatio(NodeDraft& node) {
  const std::optional<double> ratio = node.TakeFloat("ratio");
  if (ratio.has_value()) node.SetOperand(1, node.ConstScalar(*ratio, DType::kF32));
  return true;
}

bool PadOperands(NodeDraft& node) {
  const DType dtype = node.Operand(0)->type.dtype;
  const std::optional<std::vector<int64_t>> pads = node.TakeInts("pads");
  const std::optional<double> value = node.TakeFloat("value");
  if (!pads.has_value() || !IsFloat(dtype)) return false;
  node.SetOperand(1, node.Const(*pads));
  if (value.value_or(0) != 0) node.SetOperand(2, node.ConstScalar(*value, dtype));
  return true;
}

bool SliceOperands(NodeDraft& node) {
  const auto starts = node.TakeInts("starts"), ends = node.TakeInts("ends"), axes = node.TakeInts("axes");
  if (!starts.has_value() || !ends.has_value()) return false;
  node.SetOperand(1, node.Const(*starts));
  node.SetOperand(2, node.Const(*ends));
  if (axes.has_value()) node.SetOperand(3, node.Const(*axes));
  return true;
}

// Up to operator set 12 all dimensions from `axis` on were one; the same where only one of them is not 1. Elsewhere they become one.
bool SoftmaxAxis(NodeDraft& node) {
  const TensorType& type = node.Operand(0)->type;
  int64_t axis = 1;
  if (const auto given = node.TakeInts("axis")) axis = (*given)[0];
  if (axis == -1 || (type.has_rank && axis == type.rank() - 1)) {
    node.SetAttr("axis", axis);
    return true;
  }
  const int64_t first = axis < 0 && type.has_rank ? axis + type.rank() : axis;
  if (type.has_rank && (first < 0 || first >= type.rank())) return false;
  const bool one = type.has_rank && std::all_of(type.dims.begin() + first + 1, type.dims.end(), [](int64_t dim) { return dim == 1; });
  if (!one) node.SetRows(first);
  node.SetAttr("axis", one ? first : int64_t{-1});
  return true;
}

// From operator set 7 on, one result means the running statistics.
bool TestBatchNorm(NodeDraft& node) {
  const auto is_test = node.TakeInts("is_test");
  return is_test.has_value() && (*is_test)[0] != 0 && !node.HasResult(1);
}
bool OneResult(NodeDraft& node) { return !node.HasResult(1); }
bool SpatialBatchNorm(NodeDraft& node) {
  const auto spatial = node.TakeInts("spatial");
  return !spatial.has_value() || (*spatial)[0] == 1;
}

bool UpsampleAsResize(NodeDraft& node) {
  Var* scales = node.Operand(1);
  if (const AttrValue* value = node.Find("scales")) {
    const auto* floats = std::get_if<std::vector<float>>(value);
    if (floats == nullptr) return false;
    scales = node.ConstFloats(*floats);
    node.RemoveAttr("scales");
  }
  if (scales == nullptr) return false;
  node.SetOperand(1, node.ConstFloats({}));
  node.SetOperand(2, scales);
  node.SetAttr("coordinate_transformation_mode", std::string("asymmetric"));
  node.SetAttr("nearest_mode", std::string("floor"));
  return true;
}
bool ResizeWithoutMode(NodeDraft& node) {
  const AttrValue* mode = node.Find("coordinate_transformation_mode");
  return mode == nullptr || *mode != AttrValue(std::string("tf_half_pixel_for_nn"));
}

bool RoiAlignMode(NodeDraft& node) {
  node.SetAttr("coordinate_transformation_mode", std::string("output_half_pixel"));
  return true;
}

bool GridSampleMode(NodeDraft& node) {
  const AttrValue* mode = node.Find("mode");
  const std::string was = mode == nullptr ? "bilinear" : std::get_if<std::string>(mode) == nullptr ? "" : std::get<std::string>(*mode);
  node.SetAttr("mode", was == "bilinear" ? std::string("linear") : was == "bicubic" ? std::string("cubic") : was);
  return !was.empty();
}

bool DftAxis(NodeDraft& node) {
  const auto axis = node.TakeInts("axis");
  node.SetOperand(2, node.ConstScalar(axis.has_value() ? (*axis)[0] : int64_t{1}));
  return true;
}

// An entry of scale and bias for each group; from operator set 21 on, for each channel.
bool PerChannel(NodeDraft& node) {
  const TensorType& x = node.Operand(0)->type;
  const AttrValue* value = node.Find("num_groups");
  const auto* groups = value == nullptr ? nullptr : std::get_if<int64_t>(value);
  if (groups == nullptr || *groups <= 0 || !x.has_rank || x.rank() < 2 || !IsKnown(x.dims[1]) || x.dims[1] % *groups != 0) return false;
  for (const size_t formal : {1, 2}) node.Repeat(formal, *groups, x.dims[1] / *groups);
  return true;
}

bool Same(NodeDraft&) { return true; }

struct Change {
  const char* type;
  int since;  // of the version that the step leads to
  Step step;
  const char* becomes = nullptr;  // the operator that takes the place of one that is gone
};

// clang-format off
constexpr Change kChanges[] = {
    {"Add", 7, Broadcast},                       {"And", 7, Broadcast},
    {"Div", 7, Broadcast},                       {"Equal", 7, Broadcast},
    {"Gemm", 7, NoBroadcast},                    {"Greater", 7, Broadcast},
    {"Less", 7, Broadcast},                      {"Mul", 7, Broadcast},
    {"Or", 7, Broadcast},                        {"PRelu", 7, Slopes},
    {"Pow", 7, Broadcast},                       {"Reshape", 5, ShapeToOperand},
    {"Sub", 7, Broadcast},                       {"Xor", 7, Broadcast},
    {"BatchNormalization", 7, TestBatchNorm},    {"BatchNormalization", 9, SpatialBatchNorm},
    {"BatchNormalization", 14, OneResult},
    {"Clip", 11, ClipBounds},                    {"DFT", 20, DftAxis},
    {"Dropout", 10, NoMask},                     {"Dropout", 12, DropoutRatio},
    {"GridSample", 20, GridSampleMode},          {"GroupNormalization", 21, PerChannel},
    {"Hardmax", 13, SoftmaxAxis},                {"LogSoftmax", 13, SoftmaxAxis},
    {"Pad", 11, PadOperands},                    {"ReduceL1", 18, AxesToOperand},
    {"ReduceL2", 18, AxesToOperand},             {"ReduceLogSum", 18, AxesToOperand},
    {"ReduceLogSumExp", 18, AxesToOperand},      {"ReduceMax", 18, AxesToOperand},
    {"ReduceMean", 18, AxesToOperand},           {"ReduceMin", 18, AxesToOperand},
    {"ReduceProd", 18, AxesToOperand},           {"ReduceSum", 13, AxesToOperand},
    {"ReduceSumSquare", 18, AxesToOperand},      {"Resize", 11, UpsampleAsResize},
    {"Resize", 13, ResizeWithoutMode},           {"RoiAlign", 16, RoiAlignMode},
    {"Scan", 9, Never},                          {"Scatter", 11, Same, "ScatterElements"},
    {"Slice", 10, SliceOperands},                {"Softmax", 13, SoftmaxAxis},
    {"Split", 13, SplitToOperand},               {"Split", 18, SplitCount},
    {"Squeeze", 13, AxesToOperand},              {"TopK", 10, KToOperand},
    {"Unsqueeze", 13, AxesToOperand},            {"Upsample", 9, Never},
    {"Upsample", 10, UpsampleAsResize, "Resize"},
};
// clang-format on

const Change* FindChange(absl::string_view type, int since) {
  for (const Change& change : kChanges) {
    if (change.type == type && change.since == since) return &change;
  }
  return nullptr;
}

const FormalAttr* FindAttr(const Schema& schema, absl::string_view name) {
  const auto it = std::find_if(schema.attrs.begin(), schema.attrs.end(), [&](const FormalAttr& a) { return a.name == name; });
  return it == schema.attrs.end() ? nullptr : &*it;
}

// The later version takes a node of the earlier one as it is; defaults that changed are written out.
bool Extends(const Schema& before, const Schema& after, NodeDraft& node) {
  if (after.inputs.size() < before.inputs.size() || after.outputs.size() < before.outputs.size()) return false;
  for (size_t i = 0; i < after.inputs.size(); ++i) {
    if (i >= before.inputs.size() ? !after.inputs[i].optional : after.inputs[i].variadic != before.inputs[i].variadic) return false;
  }
  for (const FormalAttr& attr : before.attrs) {
    const FormalAttr* now = FindAttr(after, attr.name);
    if (now == nullptr || now->kind != attr.kind) {
      if (node.Has(attr.name)) return false;
      continue;
    }
    const bool differs = attr.has_default && !(now->has_default && SameAttr(attr.value, now->value));
    if (differs && node.Find(attr.name) == nullptr) node.SetAttr(attr.name, attr.value);
  }
  for (const FormalAttr& attr : after.attrs) {
    if (attr.required && !node.Has(attr.name)) return false;
  }
  return true;
}

const OnnxDef* NextVersion(const OnnxDef& def, int opset) {
  for (int next = def.schema->since + 1; next <= opset; ++next) {
    const OpDef* found = onnx::FindOp(def.schema->type, next);
    if (found != nullptr && found != &def) return onnx::DefOf(*found);
  }
  return nullptr;
}

// If the operator is gone at `opset`: the change that names its successor.
const Change* Successor(const OnnxDef& def, int opset) {
  for (const Change& change : kChanges) {
    if (change.becomes != nullptr && change.type == def.schema->type && change.since <= opset) return &change;
  }
  return nullptr;
}

}  // namespace

bool UpgradeNode(NodeDraft& node, int opset) {
  for (;;) {
    const OnnxDef& def = node.def();
    if (const Change* gone = Successor(def, opset)) {
      const OpDef* next = onnx::FindOp(gone->becomes, std::max(gone->since, 11));
      if (next == nullptr || !gone->step(node)) return false;
      node.Become(*onnx::DefOf(*next));
      continue;
    }
    const OnnxDef* next = NextVersion(def, opset);
    if (next == nullptr) return onnx::FindOp(def.schema->type, opset) == &def && !node.asked_unknown();
    if (const Change* change = FindChange(def.schema->type, next->schema->since)) {
      if (!change->step(node)) return false;
    } else if (!Extends(*def.schema, *next->schema, node)) {
      return false;
    }
    node.Become(*next);
  }
}

}  // namespace ampc
