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
  // `op` is of the dialect and stands in `block`. `unknown` names attributes besides the op's whose values nobody knows yet: they stay as
  // they are.
  NodeDraft(const Op& op, Block& block, std::vector<std::string> unknown = {});

  const onnx::OnnxDef& def() const { return *def_; }
  const Op& op() const { return op_; }
  // The version that the node becomes; `type` is another operator where one took its place.
  void Become(const onnx::OnnxDef& def) { def_ = &def; }

  // Operands by position of the formal in the version; absent ones are null or empty lists.
  Var* Operand(size_t formal) const;
  void SetOperand(size_t formal, Var* var);
  bool HasResult(size_t formal) const { return formal < results_.size() && !results_[formal].empty(); }
  size_t NumResults() const;

  bool Has(absl::string_view name) const;  // given explicitly, be its value known or not
  // The value that is given explicitly. Asking for one that is unknown, as the other functions about attributes do, makes the draft of no
  // use.
  const AttrValue* Find(absl::string_view name) const;
  bool asked_unknown() const { return asked_unknown_; }
  void SetAttr(absl::string_view name, AttrValue value);
  void RemoveAttr(absl::string_view name);
  // A list of integers that was given, removed from the attributes; absent where it was not.
  std::optional<std::vector<int64_t>> TakeInts(absl::string_view name);
  std::optional<double> TakeFloat(absl::string_view name);

  // New constants of the block.
  Var* Const(const std::vector<int64_t>& values);      // [n]
  Var* ConstScalar(int64_t value);                     // []
  Var* ConstScalar(double value, DType dtype);         // [], a float type
  Var* ConstFloats(const std::vector<float>& values);  // [n]

  // The op takes its first operand for a matrix whose second dim is all dims from `axis` on, and its only result has the operand's shape
  // again:
  //   flat = Flatten(x)    rows = <op>(flat)    dims = Shape(x)    y = Reshape(rows, dims)
  void SetRows(int64_t axis) { rows_ = axis; }
  // In the op each entry of the operand, a list of `count`, stands `times` times:
  //   more = Gather(operand, [0, 0, ..., 1, 1, ...])    y = <op>(..., more, ...)
  void Repeat(size_t formal, int64_t count, int64_t times);
  // Whether the draft is more than its own op.
  bool has_others() const { return rows_.has_value() || !repeats_.empty(); }

  // The op with what the draft says, but for SetRows and Repeat; marks and origin are those of the one it replaces.
  std::unique_ptr<Op> Make() const;
  // All ops of the draft, those around its own as operator set `opset` has them.
  void AppendTo(int opset, std::vector<std::unique_ptr<Op>>* out) const;

 private:
  Var* Add(HostTensor value);
  bool IsUnknown(absl::string_view name) const;

  const Op& op_;
  Block& block_;
  const onnx::OnnxDef* def_;
  std::vector<std::vector<Var*>> operands_, results_;  // by slot: formals, then captures
  std::vector<Attr> attrs_;
  std::optional<int64_t> rows_;
  struct Repeated {
    size_t formal;
    Var* indices;
  };
  std::vector<Repeated> repeats_;
  const std::vector<std::string> unknown_;
  mutable bool asked_unknown_ = false;
};

}  // namespace ampc
