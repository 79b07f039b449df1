// NdIndex: the slices that an NdIndexSpec names, at run time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "kernels/common/position.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/spec/index/index_spec.h"

namespace ampc {

// "<name>: index 3 is 7, needs 0 to 4" (or "-5 to 4"): a usage error.
absl::Status BadIndex(const std::string& name, int64_t position, int64_t value, int64_t size, bool from_end);

class NdIndex {
 public:
  NdIndex(std::string name, NdIndexSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  int64_t rows() const { return spec_.rows; }                  // slices named
  int64_t row_elements() const { return spec_.row_elements; }  // elements of a slice
  // Every number is in range: before At.
  absl::Status Check(const KernelArgs& args) const;
  // The positions of slices [first, last), counted in slices. False, and some positions mean nothing, where a number is out of range.
  bool Positions(const KernelArgs& args, int64_t first, int64_t last, int64_t* positions) const;
  // The position of slice `row`, counted in slices.
  int64_t At(const KernelArgs& args, int64_t row) const {
    int64_t position = 0;
    for (size_t k = 0; k < spec_.sizes.size(); ++k)
      position = position * spec_.sizes[k] + PositionIn(Number(args, row, k), spec_.sizes[k], spec_.from_end);
    return position;
  }

 private:
  int64_t Number(const KernelArgs& args, int64_t row, size_t k) const {
    return ReadAsInt(args.inputs[spec_.flat], spec_.type, row * static_cast<int64_t>(spec_.sizes.size()) + static_cast<int64_t>(k));
  }

  std::string name_;
  NdIndexSpec spec_;
};

}  // namespace ampc
