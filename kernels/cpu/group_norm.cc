// group_norm and instance_norm (a group per channel): each group of an image minus its mean, by its standard deviation; Scale and Bias per
// channel. Sums are taken in double over parts of fixed order, squares about the mean.
#include <algorithm>
#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/parallel.h"
#include "kernels/round.h"
#include "kernels/spec/norm_spec.h"

namespace ampc {
namespace {

constexpr int64_t kColumns = simd::kReduceColumns;
constexpr int64_t kRows = 16 * simd::kReduceRows;  // of a part of an image whose channels lie last

struct GroupNorm : NormShape {
  bool saves_inverse = false;  // 1 / sqrt(variance + epsilon) in place of the variance
  DType type = DType::kF32;
  int x, scale, bias, y, mean, variance;  // flat positions; -1 when absent
  // Positions of an image whose channels lie last that are taken as one row, so that rows of few channels fill registers.
  int64_t repeat = 1;
  int64_t size() const { return channels / groups; }
  int64_t columns() const { return channels * repeat; }
  int64_t rows() const { return spatial / repeat; }
  int64_t parts() const { return (rows() + kRows - 1) / kRows; }
  int64_t blocks() const { return (columns() + kColumns - 1) / kColumns; }
};

const float* In(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); }
float* Out(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); }

struct Statistics {
  float mean, inverse;
};

// Of group `i`, counted over the images; written where they are asked for.
Statistics Finish(const GroupNorm& n, const KernelArgs& args, int64_t i, float mean, double variance) {
  const float inverse = static_cast<float>(1.0 / std::sqrt(variance + n.epsilon));
  if (n.mean >= 0) Out(args, n.mean)[i] = mean;
  if (n.variance >= 0) Out(args, n.variance)[i] = n.saves_inverse ? inverse : static_cast<float>(variance);
  return {mean, inverse};
}

void RunGroup(const GroupNorm& n, const KernelArgs& args, int64_t i) {
  const int64_t size = n.size() * n.spatial;
  const float* x = In(args, n.x) + i * size;
  float* y = Out(args, n.y) + i * size;
  const float mean = static_cast<float>(simd::SumRow(x, size) / static_cast<double>(size));
  const Statistics s = Finish(n, args, i, mean, simd::SquaredDistance(x, mean, size) / static_cast<double>(size));
  const int64_t first = i % n.groups * n.size();
  const float *scale = In(args, n.scale), *bias = In(args, n.bias);
  for (int64_t c = 0; c < n.size(); ++c) {
    const float factor = scale == nullptr ? s.inverse : s.inverse * scale[first + c];
    simd::AffineRow(x + c * n.spatial, {s.mean, factor, bias == nullptr ? 0.0f : bias[first + c]}, y + c * n.spatial, n.spatial);
  }
  RoundTo(n.type, y, size);
}

// The sums that are kept between the passes over an image whose channels lie last.
struct Scratch {
  double* sums;                 // [images, parts, columns]
  float *mean, *factor, *bias;  // [images, columns]
};

Scratch ScratchIn(const GroupNorm& n, void* workspace) {
  double* sums = static_cast<double*>(workspace);
  float* floats = reinterpret_cast<float*>(sums + n.images * n.parts() * n.columns());
  const int64_t size = n.images * n.columns();
  return {sums, floats, floats + size, floats + 2 * size};
}

int64_t WorkspaceBytes(const GroupNorm& n) {
  const int64_t size = n.images * n.columns();
  return n.last ? size * n.parts() * static_cast<int64_t>(sizeof(double)) + 3 * size * static_cast<int64_t>(sizeof(float)) : 0;
}

// Per part and column the sum of X, or of the squares about the mean.
void SumParts(const GroupNorm& n, const KernelArgs& args, const Scratch& s, bool squares) {
  const float* x = In(args, n.x);
  const simd::ReduceColumnsFn reduce = simd::ReduceColumns(simd::ReduceOp::kSum);
  ParallelFor(args.threads, n.images * n.parts() * n.blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i / n.blocks(), image = part / n.parts(), c = i % n.blocks() * kColumns;
      const int64_t columns = std::min(kColumns, n.columns() - c), first = part % n.parts() * kRows;
      const int64_t last = std::min(first + kRows, n.rows());
      double total[kColumns] = {};
      for (int64_t r = first; r < last; r += simd::kReduceRows) {
        float sum[kColumns];
        const float* at = x + (image * n.rows() + r) * n.columns() + c;
        const int64_t rows = std::min(simd::kReduceRows, last - r);
        if (squares) {
          simd::SquaredColumns(at, rows, n.columns(), s.mean + image * n.columns() + c, sum, columns);
        } else {
          reduce(at, rows, n.columns(), columns, sum);
        }
        for (int64_t k = 0; k < columns; ++k) total[k] += sum[k];
      }
      std::copy(total, total + columns, s.sums + part * n.columns() + c);
    }
  });
}

