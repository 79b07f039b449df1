#include "passes/onnx/node_draft.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/bfloat16.h"
#include "graph/base/half.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {

NodeDraft::NodeDraft(const Op& op, Block& block, std::vector<std::string> unknown)
    : op_(op), block_(block), def_(onnx::DefOf(op.def())), attrs_(op.attrs()), unknown_(std::move(unknown)) {
  for (int s = 0; s < static_cast<int>(op.def().inputs.size()); ++s) operands_.emplace_back(op.inputs(s).begin(), op.inputs(s).end());
  for (int s = 0; s < static_cast<int>(op.def().outputs.size()); ++s) results_.emplace_back(op.outputs(s).begin(), op.outputs(s).end());
}

Var* NodeDraft::Operand(size_t formal) const {
  return formal < operands_.size() && !operands_[formal].empty() ? operands_[formal][0] : nullptr;
}

void NodeDraft::SetOperand(size_t formal, Var* var) {
  if (operands_.size() <= formal) operands_.resize(formal + 1);
  operands_[formal] = var == nullptr ? std::vector<Var*>() : std::vector<Var*>{var};
}

size_t NodeDraft::NumResults() const {
  size_t n = 0;
  for (const std::vector<Var*>& slot : results_) n += slot.size();
  return n;
}

bool NodeDraft::IsUnknown(absl::string_view name) const { return std::find(unknown_.begin(), unknown_.end(), name) != unknown_.end(); }

bool NodeDraft::Has(absl::string_view name) const {
  return IsUnknown(name) || std::any_of(attrs_.begin(), attrs_.end(), [&](const Attr& a) { return a.name == name; });
}

const AttrValue* NodeDraft::Find(absl::string_view name) const {
  asked_unknown_ = asked_unknown_ || IsUnknown(name);
  const auto it = std::find_if(attrs_.begin(), attrs_.end(), [&](const Attr& a) { return a.name == name; });
  return it == attrs_.end() ? nullptr : &it->value;
}

void NodeDraft::SetAttr(absl::string_view name, AttrValue value) {
  RemoveAttr(name);
  attrs_.push_back({std::string(name), std::move(value)});
}

void NodeDraft::RemoveAttr(absl::string_view name) {
  asked_unknown_ = asked_unknown_ || IsUnknown(name);
  std::erase_if(attrs_, [&](const Attr& a) { return a.name == name; });
}

std::optional<std::vector<int64_t>> NodeDraft::TakeInts(absl::string_view name) {
  const AttrValue* value = Find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<std::vector<int64_t>> out;
  if (const auto* longs = std::get_if<std::vector<int64_t>>(value)) out = *longs;
  if (const auto* ints = std::get_if<std::vector<int32_t>>(value)) out.emplace(ints->begin(), ints->end());
  if (const auto* one = std::get_if<int64_t>(value)) out = std::vector<int64_t>{*one};
  if (const auto* one = std::get_if<int32_t>(value)) out = std::vector<int64_t>{*one};
  RemoveAttr(name);
  return out;
}

std::optional<double> NodeDraft::TakeFloat(absl::string_view name) {
  const AttrValue* value = Find(name);
  if (value == nullptr) return std::nullopt;
  std::optional<double> out;
  if (const auto* one = std::get_if<float>(value)) out = *one;
  if (const auto* one = std::get_if<double>(value)) out = *one;
  RemoveAttr(name);
  return out;
}

Var* NodeDraft::Add(HostTensor value) {
  const std::string base = op_.outputs().empty() ? std::string("operand") : absl::StrCat(op_.outputs()[0]->name(), ".operand");
  Var* var =
      block_.AddVar(block_.UniqueName(base), VarKind::kConst, TensorType(value.dtype(), Dims(value.dims().begin(), value.dims().end())));
  var->literal = std::make_shared<const HostTensor>(std::move(value));
  return var;
}

