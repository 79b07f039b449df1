// fused_gemm_epilogue and its gradient: a product on oneDNN in f32 and one sweep behind it. The bias is added and the activation applied
// before the executor rounds the result, once; what ReserveSpace holds of gelu is rounded by itself.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/common/functors.h"
#include "kernels/common/gradient_functors.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/move/repeat_sum.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"
#include "kernels/spec/product/linear_spec.h"

namespace ampc {
namespace {

using functors::Params;
using functors::ScalarMath;

// Calls f(row) for all rows, some at a time.
template <typename F>
void ForRows(int threads, const LinearSpec& s, F f) {
  ParallelFor(threads, s.rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, s.cols)), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) f(r);
  });
}

// One row of the result in place; `reserve` may be null.
void ReluRow(float* out, int64_t cols, uint8_t* reserve, int64_t reserve_row) {
  if (reserve != nullptr) std::fill_n(reserve, reserve_row, uint8_t{0});
  for (int64_t c = 0; c < cols; ++c) {
    if (reserve != nullptr && out[c] > 0) reserve[c / 8] = static_cast<uint8_t>(reserve[c / 8] | 1 << (c % 8));
    out[c] = functors::Relu::Apply(ScalarMath<float>(), out[c], Params<float>());
  }
}

void GeluRow(float* out, int64_t cols, float* reserve) {
  if (reserve != nullptr) std::copy_n(out, cols, reserve);
  for (int64_t c = 0; c < cols; ++c) out[c] = functors::GeluTanh::Apply(ScalarMath<float>(), out[c], Params<float>());
}

void Activate(const LinearSpec& s, int threads, float* out, void* reserve) {
  if (s.function == ActivationKind::kNone) return;
  ForRows(threads, s, [&](int64_t r) {
    float* const row = out + r * s.cols;
    if (s.function == ActivationKind::kRelu) {
      ReluRow(row, s.cols, reserve == nullptr ? nullptr : static_cast<uint8_t*>(reserve) + r * s.reserve_row, s.reserve_row);
    } else {
      GeluRow(row, s.cols, reserve == nullptr ? nullptr : static_cast<float*>(reserve) + r * s.reserve_row);
    }
  });
}

// gradient *= the derivative, in place.
void ActivateGradient(const LinearSpec& s, int threads, float* gradient, const void* reserve) {
  if (s.function == ActivationKind::kNone) return;
  ForRows(threads, s, [&](int64_t r) {
    float* const row = gradient + r * s.cols;
    if (s.function == ActivationKind::kRelu) {
      const uint8_t* const mask = static_cast<const uint8_t*>(reserve) + r * s.reserve_row;
      for (int64_t c = 0; c < s.cols; ++c) row[c] = (mask[c / 8] >> (c % 8) & 1) != 0 ? row[c] : 0.0f;
    } else {
      const float* const x = static_cast<const float*>(reserve) + r * s.reserve_row;
      for (int64_t c = 0; c < s.cols; ++c) row[c] = functors::GeluTanhGrad::Apply(ScalarMath<float>(), x[c], row[c], Params<float>());
    }
  });
}

absl::Status CheckTypes(const SpecView& view, std::initializer_list<absl::string_view> slots) {
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("X").dtype, {DType::kF32}));
  for (absl::string_view slot : slots) {
    if (view.InDesc(slot).dtype != view.InDesc("X").dtype) return view.Unsupported("the cpu multiplies floats of one type");
  }
  return absl::OkStatus();
}

// A product whose factors come with every run; null for one of no elements, or of no terms.
absl::StatusOr<std::shared_ptr<const onednn::Matmul>> MakeProduct(const SpecView& view, const onednn::MatmulSpec& s, KernelTraits* traits) {
  if (s.m == 0 || s.n == 0 || s.k == 0) return nullptr;
  absl::StatusOr<std::unique_ptr<onednn::Matmul>> matmul = onednn::MakeMatmul(s, nullptr, nullptr);
  if (!matmul.ok()) return Annotate(matmul.status(), Describe(view.op()));
  traits->workspace_bytes = std::max(traits->workspace_bytes, (*matmul)->workspace_bytes());
  traits->implementation = (*matmul)->implementation();
  return *std::move(matmul);
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeForward(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view, {"Y", "Bias"}));
  LinearSpec s = ReadLinear(view);
  s.product.has_bias = true;
  KernelTraits traits;
  AMPC_ASSIGN_OR_RETURN(const auto matmul, MakeProduct(view, s.product, &traits));
  const int x = view.In("X"), y = view.In("Y"), bias = view.In("Bias"), out = view.Out("Out"), reserve = view.Out("ReserveSpace");
  return MakeLambdaKernel(std::move(traits), [=](const KernelArgs& args) -> absl::Status {
    const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
    float* const to = static_cast<float*>(args.outputs[out]);
    if (matmul != nullptr) {
      AMPC_RETURN_IF_ERROR(matmul->Run({in(x), in(y), in(bias), to, args.workspace}));
    } else {
      for (int64_t i = 0; i < s.rows * s.cols; ++i) to[i] = in(bias)[i % s.cols];
    }
    Activate(s, args.threads, to, reserve < 0 ? nullptr : args.outputs[reserve]);
    return absl::OkStatus();
  });
}

// The gradient of one factor.
struct Term {
  int a = 0, b = 0, out = -1;  // flat; -1: not wanted
  int64_t elements = 0;
  std::shared_ptr<const onednn::Matmul> matmul;

  absl::Status Run(const KernelArgs& args) const {
    if (out < 0) return absl::OkStatus();
    float* const to = static_cast<float*>(args.outputs[out]);
    if (matmul == nullptr) std::fill_n(to, elements, 0.0f);
    if (matmul == nullptr) return absl::OkStatus();
    return matmul->Run({static_cast<const float*>(args.inputs[a]), static_cast<const float*>(args.inputs[b]), nullptr, to, args.workspace});
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view, {"Y", "DOut"}));
  const LinearSpec s = ReadLinearGradient(view);
  const onednn::MatmulSpec& p = s.product;
  const int g = view.In("DOut"), x = view.In("X"), y = view.In("Y"), reserve = view.In("ReserveSpace"), bias = view.Out("DBias");
  Term dx{p.trans_a ? y : g, p.trans_a ? g : y, view.Out("DX"), p.m * p.k, nullptr};
  Term dy{p.trans_b ? g : x, p.trans_b ? x : g, view.Out("DY"), p.k * p.n, nullptr};
  KernelTraits traits;
  if (dx.out >= 0) {
    AMPC_ASSIGN_OR_RETURN(dx.matmul, MakeProduct(view, GradientOfA(p), &traits));
  }
  if (dy.out >= 0) {
    AMPC_ASSIGN_OR_RETURN(dy.matmul, MakeProduct(view, GradientOfB(p), &traits));
  }
  const RepeatSum sum(std::vector<int64_t>{p.m, p.n}, {true, false});
  return MakeLambdaKernel(std::move(traits), [=](const KernelArgs& args) -> absl::Status {
    AMPC_RETURN_IF_ERROR(dx.Run(args));
    if (dx.out >= 0 && reserve >= 0) ActivateGradient(s, args.threads, static_cast<float*>(args.outputs[dx.out]), args.inputs[reserve]);
    AMPC_RETURN_IF_ERROR(dy.Run(args));
    if (bias >= 0) sum.Run(static_cast<const float*>(args.inputs[g]), static_cast<float*>(args.outputs[bias]), args.threads);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterLinear(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"fused_gemm_epilogue", &MakeForward, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"fused_gemm_epilogue_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc
