// Ops whose result has the operand's bytes: reshapes, assign, feed, fetch. Also shape and size, which read none.
#include <cstring>

#include "graph/base/status_macros.h"
#include "kernels/cpu/move/move.h"

namespace ampc {
namespace {

// The result is operand 0; XShape has no elements.
absl::StatusOr<std::unique_ptr<Kernel>> MakeSameBytes(const KernelSpec& spec) {
  const SpecView view(spec);
  const int64_t bytes = spec.inputs[0].StorageBytes();
  if (spec.outputs[0].StorageBytes() != bytes) return view.Internal("the operand and the result differ in size");
  const StridedCopy copy({bytes}, {1}, {1}, 1);
  return MakeMove({{0, 0, 0, 0, copy}}, 0);
}

// Assignments to state must not share memory: the state outlives the operand.
absl::StatusOr<std::unique_ptr<Kernel>> MakeAssign(const KernelSpec& spec) {
  if (!spec.op->Overwrites(0)) return MakeSameBytes(spec);
  const SpecView view(spec);
  const int64_t bytes = spec.inputs[0].StorageBytes();
  if (spec.outputs[0].StorageBytes() != bytes) return view.Internal("the operand and the result differ in size");
  return MakeMove({{0, 0, 0, 0, StridedCopy({bytes}, {1}, {1}, 1)}});
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeShape(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kI32, DType::kI64}));
  const Dims& in = spec.inputs[0].dims;
  std::vector<int64_t> dims(in.begin(), in.end());
  if (spec.outputs[0].NumElements() != static_cast<int64_t>(dims.size()))
    return view.Internal("the result needs one element per dimension");
  KernelTraits traits;
  return MakeLambdaKernel(std::move(traits), [dims = std::move(dims), wide = spec.outputs[0].dtype == DType::kI64](const KernelArgs& args) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (wide) {
        static_cast<int64_t*>(args.outputs[0])[d] = dims[d];
      } else {
        static_cast<int32_t*>(args.outputs[0])[d] = static_cast<int32_t>(dims[d]);
      }
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSize(const KernelSpec& spec) {
  return MakeLambdaKernel({}, [n = spec.inputs[0].NumElements()](const KernelArgs& args) {
    *static_cast<int64_t*>(args.outputs[0]) = n;
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterReshape(KernelRegistry* registry) {
  for (const char* op : {"feed", "fetch", "flatten", "flatten2", "flatten_contiguous_range", "memcpy", "reshape", "reshape2", "squeeze", "squeeze2",
                         "unsqueeze", "unsqueeze2"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &MakeSameBytes, MovableTypes()}));
  }
  AMPC_RETURN_IF_ERROR(registry->Add({"assign", &MakeAssign, MovableTypes(), LayoutSupport::kElementwise}));
  AMPC_RETURN_IF_ERROR(registry->Add({"size", &MakeSize, MovableTypes()}));
  return registry->Add({"shape", &MakeShape, MovableTypes()});
}

}  // namespace ampc
