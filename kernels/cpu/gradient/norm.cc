// Gradients of batch_norm, group_norm and instance_norm.
//
// A statistics group has the m elements that share a mean and an inverse = 1 / sqrt(variance + epsilon). With A = sum(g) and B = sum(g * (x
// - mean)) per channel: Bias@GRAD = A, Scale@GRAD = B * inverse, and X@GRAD = inverse * (scale * g - S - (x - mean) * inverse^2 * T), where
// S and T are the sums of scale * A and scale * B over the group's channels, divided by m. Given statistics are constants: S = T = 0.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"
#include "kernels/spec/norm_spec.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 14;
constexpr int64_t kColumns = simd::kReduceColumns;
constexpr int64_t kPartRows = 16 * simd::kProductRows;  // of a sum over rows whose channels lie last

// The groups of batch_norm go through all images, which then count as one when the channels lie last.
struct Norm : NormShape {
  bool batch = false;                                  // groups are channels, through all images
  bool given = false;                                  // statistics do not depend on X
  bool variance_inverted = false;                      // the operand `variance` holds 1 / sqrt(variance + epsilon)
  int x, scale, mean, variance, g, dx, dscale, dbias;  // flat positions; -1 when absent

  int64_t parts() const { return last ? (spatial + kPartRows - 1) / kPartRows : 1; }
  int64_t size() const { return batch ? 1 : channels / groups; }  // channels of a group
  int64_t stat_groups() const { return batch ? channels : images * groups; }
  int64_t count() const { return (batch ? images : size()) * spatial; }  // elements of a group
  int64_t num_sums() const { return images * parts() * channels; }
  int64_t num_factors() const { return batch ? channels : images * channels; }
  int64_t FactorOf(int64_t image) const { return batch ? 0 : image * channels; }  // where an image's factors start
};

const float* In(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); }
float* Out(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); }

struct Scratch {
  simd::ProductSums* sums;            // [images, parts, channels]
  float *mean, *inverse, *a, *b, *c;  // per channel, of each image unless `batch`
};

Scratch ScratchIn(const Norm& n, void* workspace) {
  simd::ProductSums* sums = static_cast<simd::ProductSums*>(workspace);
  float* floats = reinterpret_cast<float*>(sums + n.num_sums());
  const int64_t size = n.num_factors();
  return {sums, floats, floats + size, floats + 2 * size, floats + 3 * size, floats + 4 * size};
}

int64_t WorkspaceBytes(const Norm& n) {
  return n.num_sums() * static_cast<int64_t>(sizeof(simd::ProductSums)) + 5 * n.num_factors() * static_cast<int64_t>(sizeof(float));
}

// The sums of g and g * (x - mean) per image, part and channel; without g those of (x - mean)^2 in place of the latter.
void SumAll(const Norm& n, const Scratch& s, const float* x, const float* g, int threads) {
  if (!n.last) {
    ParallelFor(threads, n.images * n.channels, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n.spatial)),
                [&](int64_t first, int64_t last) {
                  for (int64_t r = first; r < last; ++r) {
                    const float mean = s.mean[n.FactorOf(r / n.channels) + r % n.channels];
                    const float* row = x + r * n.spatial;
                    s.sums[r] = g != nullptr ? simd::SumProducts(row, mean, g + r * n.spatial, nullptr, n.spatial)
                                             : simd::ProductSums{0, simd::SquaredDistance(row, mean, n.spatial)};
                  }
                });
    return;
  }
  const int64_t blocks = (n.channels + kColumns - 1) / kColumns;
  ParallelFor(threads, n.images * n.parts() * blocks, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t part = i / blocks, image = part / n.parts(), c = i % blocks * kColumns, columns = std::min(kColumns, n.channels - c);
      const int64_t begin = part % n.parts() * kPartRows, end = std::min(n.spatial, begin + kPartRows);
      simd::ProductSums* sums = s.sums + part * n.channels + c;
      std::fill(sums, sums + columns, simd::ProductSums());
      float sum_g[kColumns] = {}, sum_gx[kColumns];
      for (int64_t r = begin; r < end; r += simd::kProductRows) {
        const int64_t at = (image * n.spatial + r) * n.channels + c;
        const int64_t rows = std::min(simd::kProductRows, end - r);
        const float* mean = s.mean + n.FactorOf(image) + c;
        if (g != nullptr) {
          simd::SumColumnProducts(x + at, mean, g + at, rows, n.channels, sum_g, sum_gx, columns);
        } else {
          simd::SquaredColumns(x + at, rows, n.channels, mean, sum_gx, columns);
        }
        for (int64_t k = 0; k < columns; ++k) sums[k] = {sums[k].g + sum_g[k], sums[k].gx + sum_gx[k]};
      }
    }
  });
}

