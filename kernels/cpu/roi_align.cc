// roi_align and its gradient: a bin of a box is the mean of bilinear samples; positions of a box are computed once and used for every
// channel's bins.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

struct RoiAlign {
  int64_t images, channels, in_h, in_w, boxes, out_h, out_w;
  float scale = 1;
  int64_t sampling = -1;
  bool aligned = false;
  int x, rois, num;  // num: -1 when absent, then there is one image
  DType num_type = DType::kI32;
};

// Samples along one axis of a bin: `count` of them, the first `step` / 2 after `begin`.
struct Samples {
  float begin, step;
  int64_t first = 0, last = 0;  // those that touch X
  double count = 1;
};

Samples MakeSamples(float begin, float size, int64_t in, int64_t sampling, int64_t bins, float roi) {
  Samples s;
  s.count = sampling > 0 ? static_cast<double>(sampling) : std::max(0.0, std::ceil(static_cast<double>(roi) / static_cast<double>(bins)));
  s.begin = begin;
  s.step = s.count > 0 ? size / static_cast<float>(s.count) : 0;
  if (s.count <= 0) return s;
  // A box may be far larger than X, or far away: only samples from -1 to `in` are visited, with one more at each end for rounding.
  double low = 0, high = s.count;
  if (s.step > 0) {
    low = std::clamp(std::floor((-1.0 - begin) / s.step) - 2, 0.0, s.count);
    high = std::clamp(std::ceil((static_cast<double>(in) - begin) / s.step) + 2, 0.0, s.count);
  } else {
    high = std::min(high, 1e6);
  }
  s.first = static_cast<int64_t>(low);
  s.last = static_cast<int64_t>(high);
  return s;
}

// The two positions and the weight of the second for a sample; false where it touches nothing.
bool Place(const Samples& s, int64_t i, int64_t in, int64_t* low, int64_t* high, float* weight) {
  float at = s.begin + (static_cast<float>(i) + 0.5f) * s.step;
  if (at < -1.0f || at > static_cast<float>(in)) return false;
  at = std::max(at, 0.0f);
  *low = static_cast<int64_t>(at);
  *high = *low + 1;
  if (*low >= in - 1) {
    *low = *high = in - 1;
    at = static_cast<float>(*low);
  }
  *weight = at - static_cast<float>(*low);
  return true;
}

float MeanOfBin(const float* plane, const RoiAlign& r, const Samples& y, const Samples& x) {
  float sum = 0;
  for (int64_t i = y.first; i < y.last; ++i) {
    int64_t top, bottom, left, right;
    float down, across;
    if (!Place(y, i, r.in_h, &top, &bottom, &down)) continue;
    for (int64_t j = x.first; j < x.last; ++j) {
      if (!Place(x, j, r.in_w, &left, &right, &across)) continue;
      const float *a = plane + top * r.in_w, *b = plane + bottom * r.in_w;
      sum +=
          (1 - down) * (1 - across) * a[left] + (1 - down) * across * a[right] + down * (1 - across) * b[left] + down * across * b[right];
    }
  }
  return sum / static_cast<float>(std::max(1.0, y.count * x.count));
}

// The gradient of a bin goes to the positions whose mean it is.
void SpreadBin(float gradient, const RoiAlign& r, const Samples& y, const Samples& x, float* plane) {
  const float part = gradient / static_cast<float>(std::max(1.0, y.count * x.count));
  for (int64_t i = y.first; i < y.last; ++i) {
    int64_t top, bottom, left, right;
    float down, across;
    if (!Place(y, i, r.in_h, &top, &bottom, &down)) continue;
    for (int64_t j = x.first; j < x.last; ++j) {
      if (!Place(x, j, r.in_w, &left, &right, &across)) continue;
      float *a = plane + top * r.in_w, *b = plane + bottom * r.in_w;
      a[left] += (1 - down) * (1 - across) * part;
      a[right] += (1 - down) * across * part;
      b[left] += down * (1 - across) * part;
      b[right] += down * across * part;
    }
  }
}

// Calls bin(position, y, x) for the bins of a box; false where it has none.
template <typename F>
bool ForEachBin(const RoiAlign& r, const float* box, F bin) {
  const float offset = r.aligned ? 0.5f : 0.0f;
  const float x0 = box[0] * r.scale - offset, y0 = box[1] * r.scale - offset;
  float width = box[2] * r.scale - offset - x0, height = box[3] * r.scale - offset - y0;
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(width) || !std::isfinite(height)) {
    return false;
  }
  if (!r.aligned) {
    width = std::max(width, 1.0f);
    height = std::max(height, 1.0f);
  }
  const float bin_h = height / static_cast<float>(r.out_h), bin_w = width / static_cast<float>(r.out_w);
  for (int64_t i = 0; i < r.out_h; ++i) {
    const Samples y = MakeSamples(y0 + static_cast<float>(i) * bin_h, bin_h, r.in_h, r.sampling, r.out_h, height);
    for (int64_t j = 0; j < r.out_w; ++j) {
      const Samples x = MakeSamples(x0 + static_cast<float>(j) * bin_w, bin_w, r.in_w, r.sampling, r.out_w, width);
      bin(i * r.out_w + j, y, x);
    }
  }
  return true;
}

