#include "kernels/lib/conv_descs.h"

#include <algorithm>
#include <utility>

namespace ampc::onednn {
namespace {

// Row-major strides of `dims`.
Sizes DenseStrides(const Sizes& dims) {
  Sizes strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return strides;
}

absl::StatusOr<MemoryDesc> Desc(const Sizes& dims, const Sizes& strides, dnnl_data_type_t type) {
  MemoryDesc md;
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_strides(&md, static_cast<int>(dims.size()), dims.data(), type, strides.data()));
  return md;
}

}  // namespace

absl::StatusOr<MemoryDesc> ActivationDesc(int64_t n, int64_t c, const Sizes& axes, dnnl_data_type_t type) {
  Sizes memory = {n};
  memory.insert(memory.end(), axes.begin(), axes.end());
  memory.push_back(c);
  Sizes dims = memory, strides = DenseStrides(memory);
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return Desc(dims, strides, type);
}

absl::StatusOr<MemoryDesc> FilterDesc(const ConvSpec& s, dnnl_data_type_t type, bool any) {
  const dnnl_dim_t o = s.out_c / s.groups, i = s.in_c / s.groups;
  Sizes dims = {o, i};
  for (const ConvSpec::Axis& a : s.axes) dims.push_back(a.kernel);
  // Given row-major; a transposed convolution's filter has its channels the other way round.
  Sizes given = dims;
  if (s.transposed) std::swap(given[0], given[1]);
  Sizes strides = DenseStrides(given);
  if (s.transposed) std::swap(strides[0], strides[1]);
  if (s.groups > 1) {
    dims.insert(dims.begin(), s.groups);
    strides.insert(strides.begin(), o * i * s.window());
  }
  if (!any) return Desc(dims, strides, type);
  MemoryDesc md;
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_tag(&md, static_cast<int>(dims.size()), dims.data(), type, dnnl_format_tag_any));
  return md;
}

}  // namespace ampc::onednn
