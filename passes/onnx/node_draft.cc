#include "passes/onnx/node_draft.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ops/onnx/dialect.h"

namespace ampc {

NodeDraft::NodeDraft(const Op& op, Block& block) : op_(op), block_(block), def_(onnx::DefOf(op.def())), attrs_(op.attrs()) {
  for (int s = 0; s < static_cast<int>(op.def().inputs.size()); ++s) operands_.emplace_back(op.inputs(s).begin(), op.inputs(s).end());
  for (int s = 0; s < static_cast<int>(op.def().outputs.size()); ++s) results_.emplace_back(op.outputs(s).begin(), op.outputs(s).end());
}

Var* NodeDraft::Operand(size_t formal) const { return formal < operands_.size() && !operands_[formal].empty() ? operands_[formal][0] : nullptr; }

void NodeDraft::SetOperand(size_t formal, Var* var) {
  if (operands_.size() <= formal) operands_.resize(formal + 1);
  operands_[formal] = var == nullptr ? std::vector<Var*>() : std::vector<Var*>{var};
}

size_t NodeDraft::NumResults() const {
  size_t n = 0;
  for (const std::vector<Var*>& slot : results_) n += slot.size();
  return n;
}

const AttrValue* NodeDraft::Find(absl::string_view name) const {
  const auto it = std::find_if(attrs_.begin(), attrs_.end(), [&](const Attr& a) { return a.name == name; });
  return it == attrs_.end() ? nullptr : &it->value;
}

void NodeDraft::SetAttr(absl::string_view name, AttrValue value) {
  RemoveAttr(name);
  attrs_.push_back({std::string(name), std::move(value)});
}

void NodeDraft::RemoveAttr(absl::string_view name) {
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
  Var* var = block_.AddVar(block_.UniqueName(base), VarKind::kConst, TensorType(value.dtype(), Dims(value.dims().begin(), value.dims().end())));
  var->literal = std::make_shared<const HostTensor>(std::move(value));
  return var;
}

Var* NodeDraft::Const(const std::vector<int64_t>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  return Add(HostTensor::FromValues<int64_t>({n}, values));
}
Var* NodeDraft::ConstScalar(int64_t value) { return Add(HostTensor::Of<int64_t>({}, {value})); }
Var* NodeDraft::ConstScalar(double value, DType dtype) {
  return Add(dtype == DType::kF64 ? HostTensor::Of<double>({}, {value}) : HostTensor::Of<float>({}, {static_cast<float>(value)}));
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

}  // namespace ampc
