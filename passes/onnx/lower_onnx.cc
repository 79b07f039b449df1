#include "passes/onnx/lower_onnx.h"

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ops/onnx/dialect.h"
#include "graph/ops/onnx/function_body.h"
#include "graph/ops/onnx/lowering.h"
#include "graph/without_blocks.h"
#include "passes/analysis/use_def.h"
#include "passes/make_pass.h"
#include "passes/onnx/lower_block.h"

namespace ampc {

PassInfo LowerOnnxPass() {
  return SimplePass("lower-onnx", "turns ops of the ONNX dialect into native ops, for execution", [](PassContext& ctx, Program& program) -> absl::StatusOr<bool> {
    if (!HasOnnxOps(program)) return false;
    onnx::BlockLowerer lowerer(program, ctx.evaluator);
    AMPC_RETURN_IF_ERROR(lowerer.Run(program.main()));
    if (lowerer.changed()) RemoveUnusedVars(program);
    if (!lowerer.dead_blocks().empty()) {
      std::vector<bool> dead(program.num_blocks(), false);
      for (int block : lowerer.dead_blocks()) dead[block] = true;
      program = WithoutBlocks(program, dead);
    }
    return lowerer.changed();
  });
}

bool HasOnnxOps(const Program& program) {
  for (int b = 0; b < program.num_blocks(); ++b) {
    for (const std::unique_ptr<Op>& op : program.block(b).ops()) {
      if (onnx::DefOf(op->def()) != nullptr || onnx::FunctionBodyOf(*op) != nullptr) return true;
    }
  }
  return false;
}

std::string LeftUnlowered(const Program& program) {
  std::string left;
  bool plain = false;  // `left` is about an op without blocks, which are what keeps those with blocks
  ForEachOp(program, [&](const Op& op) {
    const onnx::OnnxDef* def = onnx::DefOf(op.def());
    if (!plain && op.def().opaque && onnx::FunctionBodyOf(op) == nullptr) {  // what keeps those behind it
      left = absl::StrCat(Describe(op), ": no record describes this op, so what it gives is not known");
      plain = true;
    }
    if (plain || def == nullptr || (!left.empty() && !op.SubBlocks().empty())) return;
    plain = op.SubBlocks().empty();
    Program scratch;
    onnx::Lowering lowering(op, scratch.main(), nullptr);
    if (plain && def->op->lower != nullptr) def->op->lower(lowering);
    left = absl::StrCat(Describe(op), ": ", lowering.needs_shape() ? lowering.needed() : "something about its operands", " is not known");
  });
  return left;
}

}  // namespace ampc
