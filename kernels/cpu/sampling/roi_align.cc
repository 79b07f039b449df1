// roi_align and its gradient: a bin of a box is the mean of bilinear samples, or the largest part of one. roi_pool: it is the largest of
// its pixels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/parallel.h"
#include "kernels/spec/sampling/roi_spec.h"

namespace ampc {
namespace {

// Flat operands.
struct Roi : RoiAlign {
  int x = 0, rois = 0, num = -1;  // num: -1 when absent, then there is one image
  DType num_type = DType::kI32;
  std::string op, name;  // its type; as messages call it
};

// The gradient of a bin goes to the positions whose mean it is.
void SpreadBin(float gradient, const Roi& r, const RoiSamples& y, const RoiSamples& x, float* plane) {
  const float part = gradient / RoiDivisor(y, x);
  for (int64_t i = y.first; i < y.last; ++i) {
    int64_t top, bottom, left, right;
    float down, across;
    if (!PlaceRoiSample(y, i, r.in_h, &top, &bottom, &down)) continue;
    for (int64_t j = x.first; j < x.last; ++j) {
      if (!PlaceRoiSample(x, j, r.in_w, &left, &right, &across)) continue;
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
bool ForEachBin(const Roi& r, const float* corners, F bin) {
  const RoiBox box = MakeRoiBox(r, corners[0], corners[1], corners[2], corners[3]);
  if (!box.ok) return false;
  for (int64_t i = 0; i < r.out_h; ++i) {
    const RoiSamples y = box.Rows(r, i);
    for (int64_t j = 0; j < r.out_w; ++j) bin(i * r.out_w + j, y, box.Columns(r, j));
  }
  return true;
}

void RunBox(const Roi& r, const float* plane, const float* box, float* out) {
  const auto at = [plane](int64_t i) { return plane[i]; };
  if (ForEachBin(r, box, [&](int64_t i, const RoiSamples& y, const RoiSamples& x) { out[i] = RoiBin(at, r, y, x); })) return;
  std::fill(out, out + r.out_h * r.out_w, std::numeric_limits<float>::quiet_NaN());
}

// The image of each box; usage errors where the counts do not add up.
absl::Status CheckCounts(const Roi& r, const KernelArgs& args) {
  int64_t total = 0;
  for (int64_t n = 0; n < r.images; ++n) {
    const int64_t count = ReadAsInt(args.inputs[r.num], r.num_type, n);
    if (count < 0 || count > r.boxes - total) return UsageError(absl::StrCat(r.name, ": RoisNum does not add up to ", r.boxes, " boxes"));
    total += count;
  }
  if (total != r.boxes) return UsageError(absl::StrCat(r.name, ": RoisNum adds up to ", total, ", needs ", r.boxes, " boxes"));
  return absl::OkStatus();
}

int64_t ImageOf(const Roi& r, const KernelArgs& args, int64_t box) {
  if (r.num < 0) return 0;
  int64_t image = 0;
  for (int64_t end = ReadAsInt(args.inputs[r.num], r.num_type, 0); box >= end;) end += ReadAsInt(args.inputs[r.num], r.num_type, ++image);
  return image;
}

// Calls bins(plane, box, position of its first bin) for every box and channel.
template <typename Bins>
absl::Status ForEachPlane(const Roi& r, const KernelArgs& args, const Bins& bins) {
  if (r.num >= 0) AMPC_RETURN_IF_ERROR(CheckCounts(r, args));
  const float* x = static_cast<const float*>(args.inputs[r.x]);
  const float* rois = static_cast<const float*>(args.inputs[r.rois]);
  ParallelFor(args.threads, r.boxes * r.channels, 8, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t box = i / r.channels;
      const float* plane = x + (ImageOf(r, args, box) * r.channels + i % r.channels) * r.in_h * r.in_w;
      bins(plane, rois + box * 4, i * r.out_h * r.out_w);
    }
  });
  return absl::OkStatus();
}

absl::Status Run(const Roi& r, const KernelArgs& args) {
  float* out = static_cast<float*>(args.outputs[0]);
  return ForEachPlane(r, args, [&](const float* plane, const float* box, int64_t at) { RunBox(r, plane, box, out + at); });
}

// The pixels of a box along one axis, which `bins` bins share: neighbours may have one in common.
struct Pixels {
  float begin, size;  // of a bin

  Pixels(float low, float high, float scale, int64_t bins) {
    begin = std::round(low * scale);
    size = std::max(std::round(high * scale) - begin + 1, 1.0f) / static_cast<float>(bins);
  }
  bool ok() const { return std::isfinite(begin) && std::isfinite(size); }
  int64_t First(int64_t bin, int64_t in) const { return Within(std::floor(static_cast<float>(bin) * size) + begin, in); }
  int64_t Last(int64_t bin, int64_t in) const { return Within(std::ceil(static_cast<float>(bin + 1) * size) + begin, in); }

 private:
  static int64_t Within(float at, int64_t in) {
    return static_cast<int64_t>(std::clamp(static_cast<double>(at), 0.0, static_cast<double>(in)));
  }
};

// The position of the largest element of the rows and columns, or of the first NaN; -1 for no elements.
int64_t LargestOf(const float* plane, int64_t width, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  int64_t best = -1;
  for (int64_t i = top; i < bottom; ++i) {
    for (int64_t j = left; j < right; ++j) {
      const int64_t at = i * width + j;
      if (best < 0 || plane[at] > plane[best] || (std::isnan(plane[at]) && !std::isnan(plane[best]))) best = at;
    }
  }
  return best;
}

absl::Status RunPool(const Roi& r, const KernelArgs& args, int argmax) {
  float* out = static_cast<float*>(args.outputs[0]);
  int64_t* places = argmax < 0 ? nullptr : static_cast<int64_t*>(args.outputs[argmax]);
  return ForEachPlane(r, args, [&](const float* plane, const float* box, int64_t at) {
    const Pixels x(box[0], box[2], r.scale, r.out_w), y(box[1], box[3], r.scale, r.out_h);
    for (int64_t i = 0; i < r.out_h; ++i) {
      for (int64_t j = 0; j < r.out_w; ++j, ++at) {
        const bool ok = x.ok() && y.ok();
        const int64_t best =
            ok ? LargestOf(plane, r.in_w, y.First(i, r.in_h), y.Last(i, r.in_h), x.First(j, r.in_w), x.Last(j, r.in_w)) : -1;
        out[at] = !ok ? std::numeric_limits<float>::quiet_NaN() : best < 0 ? 0 : plane[best];
        if (places != nullptr) places[at] = best;
      }
    }
  });
}

// Each channel has one thread and adds one box after the other.
absl::Status RunGradient(const Roi& r, const KernelArgs& args, int gradient) {
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
        ForEachBin(r, rois + box * 4, [&](int64_t at, const RoiSamples& y, const RoiSamples& x) { SpreadBin(from[at], r, y, x, plane); });
      }
    }
  });
  return absl::OkStatus();
}

