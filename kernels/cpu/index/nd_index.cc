#include "kernels/cpu/index/nd_index.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace ampc {

absl::Status BadIndex(const std::string& name, int64_t position, int64_t value, int64_t size) {
  if (size == 0) return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", where there is no element"));
  return UsageError(absl::StrCat(name, ": index ", position, " is ", value, ", needs 0 to ", size - 1));
}

absl::StatusOr<NdIndex> NdIndex::Make(const SpecView& view, absl::string_view slot, const Dims& dims) {
  const TensorDesc& index = view.InDesc(slot);
  AMPC_RETURN_IF_ERROR(view.CheckType(index.dtype, {DType::kI32, DType::kI64}));
  if (index.dims.empty() || index.dims.back() > static_cast<int64_t>(dims.size()))
    return view.Internal("the index does not fit the operand");
  NdIndex out;
  out.name_ = Describe(view.op());
  out.flat_ = view.In(slot);
  out.type_ = index.dtype;
  const int64_t depth = index.dims.back();
  out.sizes_.assign(dims.begin(), dims.begin() + depth);
  for (size_t d = 0; d + 1 < index.dims.size(); ++d) out.rows_ *= index.dims[d];
  for (size_t d = static_cast<size_t>(depth); d < dims.size(); ++d) out.row_elements_ *= dims[d];
  return out;
}

absl::Status NdIndex::Check(const KernelArgs& args) const {
  for (int64_t row = 0; row < rows_; ++row) {
    for (size_t k = 0; k < sizes_.size(); ++k) {
      const int64_t v = Number(args, row, k);
      if (v < 0 || v >= sizes_[k])
        return BadIndex(name_, row * static_cast<int64_t>(sizes_.size()) + static_cast<int64_t>(k), v, sizes_[k]);
    }
  }
  return absl::OkStatus();
}

}  // namespace ampc
