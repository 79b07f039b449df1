// Kernel: how one op computes on one device.
//
// On the CPU a float value is stored as float32, whatever its declared type, unless TensorDesc::half says otherwise: an f16 or bf16
// value is a float32 that has been rounded to that type (see RoundTo). A kernel computes in float32; the executor rounds float32 results
// once, to nearest even, unless the kernel only moves values (moves_data) or rounds by itself. This is exactly "half storage, fp32
// arithmetic, one rounding". f64 and integers are stored as they are; bool is one byte.
// If a plan stores bf16 values in 16 bits (TensorDesc::half, runtime/plan/storage_plan.h), a kernel that takes them (KernelEntry::halves)
// widens what it reads, computes in float32 or on native instructions that add up in it, and rounds once when it stores.
//
// On a device every value is stored in its declared type. A kernel reads halves, computes in float32 and rounds once when it stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/op.h"
#include "kernels/tensor_desc.h"

namespace ampc {

class Device;         // kernels/device/device.h
class Stream;         // kernels/device/device.h
class KernelChoices;  // kernels/kernel_choices.h
class WeightCache;    // kernels/weight_cache.h

// One op with everything known that a kernel may prepare for.
struct KernelSpec {
  const Op* op = nullptr;  // attributes and slots; operands in flat order below
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::vector<const HostTensor*> values;  // per input: the value if it is constant (in storage type), else null
  int threads = 1;
  WeightCache* weights = nullptr;    // where packed constants are shared with other plans; null: each kernel keeps its own
  KernelChoices* choices = nullptr;  // that kernels with several implementations ask; null: they choose by the shapes
  Device* device = nullptr;          // null: the CPU
};

struct KernelArgs {
  absl::Span<const void* const> inputs;  // flat order; null for a constant the kernel consumed at prepare (see consumes)
  absl::Span<void* const> outputs;
  void* workspace = nullptr;  // workspace_bytes(), 64-byte aligned; not kept between runs
  int threads = 1;
  Stream* stream = nullptr;  // where a device's kernel puts its work; operands are in the device's memory. Null on the CPU
};

// A prepared kernel: immutable, so several threads may run one at the same time with their own arguments.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual int64_t workspace_bytes() const { return 0; }
  // Computes, or on a device enqueues; neither allocates nor fails for reasons that the spec could have told.
  virtual absl::Status Run(const KernelArgs& args) const = 0;
  // Results are exact in the declared type already: the executor does not round them.
  virtual bool rounds_results() const { return false; }
  // Inputs whose constant value the kernel has packed for itself; the plan need not keep the original.
  virtual bool consumes(int /*flat_input*/) const { return false; }
  // The result may share the memory of this input (same bytes, read before written at each element); -1 for none.
  virtual int in_place_input() const { return -1; }
  // The result *is* the input's memory (reshape): the plan aliases and never runs the kernel; -1 for none.
  virtual int alias_input() const { return -1; }
  // Run waits for the device, so it cannot be part of a captured graph.
  virtual bool synchronizes() const { return false; }
  virtual std::string implementation() const = 0;  // e.g. "onednn:brgemm:avx512_core", "ampc:avx2": for --verbose and profiles
};

}  // namespace ampc
