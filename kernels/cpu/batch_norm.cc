// batch_norm: by given statistics, or by those of the batch with the running ones moved along.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/base/status_macros.h"
#include "graph/ops/window.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/cpu/simd/rows.h"
#include "kernels/lib/activation.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kColumns = simd::kReduceColumns;

// X as [images, channels, spatial], or [images * spatial, channels] when the channels lie last.
struct BatchNorm {
  int64_t images = 1, channels = 1, spatial = 1;
  bool columns = false;
  bool training = false;
  double epsilon = 1e-5;
  ScalarInput momentum = {};
  Activation activation = {};
  int64_t reserve_bytes = 0;
  // Flat positions; -1 when absent.
  int x, scale, bias, mean, variance, y, mean_out, variance_out, saved_mean, saved_variance, reserve;
  int64_t elements() const { return images * channels * spatial; }
};

const float* In(const KernelArgs& args, int i) { return static_cast<const float*>(args.inputs[i]); }
float* Out(const KernelArgs& args, int i) { return i < 0 ? nullptr : static_cast<float*>(args.outputs[i]); }

// Mean and variance of one channel's rows.
void RowStatistics(const BatchNorm& n, const float* x, int64_t channel, float* mean, float* variance) {
  const double count = static_cast<double>(n.images * n.spatial);
  double sum = 0, squares = 0;
  const auto row = [&](int64_t image) { return x + (image * n.channels + channel) * n.spatial; };
  for (int64_t i = 0; i < n.images; ++i) sum += simd::SumRow(row(i), n.spatial);
  mean[channel] = static_cast<float>(sum / count);
  for (int64_t i = 0; i < n.images; ++i) squares += simd::SquaredDistance(row(i), mean[channel], n.spatial);
  variance[channel] = static_cast<float>(squares / count);
}

// The same of up to kColumns neighbouring channels that lie last.
void ColumnStatistics(const BatchNorm& n, const float* x, int64_t channel, int64_t columns, float* mean, float* variance) {
  const int64_t rows = n.images * n.spatial;
  double sum[kColumns] = {}, squares[kColumns] = {};
  float part[kColumns];
  const simd::ReduceColumnsFn reduce = simd::ReduceColumns(simd::ReduceOp::kSum);
  for (int64_t r = 0; r < rows; r += simd::kReduceRows) {
    reduce(x + r * n.channels + channel, std::min(simd::kReduceRows, rows - r), n.channels, columns, part);
    for (int64_t c = 0; c < columns; ++c) sum[c] += part[c];
  }
  for (int64_t c = 0; c < columns; ++c) mean[channel + c] = static_cast<float>(sum[c] / static_cast<double>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    const float* at = x + r * n.channels + channel;
    for (int64_t c = 0; c < columns; ++c) {
      const double d = static_cast<double>(at[c]) - mean[channel + c];
      squares[c] += d * d;
    }
  }
  for (int64_t c = 0; c < columns; ++c) variance[channel + c] = static_cast<float>(squares[c] / static_cast<double>(rows));
}

void BatchStatistics(const BatchNorm& n, const KernelArgs& args, float* mean, float* variance) {
  const float* x = In(args, n.x);
  const int64_t step = n.columns ? kColumns : 1;
  ParallelFor(args.threads, (n.channels + step - 1) / step, 1, [&](int64_t first, int64_t last) {
    for (int64_t b = first; b < last; ++b) {
      if (n.columns) {
        ColumnStatistics(n, x, b * step, std::min(step, n.channels - b * step), mean, variance);
      } else {
        RowStatistics(n, x, b, mean, variance);
      }
    }
  });
}

// The running statistics; where the result is the operand's own memory, each element is read before it is written.
void MoveRunning(const BatchNorm& n, const KernelArgs& args, const float* mean, const float* variance) {
  const float keep = static_cast<float>(n.momentum.Get(args));
  const auto move = [&](int in, int out, const float* batch) {
    const float* before = In(args, in);
    float* after = Out(args, out);
    if (after == nullptr) return;
    for (int64_t c = 0; c < n.channels; ++c) after[c] = n.training ? before[c] * keep + batch[c] * (1 - keep) : before[c];
  };
  move(n.mean, n.mean_out, mean);
  move(n.variance, n.variance_out, variance);
}

