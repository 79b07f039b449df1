#include "kernels/cpu/base/conv_op.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/lib/activation.h"

namespace ampc {
namespace {

using onednn::ConvSpec;

absl::Status ReadAxes(const SpecView& view, const Dims& in, const Dims& out, bool nhwc, ConvSpec* spec) {
  const Dims& filter = view.InDesc("Filter").dims;
  const auto spatial = [](const Dims& dims, size_t first) { return absl::MakeConstSpan(dims).subspan(first, dims.size() - 2); };
  const auto in_sizes = spatial(in, nhwc ? 1 : 2), out_sizes = spatial(out, nhwc ? 1 : 2);
  const absl::StatusOr<ops::Windows> windows = ops::ReadWindows(view.op(), in_sizes, spatial(filter, 2));
  if (!windows.ok()) return view.Internal(windows.status().message());
  for (size_t i = 0; i < windows->size(); ++i) {
    const ops::Window& w = (*windows)[i];
    ConvSpec::Axis a{in_sizes[i], out_sizes[i], w.kernel, w.stride, w.dilation, w.before, w.after};
    // A transposed convolution is the mirror of one from `out` to `in`; output_padding and output_size lengthen `out` at the end.
    if (spec->transposed) a.after = (a.in - 1) * a.stride + a.dilation * (a.kernel - 1) + 1 - a.before - a.out;
    spec->axes.push_back(a);
  }
  return absl::OkStatus();
}

bool IsOne(const ConvSpec::Axis& a) { return a.in == 1 && a.out == 1 && a.kernel == 1 && a.before == 0 && a.after == 0; }

// The library works along the last axis. If that is a single point, the axis in front of it takes its place: nothing moves in memory.
void PutPointsInFront(ConvSpec* spec) { std::stable_partition(spec->axes.begin(), spec->axes.end(), IsOne); }

bool IsChannelsLast(const SpecView& view) { return ops::ChannelsLast(view.op().GetString("data_format")); }

}  // namespace

Layout ConvLayout(const SpecView& view, const TensorDesc& t) { return IsChannelsLast(view) ? Layout::kChannelsLast : t.layout; }

absl::StatusOr<ConvSpec> ReadConv(const SpecView& view, absl::string_view type, const TensorDesc& in, const TensorDesc& out) {
  const bool nhwc = IsChannelsLast(view);
  ConvSpec spec;
  spec.batch = in.dims[0];
  spec.in_c = nhwc ? in.dims.back() : in.dims[1];
  spec.out_c = nhwc ? out.dims.back() : out.dims[1];
  spec.groups = view.op().GetInt("groups", 1);
  spec.transposed = absl::EndsWith(type, "_transpose");
  spec.in = ConvLayout(view, in);
  spec.out = ConvLayout(view, out);
  spec.native_bf16 = in.dtype == DType::kBF16;
  spec.threads = view.spec().threads;
  spec.choices = view.spec().choices;
  AMPC_RETURN_IF_ERROR(ReadAxes(view, in.dims, out.dims, nhwc, &spec));
  PutPointsInFront(&spec);
  return spec;
}

absl::StatusOr<ConvSpec> ReadFusedConv(const SpecView& view) {
  const TensorDesc& y = view.OutDesc("Output");
  AMPC_ASSIGN_OR_RETURN(ConvSpec spec, ReadConv(view, view.op().type(), view.InDesc("Input"), y));
  spec.in_storage = view.InDesc("Input").storage();
  spec.out_storage = y.storage();
  spec.has_bias = view.In("Bias") >= 0;
  spec.has_residual = view.In("ResidualData") >= 0;
  if (spec.has_residual) {
    if (view.InDesc("ResidualData").dims != y.dims) return view.Unsupported("the kernel needs ResidualData with the shape of Output");
    spec.residual = ConvLayout(view, view.InDesc("ResidualData"));
    spec.residual_storage = view.InDesc("ResidualData").storage();
  }
  AMPC_ASSIGN_OR_RETURN(spec.activation, ReadActivation(view.op()));
  return spec;
}

}  // namespace ampc