// Of a channel in one image.
simd::ProductSums ChannelSums(const Norm& n, const Scratch& s, int64_t image, int64_t channel) {
  simd::ProductSums total;
  for (int64_t p = 0; p < n.parts(); ++p) {
    const simd::ProductSums& part = s.sums[(image * n.parts() + p) * n.channels + channel];
    total = {total.g + part.g, total.gx + part.gx};
  }
  return total;
}

// Calls f(image, channel, factor) for what a statistics group consists of; `factor` is the place in the arrays of Scratch.
template <typename F>
void ForGroup(const Norm& n, int64_t group, F f) {
  if (n.batch) {
    for (int64_t image = 0; image < n.images; ++image) f(image, group, group);
    return;
  }
  const int64_t image = group / n.groups, first = group % n.groups * n.size();
  for (int64_t c = first; c < first + n.size(); ++c) f(image, c, image * n.channels + c);
}

void SetStatistics(const Norm& n, const Scratch& s, int64_t group, float mean, float inverse) {
  ForGroup(n, group, [&](int64_t, int64_t, int64_t factor) {
    s.mean[factor] = mean;
    s.inverse[factor] = inverse;
  });
}

// Mean and inverse of each group: operands, or computed from X again.
void FindStatistics(const Norm& n, const KernelArgs& args, const Scratch& s) {
  const auto inverse = [&n](double variance) { return static_cast<float>(1.0 / std::sqrt(variance + n.epsilon)); };
  if (n.mean >= 0) {
    for (int64_t i = 0; i < n.stat_groups(); ++i) {
      const float v = In(args, n.variance)[i];
      SetStatistics(n, s, i, In(args, n.mean)[i], n.variance_inverted ? v : inverse(v));
    }
    return;
  }
  const double count = static_cast<double>(n.count());
  std::fill(s.mean, s.mean + n.num_factors(), 0.0f);
  SumAll(n, s, In(args, n.x), In(args, n.x), args.threads);
  for (int64_t i = 0; i < n.stat_groups(); ++i) {
    double sum = 0;
    ForGroup(n, i, [&](int64_t image, int64_t c, int64_t) { sum += ChannelSums(n, s, image, c).g; });
    SetStatistics(n, s, i, static_cast<float>(sum / count), 0);
  }
  SumAll(n, s, In(args, n.x), nullptr, args.threads);
  for (int64_t i = 0; i < n.stat_groups(); ++i) {
    double squares = 0;
    float mean = 0;
    ForGroup(n, i, [&](int64_t image, int64_t c, int64_t factor) {
      squares += ChannelSums(n, s, image, c).gx;
      mean = s.mean[factor];
    });
    SetStatistics(n, s, i, mean, inverse(squares / count));
  }
}

// X@GRAD is a * g + (b * (x - mean) + c).
void FindFactors(const Norm& n, const KernelArgs& args, const Scratch& s) {
  const float* scale = In(args, n.scale);
  const auto scale_of = [scale](int64_t c) { return scale == nullptr ? 1.0 : static_cast<double>(scale[c]); };
  const double count = static_cast<double>(n.count());
  for (int64_t i = 0; i < n.stat_groups(); ++i) {
    simd::ProductSums sum;
    if (!n.given) {
      ForGroup(n, i, [&](int64_t image, int64_t c, int64_t) {
        const simd::ProductSums part = ChannelSums(n, s, image, c);
        sum = {sum.g + scale_of(c) * part.g, sum.gx + scale_of(c) * part.gx};
      });
    }
    ForGroup(n, i, [&](int64_t, int64_t c, int64_t factor) {
      const double inverse = static_cast<double>(s.inverse[factor]);
      s.a[factor] = static_cast<float>(inverse * scale_of(c));
      s.b[factor] = static_cast<float>(-inverse * inverse * inverse * sum.gx / count);
      s.c[factor] = static_cast<float>(-inverse * sum.g / count);
    });
  }
}

void WriteParameterGradients(const Norm& n, const KernelArgs& args, const Scratch& s) {
  float *dscale = Out(args, n.dscale), *dbias = Out(args, n.dbias);
  for (int64_t c = 0; c < n.channels; ++c) {
    simd::ProductSums sum;
    for (int64_t image = 0; image < n.images; ++image) {
      const simd::ProductSums part = ChannelSums(n, s, image, c);
      sum = {sum.g + part.g, sum.gx + part.gx * static_cast<double>(s.inverse[n.FactorOf(image) + c])};
    }
    if (dscale != nullptr) dscale[c] = static_cast<float>(sum.gx);
    if (dbias != nullptr) dbias[c] = static_cast<float>(sum.g);
  }
}

