#include "graph/ops/onnx/function_body.h"

namespace ampc::onnx {

Block* FunctionBodyOf(const Op& op) {
  const AttrValue* value = op.def().opaque ? op.explicit_attr(kFunctionBody) : nullptr;
  const BlockRef* ref = value == nullptr ? nullptr : std::get_if<BlockRef>(value);
  Program& program = op.block().program();
  return ref == nullptr || ref->index <= 0 || ref->index >= program.num_blocks() ? nullptr : &program.block(ref->index);
}

std::vector<bool> FunctionBlocks(const Program& program) {
  std::vector<bool> out(program.num_blocks(), false);
  ForEachOp(program, [&out](const Op& op) {
    if (const Block* body = FunctionBodyOf(op)) out[body->index()] = true;
  });
  // A block comes behind the one around it.
  for (int b = 1; b < program.num_blocks(); ++b) out[b] = out[b] || out[program.block(b).parent()];
  return out;
}

}  // namespace ampc::onnx