void RunBox(const RoiAlign& r, const float* plane, const float* box, float* out) {
  if (ForEachBin(r, box, [&](int64_t at, const Samples& y, const Samples& x) { out[at] = MeanOfBin(plane, r, y, x); })) return;
  std::fill(out, out + r.out_h * r.out_w, std::numeric_limits<float>::quiet_NaN());
}

// The image of each box; usage errors where the counts do not add up.
absl::Status CheckCounts(const RoiAlign& r, const KernelArgs& args) {
  int64_t total = 0;
  for (int64_t n = 0; n < r.images; ++n) {
    const int64_t count = ReadAsInt(args.inputs[r.num], r.num_type, n);
    if (count < 0 || count > r.boxes - total)
      return UsageError(absl::StrCat("op 'roi_align': RoisNum does not add up to ", r.boxes, " boxes"));
    total += count;
  }
  if (total != r.boxes) return UsageError(absl::StrCat("op 'roi_align': RoisNum adds up to ", total, ", needs ", r.boxes, " boxes"));
  return absl::OkStatus();
}

int64_t ImageOf(const RoiAlign& r, const KernelArgs& args, int64_t box) {
  if (r.num < 0) return 0;
  int64_t image = 0;
  for (int64_t end = ReadAsInt(args.inputs[r.num], r.num_type, 0); box >= end;) end += ReadAsInt(args.inputs[r.num], r.num_type, ++image);
  return image;
}

absl::Status Run(const RoiAlign& r, const KernelArgs& args) {
  if (r.num >= 0) AMPC_RETURN_IF_ERROR(CheckCounts(r, args));
  const float* x = static_cast<const float*>(args.inputs[r.x]);
  const float* rois = static_cast<const float*>(args.inputs[r.rois]);
  float* out = static_cast<float*>(args.outputs[0]);
  ParallelFor(args.threads, r.boxes * r.channels, 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t box = i / r.channels;
      const float* plane = x + (ImageOf(r, args, box) * r.channels + i % r.channels) * r.in_h * r.in_w;
      RunBox(r, plane, rois + box * 4, out + i * r.out_h * r.out_w);
    }
  });
  return absl::OkStatus();
}

// Each channel has one thread and adds one box after the other.
absl::Status RunGradient(const RoiAlign& r, const KernelArgs& args, int gradient) {
  if (r.num >= 0) AMPC_RETURN_IF_ERROR(CheckCounts(r, args));
  const float* rois = static_cast<const float*>(args.inputs[r.rois]);
  float* to = static_cast<float*>(args.outputs[0]);
  const int64_t size = r.in_h * r.in_w, bins = r.out_h * r.out_w;
  ParallelFor(args.threads, r.channels, 1, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c) {
      for (int64_t n = 0; n < r.images; ++n) std::fill_n(to + (n * r.channels + c) * size, size, 0.0f);
      for (int64_t box = 0; box < r.boxes; ++box) {
        float* plane = to + (ImageOf(r, args, box) * r.channels + c) * size;
        const float* from = static_cast<const float*>(args.inputs[gradient]) + (box * r.channels + c) * bins;
        ForEachBin(r, rois + box * 4, [&](int64_t at, const Samples& y, const Samples& x) { SpreadBin(from[at], r, y, x, plane); });
      }
    }
  });
  return absl::OkStatus();
}

// The forward op, or its gradient where the operand's gradient is asked for.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const int gradient = view.In("Out@GRAD");
  const Dims &x = view.InDesc("X").dims, &out = gradient < 0 ? spec.outputs[0].dims : spec.inputs[gradient].dims;
  RoiAlign r{.images = x[0],
             .channels = x[1],
             .in_h = x[2],
             .in_w = x[3],
             .boxes = out[0],
             .out_h = out[2],
             .out_w = out[3],
             .x = view.In("X"),
             .rois = view.In("ROIs"),
             .num = view.In("RoisNum")};
  r.scale = static_cast<float>(view.op().GetFloat("spatial_scale", 1));
  r.sampling = view.op().GetInt("sampling_ratio", -1);
  r.aligned = view.op().GetBool("aligned");
  if (r.num >= 0) r.num_type = view.InDesc("RoisNum").dtype;
  if (r.num < 0 && r.images > 1) return view.Unsupported("without RoisNum the boxes of several images cannot be told apart");
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (r.images * r.in_h * r.in_w == 0) return view.Unsupported("there is no position to sample");
  if (gradient >= 0) return MakeLambdaKernel({}, [r, gradient](const KernelArgs& args) { return RunGradient(r, args, gradient); });
  return MakeLambdaKernel({}, [r](const KernelArgs& args) { return Run(r, args); });
}

}  // namespace

absl::Status RegisterRoiAlign(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"roi_align_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"roi_align", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