void Combine(const Norm& n, const KernelArgs& args, const Scratch& s) {
  const float *x = In(args, n.x), *g = In(args, n.g);
  float* out = Out(args, n.dx);
  const int64_t size = n.last ? n.channels : n.spatial, rows = n.images * (n.last ? n.spatial : n.channels);
  ParallelFor(args.threads, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size)), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t at = r * size;
      if (n.last) {
        const int64_t f = n.FactorOf(r / n.spatial);
        simd::CombineColumns(x + at, g + at, {s.mean + f, s.a + f, s.b + f, s.c + f}, out + at, size);
      } else {
        const int64_t f = n.FactorOf(r / n.channels) + r % n.channels;
        simd::CombineRow(x + at, g + at, nullptr, {s.mean[f], s.a[f], s.b[f], s.c[f]}, out + at, size);
      }
    }
  });
}

absl::Status Run(const Norm& n, const KernelArgs& args) {
  const Scratch s = ScratchIn(n, args.workspace);
  if (n.count() > 0 && n.num_factors() > 0) FindStatistics(n, args, s);
  const bool parameters = Out(args, n.dscale) != nullptr || Out(args, n.dbias) != nullptr;
  if (parameters || !n.given) SumAll(n, s, In(args, n.x), In(args, n.g), args.threads);
  if (parameters) WriteParameterGradients(n, args, s);
  if (Out(args, n.dx) == nullptr || n.count() == 0) return absl::OkStatus();
  FindFactors(n, args, s);
  Combine(n, args, s);
  return absl::OkStatus();
}

Norm ReadNorm(const SpecView& view) {
  Norm n;
  static_cast<NormShape&>(n) = ReadNormShape(view.op(), view.InDesc("X"));
  n.x = view.In("X");
  n.scale = view.In("Scale");
  n.mean = n.variance = -1;
  n.g = view.In("Y@GRAD");
  n.dx = view.Out("X@GRAD");
  n.dscale = view.Out("Scale@GRAD");
  n.dbias = view.Out("Bias@GRAD");
  return n;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeNorm(const SpecView& view, const Norm& n) {
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("X").dtype, {DType::kF32}));
  const Layout layout = view.InDesc("X").layout;
  if (view.spec().inputs[n.g].layout != layout || (n.dx >= 0 && view.spec().outputs[n.dx].layout != layout)) {
    return view.Unsupported("the cpu kernel needs gradients in the layout of X");
  }
  for (int i : {n.mean, n.variance}) {
    if (i >= 0 && view.spec().inputs[i].NumElements() != n.stat_groups()) return view.Internal("a saved statistic has the wrong size");
  }
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  if (n.dx == 0) traits.in_place_input = n.g;
  traits.workspace_bytes = WorkspaceBytes(n);
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) { return Run(n, args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeBatchNorm(const KernelSpec& spec) {
  const SpecView view(spec);
  const Op& op = view.op();
  if (op.GetBool("fuse_with_relu")) return view.Unsupported("a batch_norm with a fused relu has no gradient");
  Norm n = ReadNorm(view);
  n.batch = true;
  n.given = op.GetBool("is_test") || op.GetBool("use_global_stats");
  if (n.last || n.spatial == 1) {  // rows of channels
    n.spatial *= n.images;
    n.images = 1;
    n.last = true;
  }
  const bool running = n.given && view.In("MeanOut") >= 0 && view.In("VarianceOut") >= 0;
  const bool saved = view.In("SavedMean") >= 0 && view.In("SavedVariance") >= 0;
  if (n.given && !running && !saved)
    return view.Unsupported("the gradient for given statistics reads MeanOut and VarianceOut, which are absent");
  if (running || saved) {
    n.mean = view.In(running ? "MeanOut" : "SavedMean");
    n.variance = view.In(running ? "VarianceOut" : "SavedVariance");
    n.variance_inverted = !running;
  }
  return MakeNorm(view, n);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGroupNorm(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool instance = view.op().type() == "instance_norm_grad";
  Norm n = ReadNorm(view);
  const char *mean = instance ? "SavedMean" : "Mean", *variance = instance ? "SavedVariance" : "Variance";
  if (view.In(mean) >= 0 && view.In(variance) >= 0) {
    n.mean = view.In(mean);
    n.variance = view.In(variance);
    n.variance_inverted = instance;
  }
  return MakeNorm(view, n);
}

}  // namespace

absl::Status RegisterNormGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16};
  AMPC_RETURN_IF_ERROR(registry->Add({"batch_norm_grad", &MakeBatchNorm, types, LayoutSupport::kFollows}));
  AMPC_RETURN_IF_ERROR(registry->Add({"group_norm_grad", &MakeGroupNorm, types, LayoutSupport::kFollows}));
  return registry->Add({"instance_norm_grad", &MakeGroupNorm, types, LayoutSupport::kFollows});
}

}  // namespace ampc
