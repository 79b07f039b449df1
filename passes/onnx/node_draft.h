// NodeDraft: a node of the ONNX dialect on its way from one version of its operator to the next.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ops/onnx/onnx_op.h"
#include "graph/program.h"

namespace ampc {

class NodeDraft {
 public:
  // `op` is of the dialect and stands in `block`.
  NodeDraft(const Op& op, Block& block);

  const onnx::OnnxDef& def() const { return *def_; }
  const Op& op() const { return op_; }
  // The version that the node becomes; `type` is another operator where one took its place.
  void Become(const onnx::OnnxDef& def) { def_ = &def; }

  // Operands by position of the formal in the version; absent ones are null or empty lists.
  Var* Operand(size_t formal) const;
  void SetOperand(size_t formal, Var* var);
  bool HasResult(size_t formal) const { return formal < results_.size() && !results_[formal].empty(); }
  size_t NumResults() const;

  const AttrValue* Find(absl::string_view name) const;  // given explicitly
  void SetAttr(absl::string_view name, AttrValue value);
  void RemoveAttr(absl::string_view name);
  // A list of integers that was given, removed from the attributes; absent where it was not.
  std::optional<std::vector<int64_t>> TakeInts(absl::string_view name);
  std::optional<double> TakeFloat(absl::string_view name);

  // New constants of the block.
  Var* Const(const std::vector<int64_t>& values);  // [n]
  Var* ConstScalar(int64_t value);                 // []
  Var* ConstScalar(double value, DType dtype);     // [], f32 or f64
  Var* ConstFloats(const std::vector<float>& values);  // [n]

  // The op with what the draft says; marks and origin are those of the one it replaces.
  std::unique_ptr<Op> Make() const;

 private:
  Var* Add(HostTensor value);

  const Op& op_;
  Block& block_;
  const onnx::OnnxDef* def_;
  std::vector<std::vector<Var*>> operands_, results_;  // by slot: formals, then captures
  std::vector<Attr> attrs_;
};

}  // namespace ampc
