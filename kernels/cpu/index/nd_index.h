// NdIndex: an operand [.., k] whose last dimension names slices of a tensor by its leading k dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/cpu/base/spec_view.h"

namespace ampc {

// "<name>: index 3 is 7, needs 0 to 4": a usage error.
absl::Status BadIndex(const std::string& name, int64_t position, int64_t value, int64_t size);

class NdIndex {
 public:
  // The operand in `slot` indexes a tensor of `dims`.
  static absl::StatusOr<NdIndex> Make(const SpecView& view, absl::string_view slot, const Dims& dims);

  int64_t rows() const { return rows_; }                  // slices named
  int64_t row_elements() const { return row_elements_; }  // elements of a slice
  // Every number is in range: before At.
  absl::Status Check(const KernelArgs& args) const;
  // The position of slice `row`, counted in slices.
  int64_t At(const KernelArgs& args, int64_t row) const {
    int64_t position = 0;
    for (size_t k = 0; k < sizes_.size(); ++k) position = position * sizes_[k] + Number(args, row, k);
    return position;
  }

 private:
  int64_t Number(const KernelArgs& args, int64_t row, size_t k) const {
    return ReadAsInt(args.inputs[flat_], type_, row * static_cast<int64_t>(sizes_.size()) + static_cast<int64_t>(k));
  }

  std::string name_;
  int flat_ = 0;
  DType type_ = DType::kI64;
  std::vector<int64_t> sizes_;  // of the leading dimensions
  int64_t rows_ = 1, row_elements_ = 1;
};

}  // namespace ampc
