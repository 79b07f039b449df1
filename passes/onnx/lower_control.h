// If, Loop and Scan become what the runtime executes: conditional_block, while, carries and tensor arrays.
//
//   y = onnx.If.16(cond) then_branch=&a else_branch=&b captures=[x]   ->   carry y
//                                                                          conditional_block(Cond=[cond], Input=[x]) -> Out<-[y]
//                                                                          sub_block=&a no = logical_not(cond) conditional_block(Cond=[no],
//                                                                          Input=[x]) -> Out<-[y] sub_block=&b
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/program.h"

namespace ampc::onnx {

// If, Loop or Scan of the ONNX dialect.
bool IsControl(const Op& op);

struct LoweredControl {
  // Stand in place of the op, in order. The caller goes on with them as with the ops of the block: native ops; with a block, the caller
  // lowers the block's ops, which are still of the dialect, next; of an If whose condition is a constant, the ops of the branch taken,
  // moved here.
  std::vector<std::unique_ptr<Op>> ops;
  // Blocks that no op has any more: for WithoutBlocks (graph/without_blocks.h), at the end.
  std::vector<int> dead_blocks;
};

// `op` has been taken out of `block`; its operands' types are those of the ops in front, which are lowered already, and its blocks are as
// imported. The results keep their variables, some as carries. Carries of loops get the dims that no iteration changes.
// Errors: Unsupported, a scan that cannot be executed; BadInput, branches or states whose types do not agree.
absl::StatusOr<LoweredControl> LowerControl(std::unique_ptr<Op> op, Block& block);

}  // namespace ampc::onnx
