// What the kernels that only move values share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "graph/base/shape.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/move/strided_copy.h"

namespace ampc {

// One part of a move: from an operand's memory at a byte offset into a result's.
struct Part {
  int input = 0;
  int64_t from = 0;
  int output = 0;
  int64_t to = 0;
  StridedCopy copy;
};

// A kernel that is a list of copies. Values keep their declared type, so they need no rounding. `alias_input`: the operand that the
// result equals byte for byte, -1 for none.
inline std::unique_ptr<Kernel> MakeMove(std::vector<Part> parts, int alias_input = -1) {
  KernelTraits traits;
  traits.alias_input = alias_input;
  traits.implementation = "ampc:copy";
  traits.rounds_results = true;
  return MakeLambdaKernel(std::move(traits), [parts = std::move(parts)](const KernelArgs& args) {
    for (const Part& p : parts) {
      p.copy.Run(static_cast<const char*>(args.inputs[p.input]) + p.from, static_cast<char*>(args.outputs[p.output]) + p.to, args.threads);
    }
    return absl::OkStatus();
  });
}

}  // namespace ampc
