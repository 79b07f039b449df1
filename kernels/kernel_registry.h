// KernelRegistry: the kernels of a device, by op.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "kernels/kernel.h"

namespace ampc {

// Makes the kernel for a spec. Unimplemented (exit 4) names the op, the types and what is supported.
using MakeKernelFn = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const KernelSpec& spec);

// Which channels-last tensors the kernel of an op takes.
enum class LayoutSupport : uint8_t {
  kPlainOnly,
  kElementwise,  // all 4-D and 5-D operands and results alike; `make` is given dims in memory order and never sees the layout
  kConverts,     // kElementwise; or a row-major operand with a channels-last result, which `make` then sees with their layouts and dims
  // `make` reads layouts; not where data_format or data_layout is NHWC, NDHWC or NLC. Values of the first slots of operands and results
  // (not Filter@GRAD), ResidualData, and a gradient op's Out and gradients of results:
  kFollows,  // those of the first slots and Y@GRAD alike: e.g. normalisations, softmax, concat, split, slice, pad
  kAware,    // each by itself: e.g. convolutions, pooling, transpose
};

// Which values stored as halves the kernel of an op takes.
enum class HalfSupport : uint8_t {
  kNone,
  kMoves,  // copies elements: all values of the first operand's declared type alike, results and operands; constants too
  kEach,   // any operand that is not constant, and any result, each by itself
};

// Computes an op whose result dims depend on its operands' values (where_index). Operands and results in flat order and storage
// type; null for an absent operand. Float results are not rounded yet. Bad values are usage errors.
using EvaluateFn = absl::StatusOr<std::vector<HostTensor>> (*)(const Op& op, absl::Span<const HostTensor* const> operands, int threads);

struct KernelEntry {
  std::string op;
  MakeKernelFn make = nullptr;  // null for an op that only `evaluate` computes
  // Declared types for which the op has a kernel, by the type of the first float operand or result (or the first operand
  // of an op without floats).
  std::vector<DType> dtypes;
  LayoutSupport layouts = LayoutSupport::kPlainOnly;
  EvaluateFn evaluate = nullptr;  // set for ops with data-dependent dims: they run between two static segments of a plan
  HalfSupport halves = HalfSupport::kNone;
};

// Whether MakeKernel takes the layouts in the spec; true when all are plain.
bool AcceptsLayouts(const KernelEntry& entry, const KernelSpec& spec);
// entry.make with the layouts of the spec resolved, and its halves where the entry takes none. Internal unless AcceptsLayouts.
absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelEntry& entry, const KernelSpec& spec);

class KernelRegistry {
 public:
  absl::Status Add(KernelEntry entry);  // fails on a second entry for the op
  const KernelEntry* Find(absl::string_view op) const;
  std::vector<const KernelEntry*> All() const;  // sorted by op

 private:
  std::vector<KernelEntry> entries_;  // sorted
};

// Every kernel of kernels/cpu/all_kernels.inc; //kernels/cpu defines it.
const KernelRegistry& CpuKernels();

}  // namespace ampc