void Apply(const BatchNorm& n, const KernelArgs& args, const float* mean, const float* scale, const float* bias) {
  const float* x = In(args, n.x);
  float* y = Out(args, n.y);
  const int64_t size = n.columns ? n.channels : n.spatial;
  const int64_t rows = n.elements() / size;
  ParallelFor(args.threads, rows, std::max<int64_t>(1, (1 << 14) / size), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t c = r % n.channels;
      if (n.columns) {
        simd::AffineColumns(x + r * size, mean, scale, bias, y + r * size, size);
      } else {
        simd::AffineRow(x + r * size, {mean[c], scale[c], bias[c]}, y + r * size, size);
      }
    }
  });
  ApplyActivation(n.activation, args.threads, y, n.elements());
}

absl::Status Run(const BatchNorm& n, const KernelArgs& args) {
  float* const batch_mean = static_cast<float*>(args.workspace);
  float* const batch_variance = batch_mean + n.channels;
  float* const factor = batch_variance + n.channels;
  if (n.elements() == 0) {  // no statistics
    std::fill(batch_mean, factor, 0.0f);
  } else if (n.training) {
    BatchStatistics(n, args, batch_mean, batch_variance);
  }
  const float* mean = n.training ? batch_mean : In(args, n.mean);
  const float* variance = n.training ? batch_variance : In(args, n.variance);
  for (int64_t c = 0; c < n.channels; ++c) {
    const double inverse = 1.0 / std::sqrt(static_cast<double>(variance[c]) + n.epsilon);
    factor[c] = static_cast<float>(inverse * In(args, n.scale)[c]);
    if (n.saved_mean >= 0) Out(args, n.saved_mean)[c] = mean[c];
    if (n.saved_variance >= 0) Out(args, n.saved_variance)[c] = static_cast<float>(inverse);
  }
  if (n.elements() > 0) Apply(n, args, mean, factor, In(args, n.bias));
  MoveRunning(n, args, batch_mean, batch_variance);
  if (n.reserve >= 0) std::memset(args.outputs[n.reserve], 0, static_cast<size_t>(n.reserve_bytes));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const Op& op = view.op();
  BatchNorm n{.x = view.In("X"),
              .scale = view.In("Scale"),
              .bias = view.In("Bias"),
              .mean = view.In("Mean"),
              .variance = view.In("Variance"),
              .y = view.Out("Y"),
              .mean_out = view.Out("MeanOut"),
              .variance_out = view.Out("VarianceOut"),
              .saved_mean = view.Out("SavedMean"),
              .saved_variance = view.Out("SavedVariance"),
              .reserve = view.Out("ReserveSpace")};
  const TensorDesc& x = spec.inputs[n.x];
  const size_t rank = x.dims.size();
  const bool nhwc = ops::ChannelsLast(op.GetString("data_layout"));
  const size_t channel_dim = nhwc ? rank - 1 : 1;
  n.channels = x.dims[channel_dim];
  n.images = x.dims[0];
  for (size_t i = 1; i < rank; ++i) n.spatial *= i == channel_dim ? 1 : x.dims[i];
  n.columns = nhwc || x.layout == Layout::kChannelsLast || n.spatial == 1;
  if (spec.outputs[n.y].layout != x.layout) return view.Unsupported("the cpu kernel needs Y in the layout of X");
  n.training = !op.GetBool("is_test") && !op.GetBool("use_global_stats");
  n.epsilon = op.GetFloat("epsilon", 1e-5f);
  n.momentum = ScalarInput(view, "MomentumTensor", op.GetFloat("momentum", 0.9f));
  AMPC_ASSIGN_OR_RETURN(n.activation, ReadActivation(op));
  if (n.reserve >= 0) n.reserve_bytes = spec.outputs[n.reserve].StorageBytes();
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = n.y == 0 ? n.x : -1;
  traits.workspace_bytes = 3 * n.channels * static_cast<int64_t>(sizeof(float));
  return MakeLambdaKernel(traits, [n](const KernelArgs& args) { return Run(n, args); });
}

}  // namespace

absl::Status RegisterBatchNorm(KernelRegistry* registry) {
  return registry->Add({"batch_norm", &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kFollows});
}

}  // namespace ampc