// The forward ops, or the gradient where the operand's gradient is asked for.
absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const int gradient = view.In("Out@GRAD");
  Roi r;
  static_cast<RoiAlign&>(r) = ReadRoiAlign(view);
  r.x = view.In("X");
  r.rois = view.In("ROIs");
  r.num = view.In("RoisNum");
  r.op = view.op().type();
  r.name = Describe(view.op());
  if (r.num >= 0) r.num_type = view.InDesc("RoisNum").dtype;
  if (gradient >= 0 && r.max) return view.Unsupported("mode max has no gradient");
  if (r.num < 0 && r.images > 1) return view.Unsupported("without RoisNum the boxes of several images cannot be told apart");
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (r.images * r.in_h * r.in_w == 0) return view.Unsupported("there is no position to sample");
  if (r.op == "roi_pool") {
    const int argmax = view.Out("Argmax");
    return MakeLambdaKernel({}, [r, argmax](const KernelArgs& args) { return RunPool(r, args, argmax); });
  }
  if (gradient >= 0) return MakeLambdaKernel({}, [r, gradient](const KernelArgs& args) { return RunGradient(r, args, gradient); });
  return MakeLambdaKernel({}, [r](const KernelArgs& args) { return Run(r, args); });
}

}  // namespace

absl::Status RegisterRoiAlign(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"roi_align_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  AMPC_RETURN_IF_ERROR(registry->Add({"roi_pool", &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"roi_align", &Make, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
