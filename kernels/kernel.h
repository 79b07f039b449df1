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
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/host_tensor.h"
#include "graph/op.h"

namespace ampc {

class Device;       // kernels/device/device.h
class Stream;       // kernels/device/device.h
class WeightCache;  // kernels/weight_cache.h

// The element type in memory of a value declared `t` that is not stored as a half: kF32 for f16 and bf16, else `t`.
DType StorageType(DType t);

// Memory order of a tensor. Channels last is the one order beside row-major: measured on PP-OCR and ResNet shapes, convolution on it
// is as fast as on oneDNN's blocked orders (AVX2 and AVX-512, 1 and 2 threads), and needs no padding of channels. Plans give it to
// floats of up to 32 bits and to bytes, on a device to 4-D halves alone.
enum class Layout : uint8_t {
  kPlain,         // row-major over dims
  kChannelsLast,  // of 4-D and 5-D values: dims are [n, c, (d,) h, w], memory is row-major over [n, (d,) h, w, c]
};

// A concrete operand or result at plan time: static dims.
struct TensorDesc {
  DType dtype = DType::kInvalid;  // declared type
  Dims dims;
  Layout layout = Layout::kPlain;
  bool half = false;  // on the CPU: bf16 that lies in memory as such; otherwise storage is StorageType(dtype)
  int64_t NumElements() const;
  DType storage() const { return half ? dtype : StorageType(dtype); }
  int64_t StorageBytes() const;
};

// One op with everything known that a kernel may prepare for.
struct KernelSpec {
  const Op* op = nullptr;  // attributes and slots; operands in flat order below
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  std::vector<const HostTensor*> values;  // per input: the value if it is constant (in storage type), else null
  int threads = 1;
  WeightCache* weights = nullptr;  // where packed constants are shared with other plans; null: each kernel keeps its own
  Device* device = nullptr;        // null: the CPU
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
  virtual bool consumes(int flat_input) const { return (void)flat_input, false; }
  // The result may share the memory of this input (same bytes, read before written at each element); -1 for none.
  virtual int in_place_input() const { return -1; }
  // The result *is* the input's memory (reshape): the plan aliases and never runs the kernel; -1 for none.
  virtual int alias_input() const { return -1; }
  // Run waits for the device, so it cannot be part of a captured graph.
  virtual bool synchronizes() const { return false; }
  virtual std::string implementation() const = 0;  // e.g. "onednn:brgemm:avx512_core", "ampc:avx2": for --verbose and profiles
};

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
