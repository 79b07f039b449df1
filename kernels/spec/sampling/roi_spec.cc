#include "kernels/spec/sampling/roi_spec.h"

namespace ampc {

RoiAlign ReadRoiAlign(const SpecView& view) {
  const int gradient = view.In("Out@GRAD");
  const Dims &x = view.InDesc("X").dims, &out = gradient < 0 ? view.spec().outputs[0].dims : view.spec().inputs[gradient].dims;
  RoiAlign r{.images = x[0], .channels = x[1], .in_h = x[2], .in_w = x[3], .boxes = out[0], .out_h = out[2], .out_w = out[3]};
  r.scale = static_cast<float>(view.op().GetFloat("spatial_scale", 1));
  r.sampling = view.op().GetInt("sampling_ratio", -1);
  r.aligned = view.op().GetBool("aligned");
  r.max = view.op().GetString("mode") == "max";
  return r;
}

}  // namespace ampc
