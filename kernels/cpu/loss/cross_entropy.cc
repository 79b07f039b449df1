// cross_entropy and softmax_with_cross_entropy.
//
// Of one row x of `size` classes: with softmax, loss = log(sum exp(x - max)) - (x[label] - max), or -log(softmax[label]) when
// numeric_stable_mode is off; without, loss = -log(x[label]), with 1e20 in place of infinity. With soft labels it is the sum over
// the classes weighted by the label; a class of weight 0 does not count, whatever its logit. A row whose label is ignore_index has
// loss 0. Sums are in double.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/loss/loss_rows.h"
#include "kernels/cpu/simd/elementwise.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

struct LossPlan : LossRows {
  int x = -1, softmax = -1, loss = -1;  // flat operand and results; softmax -1: not wanted
  bool normalise = true, stable = true;
  int64_t chunks = 1;  // parts of the rows, each with its own scratch
};

double Finite(double v) { return std::isinf(v) ? (v > 0 ? 1e20 : -1e20) : v; }

// softmax(x) into `out` and the largest element; returns the sum of exp(x - max).
double Normalise(const float* x, float* out, int64_t n, double* max) {
  const float top = simd::MaxRow(x, n);
  simd::Binary(simd::BinaryOp::kSub, simd::Spread::kY)(x, &top, out, static_cast<size_t>(n));
  simd::Unary(simd::UnaryOp::kExp)(out, out, static_cast<size_t>(n), {});
  const double sum = simd::SumRow(out, n);
  const float narrow = static_cast<float>(sum);
  simd::Binary(simd::BinaryOp::kDiv, simd::Spread::kY)(out, &narrow, out, static_cast<size_t>(n));
  *max = top;
  return sum;
}

double Normalise(const double* x, double* out, int64_t n, double* max) {
  *max = *std::max_element(x, x + n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += out[i] = std::exp(x[i] - *max);
  for (int64_t i = 0; i < n; ++i) out[i] /= sum;
  return sum;
}

template <typename T>
struct Row {
  const T* x;
  T* softmax;     // null when not normalised
  const T* soft;  // soft labels
};

template <typename T>
T LossOf(const LossPlan& p, const Row<T>& row, int64_t label) {
  double max = 0, log_sum = 0;
  if (p.normalise) log_sum = std::log(Normalise(row.x, row.softmax, p.size, &max));
  const bool by_logits = p.normalise && p.stable;
  const T* probabilities = p.normalise ? row.softmax : row.x;
  const auto of_class = [&](int64_t c) {
    if (by_logits) return log_sum - static_cast<double>(static_cast<T>(row.x[c] - static_cast<T>(max)));
    return -Finite(std::log(static_cast<double>(probabilities[c])));
  };
  if (!p.soft) return label == p.ignore ? T(0) : static_cast<T>(of_class(label));
  double sum = 0;
  for (int64_t c = 0; c < p.size; ++c) {
    if (row.soft[c] != 0) sum += static_cast<double>(row.soft[c]) * of_class(c);
  }
  return static_cast<T>(sum);
}

// The scratch of a chunk holds a row of logits, of softmax and of labels, for rows that are not contiguous.
template <typename T>
void RunChunk(const LossPlan& p, const KernelArgs& args, int64_t first, int64_t last, T* scratch) {
  const T* x = static_cast<const T*>(args.inputs[p.x]);
  T* softmax = p.softmax < 0 ? nullptr : static_cast<T*>(args.outputs[p.softmax]);
  for (int64_t r = first; r < last; ++r) {
    const int64_t at = r / p.inner * p.size * p.inner + r % p.inner;
    const bool dense = p.inner == 1;
    Row<T> row{x + at, dense && softmax != nullptr ? softmax + at : scratch + p.size, nullptr};
    if (!dense) {
      for (int64_t c = 0; c < p.size; ++c) scratch[c] = x[at + c * p.inner];
      row.x = scratch;
    }
    if (p.soft) {
      const T* labels = static_cast<const T*>(args.inputs[p.label]);
      row.soft = dense ? labels + at : scratch + 2 * p.size;
      for (int64_t c = 0; c < p.size && !dense; ++c) scratch[2 * p.size + c] = labels[at + c * p.inner];
    }
    const int64_t label = p.soft ? 0 : ReadAsInt(args.inputs[p.label], p.label_type, r);
    static_cast<T*>(args.outputs[p.loss])[r] = LossOf(p, row, label);
    if (softmax == nullptr || (dense && p.normalise)) continue;
    const T* result = p.normalise ? row.softmax : row.x;
    for (int64_t c = 0; c < p.size; ++c) softmax[at + c * p.inner] = result[c];
  }
}

template <typename T>
std::unique_ptr<Kernel> MakeLoss(LossPlan plan) {
  KernelTraits traits;
  if constexpr (sizeof(T) == 4) traits.implementation = absl::StrCat("ampc:", simd::TargetName());
  traits.workspace_bytes = plan.chunks * 3 * plan.size * static_cast<int64_t>(sizeof(T));
  return MakeLambdaKernel(std::move(traits), [p = std::move(plan)](const KernelArgs& args) {
    const absl::Status labels = CheckLabels(p, args.inputs[p.label]);
    if (!labels.ok()) return labels;
    const int64_t rows = p.outer * p.inner;
    ParallelFor(std::min<int>(args.threads, static_cast<int>(p.chunks)), p.chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        RunChunk<T>(p, args, rows * k / p.chunks, rows * (k + 1) / p.chunks, static_cast<T*>(args.workspace) + k * 3 * p.size);
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFor(const SpecView& view, LossPlan plan, int64_t axis) {
  const TensorDesc& x = view.spec().inputs[plan.x];
  AMPC_RETURN_IF_ERROR(ReadLossRows(view, x, axis, &plan));
  if (plan.size == 0 && plan.outer * plan.inner > 0) return view.Unsupported("there is no class");
  const bool worth = plan.outer * plan.inner * plan.size >= (1 << 13);
  plan.chunks = worth ? std::max(1, view.spec().threads) : 1;
  if (x.dtype == DType::kF64) return MakeLoss<double>(std::move(plan));
  return MakeLoss<float>(std::move(plan));
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool logits = view.op().type() == "softmax_with_cross_entropy";
  LossPlan plan;
  plan.x = view.In(logits ? "Logits" : "X");
  plan.softmax = view.Out("Softmax");
  plan.loss = view.Out(logits ? "Loss" : "Y");
  plan.normalise = logits && view.op().GetBool("use_softmax", true);
  plan.stable = view.op().GetBool("numeric_stable_mode", true);
  return MakeFor(view, std::move(plan), logits ? view.op().GetInt("axis", -1) : -1);
}

}  // namespace

absl::Status RegisterCrossEntropy(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"cross_entropy", &Make, types}));
  return registry->Add({"softmax_with_cross_entropy", &Make, types});
}

}  // namespace ampc
