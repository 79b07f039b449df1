// Gradients of cross_entropy and softmax_with_cross_entropy.
//
// Of a row with the softmax p and the label l, g being the gradient of its loss: with a hard label g * (p - one at l), 0 for ignore_index;
// with soft labels g * (p * sum(l) - l). Of probabilities x: -g / x at l, or -g * l / x.
#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/loss/loss_rows.h"
#include "kernels/cpu/simd/gradient_rows.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

constexpr int64_t kGrain = 1 << 13;

struct Plan : LossRows {
  int p = -1, g = -1;  // flat operands; p: Softmax, or X
  bool softmax = true;
};

void Scale(const float* x, float factor, float* out, int64_t n) { simd::ScaleRow(x, factor, out, n); }
void Scale(const double* x, double factor, double* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

// Elements of a row are `inner` apart.
template <typename T>
void HardRow(const Plan& p, const T* x, T g, int64_t label, T* out) {
  if (label == p.ignore) g = 0;
  if (!p.softmax || g == 0) {
    const T probability = label == p.ignore ? T(1) : x[label * p.inner];
    for (int64_t i = 0; i < p.size; ++i) out[i * p.inner] = 0;
    if (label != p.ignore && !p.softmax) out[label * p.inner] = -g / probability;
    return;
  }
  if (p.inner == 1) {
    Scale(x, g, out, p.size);
  } else {
    for (int64_t i = 0; i < p.size; ++i) out[i * p.inner] = x[i * p.inner] * g;
  }
  out[label * p.inner] -= g;
}

template <typename T>
void SoftRow(const Plan& p, const T* x, T g, const T* label, T* out) {
  double sum = 0;
  for (int64_t i = 0; i < p.size * p.inner; i += p.inner) sum += static_cast<double>(label[i]);
  const T total = static_cast<T>(sum);
  for (int64_t i = 0; i < p.size * p.inner; i += p.inner) {
    out[i] = p.softmax ? g * (x[i] * total - label[i]) : label[i] == 0 ? T(0) : -g * label[i] / x[i];
  }
}

template <typename T>
void Run(const Plan& p, const KernelArgs& args) {
  const auto in = [&args](int i) { return static_cast<const T*>(args.inputs[i]); };
  ParallelFor(args.threads, p.outer * p.inner, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, p.size)),
              [&](int64_t first, int64_t last) {
                for (int64_t r = first; r < last; ++r) {
                  const int64_t at = r / p.inner * p.size * p.inner + r % p.inner;
                  T* out = static_cast<T*>(args.outputs[0]) + at;
                  const T *x = in(p.p) + at, g = in(p.g)[r];
                  if (p.soft) {
                    SoftRow(p, x, g, in(p.label) + at, out);
                  } else {
                    HardRow(p, x, g, ReadAsInt(args.inputs[p.label], p.label_type, r), out);
                  }
                }
              });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeFor(const SpecView& view, Plan plan, int64_t axis) {
  if (view.spec().outputs.empty()) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const TensorDesc& x = view.spec().inputs[plan.p];
  AMPC_RETURN_IF_ERROR(ReadLossRows(view, x, axis, &plan));
  KernelTraits traits;
  traits.implementation = "ampc:simd";
  traits.in_place_input = plan.p;
  return MakeLambdaKernel(traits, [plan = std::move(plan), narrow = StorageType(x.dtype) == DType::kF32](const KernelArgs& args) {
    const absl::Status labels = CheckLabels(plan, args.inputs[plan.label]);
    if (labels.ok()) narrow ? Run<float>(plan, args) : Run<double>(plan, args);
    return labels;
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool logits = view.op().type() == "softmax_with_cross_entropy_grad";
  Plan plan;
  plan.p = view.In(logits ? "Softmax" : "X");
  plan.g = view.In(logits ? "Loss@GRAD" : "Y@GRAD");
  plan.softmax = logits && view.op().GetBool("use_softmax", true);
  return MakeFor(view, std::move(plan), logits ? view.op().GetInt("axis", -1) : -1);
}

}  // namespace

absl::Status RegisterLossGradient(KernelRegistry* registry) {
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  AMPC_RETURN_IF_ERROR(registry->Add({"cross_entropy_grad", &Make, types}));
  return registry->Add({"softmax_with_cross_entropy_grad", &Make, types});
}

}  // namespace ampc