double MeanOfGroup(const GroupNorm& n, const Scratch& s, int64_t image, int64_t group) {
  double sum = 0;
  for (int64_t p = 0; p < n.parts(); ++p) {
    const double* at = s.sums + (image * n.parts() + p) * n.columns() + group * n.size();
    for (int64_t k = 0; k < n.repeat; ++k) {
      for (int64_t c = 0; c < n.size(); ++c) sum += at[k * n.channels + c];
    }
  }
  return sum / static_cast<double>(n.size() * n.spatial);
}

// Copies each image's values of the first position of a row to the others.
void Repeat(const GroupNorm& n, float* values) {
  for (int64_t i = 0; i < n.images; ++i, values += n.columns()) {
    for (int64_t k = 1; k < n.repeat; ++k) std::copy_n(values, n.channels, values + k * n.channels);
  }
}

void RunColumns(const GroupNorm& n, const KernelArgs& args) {
  const Scratch s = ScratchIn(n, args.workspace);
  const auto for_each_group = [&n](auto f) {
    for (int64_t i = 0; i < n.images * n.groups; ++i)
      f(i, i / n.groups, i % n.groups, i / n.groups * n.columns() + i % n.groups * n.size());
  };
  SumParts(n, args, s, /*squares=*/false);
  for_each_group([&](int64_t, int64_t image, int64_t group, int64_t at) {
    std::fill_n(s.mean + at, n.size(), static_cast<float>(MeanOfGroup(n, s, image, group)));
  });
  Repeat(n, s.mean);
  SumParts(n, args, s, /*squares=*/true);
  for_each_group([&](int64_t i, int64_t image, int64_t group, int64_t at) {
    const Statistics stats = Finish(n, args, i, s.mean[at], MeanOfGroup(n, s, image, group));
    for (int64_t k = 0, c = group * n.size(); k < n.size(); ++k, ++c) {
      s.factor[at + k] = n.scale < 0 ? stats.inverse : stats.inverse * In(args, n.scale)[c];
      s.bias[at + k] = n.bias < 0 ? 0.0f : In(args, n.bias)[c];
    }
  });
  Repeat(n, s.factor);
  Repeat(n, s.bias);
  ParallelFor(args.threads, n.images * n.rows(), std::max<int64_t>(1, (1 << 14) / n.columns()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t at = r / n.rows() * n.columns();
      float* y = Out(args, n.y) + r * n.columns();
      simd::AffineColumns(In(args, n.x) + r * n.columns(), s.mean + at, s.factor + at, s.bias + at, y, n.columns());
      RoundTo(n.type, y, n.columns());
    }
  });
}

// No element, or no statistics of what there is.
void RunEmpty(const GroupNorm& n, const KernelArgs& args) {
  for (int64_t i = 0; i < n.images * n.groups; ++i) Finish(n, args, i, 0, 0);
}

absl::StatusOr<GroupNorm> Read(const SpecView& view) {
  const bool instance = view.op().type() == "instance_norm";
  GroupNorm n;
  n.x = view.In("X");
  n.scale = view.In("Scale");
  n.bias = view.In("Bias");
  n.y = view.Out("Y");
  n.mean = view.Out(instance ? "SavedMean" : "Mean");
  n.variance = view.Out(instance ? "SavedVariance" : "Variance");
  const TensorDesc& x = view.spec().inputs[n.x];
  static_cast<NormShape&>(n) = ReadNormShape(view.op(), x);
  while (n.last && n.columns() * 2 <= kColumns && n.rows() % 2 == 0) n.repeat *= 2;
  n.saves_inverse = instance;
  n.type = view.spec().outputs[n.y].dtype;
  if (view.spec().outputs[n.y].layout != x.layout) return view.Unsupported("the cpu kernel needs Y in the layout of X");
  return n;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const GroupNorm n, Read(view));
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = n.y == 0 ? n.x : -1;
  traits.rounds_results =
      std::none_of(spec.outputs.begin() + 1, spec.outputs.end(), [](const TensorDesc& t) { return IsLowPrecision(t.dtype); });
  if (spec.inputs[n.x].NumElements() == 0) {
    return MakeLambdaKernel(traits, [n](const KernelArgs& args) { return RunEmpty(n, args), absl::OkStatus(); });
  }
  traits.workspace_bytes = WorkspaceBytes(n);
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) {
    if (n.last) {
      RunColumns(n, args);
      return absl::OkStatus();
    }
    ParallelFor(args.threads, n.images * n.groups, std::max<int64_t>(1, (1 << 12) / (n.size() * n.spatial)),
                [&](int64_t first, int64_t last) {
                  for (int64_t i = first; i < last; ++i) RunGroup(n, args, i);
                });
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterGroupNorm(KernelRegistry* registry) {
  for (const char* op : {"group_norm", "instance_norm"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
