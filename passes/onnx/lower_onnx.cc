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

namespace {

absl::StatusOr<bool> Lower(PassContext& ctx, Program& program, onnx::QuantizedOps quantized) {
  if (!HasOnnxOps(program)) return false;
  onnx::BlockLowerer lowerer(program, ctx.evaluator, quantized);
  AMPC_RETURN_IF_ERROR(lowerer.Run(program.main()));
  if (lowerer.changed()) RemoveUnusedVars(program);
  if (!lowerer.dead_blocks().empty()) {
    std::vector<bool> dead(program.num_blocks(), false);
    for (int block : lowerer.dead_blocks()) dead[block] = true;
    program = WithoutBlocks(program, dead);
  }
  return lowerer.changed();
}

}  // namespace

PassInfo LowerOnnxPass() {
  PassInfo info;
  info.name = "lower-onnx";
  info.summary = "turns ops of the ONNX dialect into native ops, for execution";
  info.options = {{"quantized", "what of quantised arithmetic is one op each: none (default), scales, products"}};
  info.make = [](const PassOptions& options) -> absl::StatusOr<std::unique_ptr<Pass>> {
    AMPC_ASSIGN_OR_RETURN(const std::string choice, ChoiceOption(options, "quantized", {"none", "scales", "products"}, "none"));
    const onnx::QuantizedOps quantized = choice == "none"     ? onnx::QuantizedOps::kNone
                                         : choice == "scales" ? onnx::QuantizedOps::kScales
                                                              : onnx::QuantizedOps::kProducts;
    return MakePass([quantized](PassContext& ctx, Program& program) { return Lower(ctx, program, quantized); });
  };
  return info;
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
