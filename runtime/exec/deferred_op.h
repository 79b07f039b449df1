// DeferredOp: an op of the ONNX dialect that lower-onnx left, because a shape or a value that it needs comes with a run.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "runtime/exec/host_ops.h"

namespace ampc {

class ModelRunner;

// The op is alone in a program of its own, which is lowered for what the operands are when it runs: their dims, where these are not enough
// the values of those that steer shapes, and at last all values. Lowered ops are kept, so that equal operands find them. Thread-safe.
class DeferredOp {
 public:
  // True for an op that lower-onnx could lower if it knew more, and that has no blocks.
  static bool Is(const Op& op);

  // How what it is lowered to may round, see RunnerOptions.
  struct Rounding {
    bool fuse = true;
    bool excess_precision = false;
  };

  // Keeps a reference to `op`.
  DeferredOp(const Op& op, Rounding rounding);
  ~DeferredOp();
  DeferredOp(const DeferredOp&) = delete;

  // `call.op` is the op. Errors: exit code 2, operands that do not fit the op; 4, an op that cannot be lowered whatever is known.
  absl::Status Run(const HostCall& call) const;

 private:
  absl::StatusOr<ModelRunner*> Runner(int threads) const;

  const Op& op_;
  const Rounding rounding_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<ModelRunner> runner_ ABSL_GUARDED_BY(mutex_);  // made by the first run
};

}  // namespace ampc
