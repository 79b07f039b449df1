#include "kernels/spec/norm_spec.h"

#include "absl/strings/match.h"
#include "graph/ops/window.h"

namespace ampc {

LayerNormShape ReadLayerNorm(const Op& op, const Dims& x) {
  LayerNormShape n;
  const int64_t begin = op.GetInt("begin_norm_axis", 1);
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i) (i < begin ? n.rows : n.size) *= x[i];
  n.epsilon = op.GetFloat("epsilon", 1e-5f);
  return n;
}

NormShape ReadNormShape(const Op& op, const TensorDesc& x) {
  const size_t rank = x.dims.size();
  const bool last = !absl::StartsWith(op.type(), "instance_norm") && ops::ChannelsLast(op.GetString("data_layout"));
  const size_t channel = last ? rank - 1 : 1;  // channels at dim 1 where the layout, not the op, puts them last
  NormShape n;
  n.images = x.dims[0];
  n.channels = x.dims[channel];
  for (size_t i = 1; i < rank; ++i) n.spatial *= i == channel ? 1 : x.dims[i];
  n.groups = absl::StartsWith(op.type(), "group_norm") ? op.GetInt("groups", 1) : n.channels;
  n.last = (last || x.layout == Layout::kChannelsLast) && n.spatial > 1;
  n.epsilon = op.GetFloat("epsilon", 1e-5f);
  return n;
}

}  // namespace ampc
