// OpRun: one op on the CPU kernel that the registry has for it, with the record's inference, as a plan would run it.
//
//   ASSERT_OK_AND_ASSIGN(auto out, OpRun("elementwise_add").In("X", F32({2}, {1, 2})).In("Y", F32({1}, {3})).Out("Out").Run());
//   EXPECT_THAT(out[0].floats(), ElementsAre(4, 5));
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/attr.h"
#include "graph/base/host_tensor.h"
#include "graph/op_registry.h"
#include "graph/type.h"
#include "kernels/device/device.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::testing {

// A value as kernels see it: elements in the storage type, and the declared type.
struct Tensor {
  DType dtype = DType::kInvalid;
  HostTensor stored;

  absl::Span<const int64_t> dims() const { return stored.dims(); }
  std::vector<float> floats() const { return As<float>(); }
  std::vector<double> doubles() const { return As<double>(); }
  template <typename T>
  std::vector<T> As() const {
    return std::vector<T>(stored.values<T>().begin(), stored.values<T>().end());
  }
};

using Shape = std::vector<int64_t>;

template <typename T>
Tensor Of(const Shape& dims, const std::vector<T>& values) {
  return {kDTypeOf<T>, HostTensor::FromValues<T>(dims, values)};
}
Tensor Of(const Shape& dims, const std::vector<bool>& values);
inline Tensor F32(const Shape& dims, const std::vector<float>& values) { return Of<float>(dims, values); }
inline Tensor I32(const Shape& dims, const std::vector<int32_t>& values) { return Of<int32_t>(dims, values); }
inline Tensor I64(const Shape& dims, const std::vector<int64_t>& values) { return Of<int64_t>(dims, values); }
// A float tensor declared `dtype`, its values rounded to it.
Tensor Low(DType dtype, const Shape& dims, const std::vector<float>& values);
// Pseudo-random values in [low, high), a function of `seed`.
Tensor Random(const Shape& dims, uint32_t seed, float low = -2, float high = 2);

// From now on ops that `kernels` has also run on `device` (device_run.h says how); Run gives the device's results.
void RunOpsOn(const KernelRegistry& kernels, Device& device);

class OpRun {
 public:
  explicit OpRun(std::string op) : op_(std::move(op)) {}
  // Appends an operand to the slot.
  OpRun& In(std::string slot, Tensor tensor) { return Add(std::move(slot), std::move(tensor), false); }
  // The same, with its value known at plan time.
  OpRun& Const(std::string slot, Tensor tensor) { return Add(std::move(slot), std::move(tensor), true); }
  OpRun& Attr(std::string name, AttrValue value);
  // The 4-D operands and results of the slot lie channels-last for the kernel; they are given and returned row-major as the others.
  OpRun& ChannelsLast(std::string slot);
  OpRun& Out(std::string slot, int n = 1);
  // The declared type of the next result, for ops whose inference reads it.
  OpRun& OutAs(std::string slot, TensorType type);

  // The results in flat order. The kernel runs several times: with one thread and with three, into its operand's memory where it
  // offers that, and as an alias; all must give the same bits, write no byte outside their results and leave operands alone. Declared
  // bf16, it runs in each storage that it takes, which must give what float32 gives, rounded once.
  absl::StatusOr<std::vector<Tensor>> Run() const;
  // The kernel, for tests of its properties.
  absl::StatusOr<std::unique_ptr<Kernel>> Make() const;

 private:
  struct Operand {
    std::string slot;
    Tensor tensor;
    bool constant;
  };
  struct Prepared;
  OpRun& Add(std::string slot, Tensor tensor, bool constant);
  // The values that are stored as halves: bf16 operands that are not constant (and those of a move that are), bf16 results.
  struct Halves {
    bool operands = false, results = false;
  };
  absl::StatusOr<std::unique_ptr<Prepared>> Prepare(int threads, Halves halves) const;
  absl::StatusOr<std::vector<Tensor>> RunStored(Halves halves, int threads) const;
  // The op declared bf16 gives the same in every storage that its kernel takes.
  absl::Status CheckHalves() const;

  std::string op_;
  std::vector<Operand> operands_;
  std::vector<ampc::Attr> attrs_;
  std::vector<std::pair<std::string, TensorType>> results_;
  std::vector<std::string> channels_last_;
};

}  // namespace ampc::testing
