// Runs a function over the rows of a broadcast, in parallel.
#pragma once

#include <algorithm>
#include <atomic>

#include "kernels/cpu/elementwise/broadcast.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

namespace ampc {

// Bytes of one element of each operand and of the result.
struct RowSizes {
  int64_t x = 0, y = 0, out = 0;
};

// Calls row(x, y, out, n) with pointers of char for stretches of n neighbours that cover the result: operands 0 and 1, of which one that
// repeats along rows (plan.x_inner, plan.y_inner) is one element. False if a call returned false.
template <typename F>
bool RunRows(const BroadcastPlan& plan, RowSizes size, const KernelArgs& args, F row) {
  constexpr int64_t kGrain = 1 << 15;  // elements that are worth a thread
  const char* x = static_cast<const char*>(args.inputs[0]);
  const char* y = static_cast<const char*>(args.inputs[1]);
  char* out = static_cast<char*>(args.outputs[0]);
  std::atomic<bool> ok{true};
  if (plan.rows == 1) {
    ParallelFor(args.threads, plan.inner, kGrain, [&](int64_t first, int64_t last) {
      if (!row(x + first * plan.x_inner * size.x, y + first * plan.y_inner * size.y, out + first * size.out, last - first)) ok = false;
    });
    return ok;
  }
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, plan.inner));
  ParallelFor(args.threads, plan.rows, grain, [&](int64_t first, int64_t last) {
    ForEachRow(plan, first, last, [&](int64_t o, int64_t xo, int64_t yo) {
      if (!row(x + xo * size.x, y + yo * size.y, out + o * size.out, plan.inner)) ok = false;
    });
  });
  return ok;
}

}  // namespace ampc
