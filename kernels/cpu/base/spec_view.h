// SpecView: a KernelSpec by slot name, as kernels read it while they are made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/dtype_switch.h"
#include "kernels/kernel.h"

namespace ampc {

// Borrows the spec.
class SpecView {
 public:
  explicit SpecView(const KernelSpec& spec) : spec_(spec) {}

  const KernelSpec& spec() const { return spec_; }
  const Op& op() const { return *spec_.op; }
  // Flat position of operand or result `i` of a slot; -1 when it is absent.
  int In(absl::string_view slot, int i = 0) const;
  int Out(absl::string_view slot, int i = 0) const;
  int NumIn(absl::string_view slot) const;
  int NumOut(absl::string_view slot) const;
  // For an operand or result that is present.
  const TensorDesc& InDesc(absl::string_view slot, int i = 0) const { return spec_.inputs[In(slot, i)]; }
  const TensorDesc& OutDesc(absl::string_view slot, int i = 0) const { return spec_.outputs[Out(slot, i)]; }

  // The elements of a constant operand; nullopt when it is absent or not constant.
  std::optional<std::vector<int64_t>> Ints(absl::string_view slot, int i = 0) const;
  std::optional<double> Number(absl::string_view slot) const;

  // UnsupportedError that names the op and the type when the storage type of `dtype` is not among `supported`, else ok.
  absl::Status CheckType(DType dtype, absl::Span<const DType> supported) const;
  absl::Status CheckType(DType dtype, std::initializer_list<DType> supported) const {
    return CheckType(dtype, absl::Span<const DType>(supported.begin(), supported.size()));
  }
  template <typename List>
  absl::Status CheckType(DType dtype) const {
    return CheckType(dtype, DTypesOf(List{}));
  }
  // Errors with the op's place.
  absl::Status Unsupported(absl::string_view what) const;
  absl::Status Internal(absl::string_view what) const;  // a spec that inference should not have let through

 private:
  const KernelSpec& spec_;
};

// `axis` counted from the end when negative.
inline int64_t FromEnd(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

// Element `i` of an array of a storage type (not complex), converted as C does.
double ReadAsDouble(const void* data, DType storage, int64_t i = 0);
int64_t ReadAsInt(const void* data, DType storage, int64_t i = 0);

// A one-element operand that a kernel reads at run time, or a fixed value where the operand is absent or constant.
class ScalarInput {
 public:
  ScalarInput() = default;
  ScalarInput(const SpecView& spec, absl::string_view slot, double fallback);
  bool is_fixed() const { return flat_ < 0; }
  double Get(const KernelArgs& args) const { return flat_ < 0 ? fixed_ : ReadAsDouble(args.inputs[flat_], storage_); }

 private:
  int flat_ = -1;
  DType storage_ = DType::kF32;
  double fixed_ = 0;
};

}  // namespace ampc
