// Emit: appends native ops to a block, for lowerings that make blocks and carries.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/program.h"
#include "passes/append_op.h"

namespace ampc::onnx {

// The first error sticks; no var is ever null.
class Emit {
 public:
  explicit Emit(Block& block) : block_(block) {}

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status error);

  // A new temp, named after `base`: the result Out of an op.
  Var* Temp(absl::string_view base, absl::string_view type, const SlotVars& operands, std::vector<Attr> attrs = {});
  // The same where `result` is there already: a temp, whose type is filled, or a carry, which is overwritten.
  void Into(Var* result, absl::string_view type, const SlotVars& operands, std::vector<Attr> attrs = {});
  // A new carry, or array of elements of `type`, of the block.
  Var* Carry(absl::string_view base, TensorType type);
  Var* Array(absl::string_view base, TensorType type);
  Var* Const(absl::string_view base, HostTensor value);
  Var* Int(absl::string_view base, int64_t value);  // i64, rank 0

 private:
  Block& block_;
  absl::Status status_;
};

}  // namespace ampc::onnx