Var* NodeDraft::Const(const std::vector<int64_t>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Add(HostTensor::FromValues<int64_t>({n}, values));
}
Var* NodeDraft::ConstScalar(int64_t value) { return Add(HostTensor::Of<int64_t>({}, {value})); }
Var* NodeDraft::ConstScalar(double value, DType dtype) {
  switch (dtype) {
    case DType::kF64: return Add(HostTensor::Of<double>({}, {value}));
    case DType::kF16: return Add(HostTensor::Of<Half>({}, {Half(static_cast<float>(value))}));
    case DType::kBF16: return Add(HostTensor::Of<BFloat16>({}, {BFloat16(static_cast<float>(value))}));
    default: return Add(HostTensor::Of<float>({}, {static_cast<float>(value)}));
  }
}
Var* NodeDraft::ConstFloats(const std::vector<float>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Add(HostTensor::FromValues<float>({n}, values));
}

std::unique_ptr<Op> NodeDraft::Make() const {
  std::unique_ptr<Op> out = block_.NewOp(def_);
  const int captures = op_.def().InputSlot(onnx::kCaptures);
  const size_t formals = captures < 0 ? operands_.size() : static_cast<size_t>(captures);
  for (size_t s = 0; s < formals && s < def_->inputs.size(); ++s) out->SetInputs(static_cast<int>(s), operands_[s]);
  if (captures >= 0) out->SetInputs(def_->InputSlot(onnx::kCaptures), operands_[captures]);
  for (size_t s = 0; s < results_.size() && s < def_->outputs.size(); ++s) out->SetOutputs(static_cast<int>(s), results_[s]);
  for (const Attr& attr : attrs_) out->SetAttr(attr.name, attr.value);
  out->marks = op_.marks;
  out->line = op_.line;
  out->origin = op_.origin;
  return out;
}

void NodeDraft::Repeat(size_t formal, int64_t count, int64_t times) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count * times; ++i) indices.push_back(i / times);
  repeats_.push_back({formal, Const(indices)});
}

void NodeDraft::AppendTo(int opset, std::vector<std::unique_ptr<Op>>* out) const {
  std::unique_ptr<Op> op = Make();
  const std::string base = op->outputs().empty() ? std::string("value") : op->outputs()[0]->name();
  const auto value = [&](const char* suffix, TensorType type) {
    return block_.AddVar(block_.UniqueName(absl::StrCat(base, suffix)), VarKind::kTemp, std::move(type));
  };
  const auto add = [&](const char* type, std::vector<Var*> operands, Var* result) -> Op& {
    std::unique_ptr<Op> made = block_.NewOp(onnx::FindOp(type, opset));
    for (size_t i = 0; i < operands.size(); ++i) made->SetInputs(static_cast<int>(i), {&operands[i], 1});
    made->SetOutputs(0, {&result, 1});
    made->line = op_.line;
    out->push_back(std::move(made));
    return *out->back();
  };
  for (const Repeated& repeat : repeats_) {
    Var* const list = op->inputs(static_cast<int>(repeat.formal))[0];
    Var* const more = value(".repeated", TensorType(list->type.dtype, {repeat.indices->type.dims[0]}));
    add("Gather", {list, repeat.indices}, more);
    op->SetInputs(static_cast<int>(repeat.formal), {&more, 1});
  }
  if (!rows_.has_value()) {
    out->push_back(std::move(op));
    return;
  }
  Var* const x = op->inputs()[0];
  Var* const y = op->outputs()[0];
  const TensorType matrix(x->type.dtype, {kUnknownDim, kUnknownDim});
  Var* const flat = value(".flat", matrix);
  Var* const rows = value(".rows", matrix);
  Var* const dims = value(".dims", TensorType(DType::kI64, {x->type.has_rank ? int64_t{x->type.rank()} : kUnknownDim}));
  add("Flatten", {x}, flat).SetAttr("axis", *rows_);
  op->ReplaceInput(0, flat);
  op->ReplaceOutput(0, rows);
  out->push_back(std::move(op));
  add("Shape", {x}, dims);
  Op& reshape = add("Reshape", {rows, dims}, y);
  if (reshape.def().FindAttr("allowzero") != nullptr) reshape.SetAttr("allowzero", int64_t{1});
}

}  // namespace ampc
