// affine_quantize and affine_dequantize: stretches of elements that share their scale, in vectors.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/simd/quantize.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

// X as `outer` times `count` stretches of `inner` elements, each stretch with the scale of its number; one scale for all is count 1.
struct Stretches {
  int64_t outer = 1, count = 1, inner = 1;
  int scale = -1, zero_point = -1;  // flat positions; no zero point: -1
  bool one_zero_point = true;
  DType zero_type = DType::kInvalid;
};

Stretches ReadStretches(const SpecView& view) {
  const Dims& x = view.InDesc("X").dims;
  const int64_t axis = view.op().GetInt("axis");
  Stretches s;
  s.scale = view.In("Scale");
  s.zero_point = view.In("ZeroPoint");
  if (s.zero_point >= 0) {
    s.one_zero_point = view.InDesc("ZeroPoint").NumElements() == 1;
    s.zero_type = view.InDesc("ZeroPoint").dtype;
  }
  const bool many = view.InDesc("Scale").NumElements() != 1 || !s.one_zero_point;
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t at = static_cast<int64_t>(d);
    (many && at < axis ? s.outer : many && at == axis ? s.count : s.inner) *= x[d];
  }
  return s;
}

constexpr int64_t kGrain = 1 << 14;  // elements of a thread

// Calls run(offset, scale, zero point, n) for pieces of the stretches, in parallel.
template <typename F>
void ForStretches(const Stretches& s, bool one_scale, const KernelArgs& args, F run) {
  const float* scales = static_cast<const float*>(args.inputs[s.scale]);
  const int64_t piece = std::min(s.inner, kGrain), pieces = (s.inner + piece - 1) / piece;
  ParallelFor(args.threads, s.outer * s.count * pieces, std::max<int64_t>(1, kGrain / piece), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t stretch = i / pieces, number = stretch % s.count, at = i % pieces * piece;
      const int64_t zero = s.zero_point < 0 ? 0 : ReadAsInt(args.inputs[s.zero_point], s.zero_type, s.one_zero_point ? 0 : number);
      run(stretch * s.inner + at, scales[one_scale ? 0 : number], static_cast<int32_t>(zero), std::min(piece, s.inner - at));
    }
  });
}

// `fn(x, scale, zero point, out, n)` computes a piece.
template <typename F>
absl::StatusOr<std::unique_ptr<Kernel>> Make(const SpecView& view, F fn) {
  const KernelSpec& spec = view.spec();
  AMPC_RETURN_IF_ERROR(view.CheckType(view.InDesc("Scale").dtype, {DType::kF32}));
  const bool one = view.InDesc("Scale").NumElements() == 1;
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  const int64_t in_size = ElementSize(spec.inputs[0]), out_size = ElementSize(spec.outputs[0]);
  return MakeLambdaKernel({.implementation = "ampc:simd"}, [s = ReadStretches(view), fn, one, in_size, out_size](const KernelArgs& args) {
    const char* x = static_cast<const char*>(args.inputs[0]);
    char* out = static_cast<char*>(args.outputs[0]);
    ForStretches(s, one, args, [&](int64_t at, float scale, int32_t zero, int64_t n) {
      fn(static_cast<const void*>(x + at * in_size), scale, zero, static_cast<void*>(out + at * out_size), n);
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeQuantize(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[0].dtype, {DType::kF32}));
  const simd::QuantizeFn fn = simd::Quantize(spec.outputs[0].dtype);
  if (fn == nullptr) return view.Internal("the result is not quantised");
  return Make(view, [fn](const void* x, float scale, int32_t zero, void* out, int64_t n) {
    fn(static_cast<const float*>(x), scale, zero, out, n);
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDequantize(const KernelSpec& spec) {
  const SpecView view(spec);
  const simd::DequantizeFn fn = simd::Dequantize(spec.inputs[0].dtype);
  if (fn == nullptr) return view.Internal("X is not quantised");
  return Make(view,
              [fn](const void* x, float scale, int32_t zero, void* out, int64_t n) { fn(x, scale, zero, static_cast<float*>(out), n); });
}

}  // namespace

absl::Status RegisterQuantize(KernelRegistry* registry) {
  using Integers = Types<uint8_t, int8_t, uint16_t, int16_t, int32_t>;
  AMPC_RETURN_IF_ERROR(
      registry->Add({"affine_quantize", &MakeQuantize, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kElementwise}));
  return registry->Add({"affine_dequantize", &MakeDequantize, DeclaredTypes<Integers>(), LayoutSupport::kElementwise});
}

}  // namespace ampc
