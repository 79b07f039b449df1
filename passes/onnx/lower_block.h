// Lowering of the blocks of one program; internal to lower-onnx.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/evaluator.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/program.h"

namespace ampc::onnx {

class BlockLowerer {
 public:
  // `evaluator` may be null.
  BlockLowerer(Program& program, const Evaluator* evaluator, QuantizedOps quantized);

  // Lowers the ops of `block` in order, and those of the blocks that they have.
  absl::Status Run(Block& block);
  bool changed() const { return changed_; }
  // Blocks that belong to no op any more.
  const std::vector<int>& dead_blocks() const { return dead_blocks_; }

 private:
  absl::Status RunOps(Block& block, std::vector<std::unique_ptr<Op>> ops, std::vector<std::unique_ptr<Op>>* out);
  absl::Status LowerOp(std::unique_ptr<Op> op, Block& block, std::vector<std::unique_ptr<Op>>* out);
  // `value` is what `result`, a result of an op that goes, stands for. The op among `made` that defines `value` defines `result`; or
  // `result` becomes the same constant; or an assign is appended. The type of `result` is narrowed to that of `value`.
  absl::Status Bind(Var* result, Var* value, Block& block, std::vector<std::unique_ptr<Op>>* made) const;
  bool IsFetched(const Var& var) const;

  Program& program_;
  const Evaluator* evaluator_;
  const QuantizedOps quantized_;
  std::vector<bool> fetched_;  // by Var::id
  std::vector<int> dead_blocks_;
  bool changed_ = false;
};

}  // namespace ampc::onnx
