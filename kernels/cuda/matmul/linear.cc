// fused_gemm_epilogue and its gradient: products with bias, activation, their gradients and the sums of bias gradients inside where the
// library computes them; else each of these is a pass of its own behind a product in f32.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/matmul/linear.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "kernels/spec/product/linear_spec.h"

namespace ampc::cuda {
namespace {

using onednn::MatmulSpec;

// The library reads and writes ReserveSpace as it lies. Its gelu is the one with tanh, whose error may be too large for f32; its rows of
// gelu's operands are multiples of eight.
bool LibraryHas(ActivationKind function, DType type, int64_t cols) {
  return function != ActivationKind::kGeluTanh || (type != DType::kF32 && cols % 8 == 0);
}

MatmulEpilogue EpilogueOf(ActivationKind function, bool reserve) {
  if (function == ActivationKind::kRelu) return reserve ? MatmulEpilogue::kReluAuxBias : MatmulEpilogue::kReluBias;
  if (function == ActivationKind::kGeluTanh) return reserve ? MatmulEpilogue::kGeluAuxBias : MatmulEpilogue::kGeluBias;
  return MatmulEpilogue::kBias;
}

MatmulEpilogue GradientEpilogueOf(ActivationKind function) {
  if (function == ActivationKind::kNone) return MatmulEpilogue::kNone;
  return function == ActivationKind::kRelu ? MatmulEpilogue::kDRelu : MatmulEpilogue::kDGelu;
}

// Elements (of relu's mask bits) per row of ReserveSpace.
int64_t AuxRow(const LinearSpec& s) { return s.function == ActivationKind::kRelu ? s.reserve_row * 8 : s.reserve_row; }

// A product and where it goes. Without `inside` it is f32 and a pass follows it; it lies in the workspace unless the result is f32.
struct Step {
  int a = 0, b = 0, out = -1;  // flat; -1: not wanted
  bool inside = false;
  DeviceProduct product;
  int64_t product_bytes = 0;

  int64_t workspace_bytes() const { return product_bytes + product.workspace_bytes(); }
  absl::Status Run(const KernelArgs& args, const void* bias, void* aux) const {
    char* const ws = static_cast<char*>(args.workspace);
    const DeviceProductOperands operands{args.inputs[a], args.inputs[b], nullptr, to(args), bias, aux};
    return product.Run(*args.stream, operands, ws + product_bytes);
  }
  void* to(const KernelArgs& args) const { return product_bytes > 0 ? args.workspace : args.outputs[out]; }
  LinearParams ParamsOf(const KernelArgs& args, LinearParams params) const {
    params.product = static_cast<const float*>(to(args));
    params.out = args.outputs[out];
    return params;
  }
};

// With `epilogue`, or without one where the library lacks it. `wide`: in f32 then.
absl::StatusOr<Step> MakeStep(const SpecView& view, const MatmulSpec& s, Step step, DeviceProductOptions options, bool wide) {
  const TensorDesc& out = view.spec().outputs[step.out];
  options.factors = options.result = out.dtype;
  step.inside = options.epilogue != MatmulEpilogue::kNone && s.m > 0 && s.n > 0 && s.k > 0;
  if (step.inside) {
    absl::StatusOr<DeviceProduct> product = DeviceProduct::Make(*view.spec().device, s, options);
    if (product.ok()) step.product = *std::move(product);
    if (product.ok()) return step;
    if (ExitCodeOf(product.status()) != ExitCode::kUnsupported) return Annotate(product.status(), Describe(view.op()));
    step.inside = false;
  }
  options.epilogue = MatmulEpilogue::kNone;
  if (wide) {
    options.result = DType::kF32;
    if (out.dtype != DType::kF32) step.product_bytes = AlignWorkspace(out.NumElements() * static_cast<int64_t>(sizeof(float)));
  }
  absl::StatusOr<DeviceProduct> product = DeviceProduct::Make(*view.spec().device, s, options);
  if (!product.ok()) return Annotate(product.status(), Describe(view.op()));
  step.product = *std::move(product);
  return step;
}

LinearParams ParamsOf(const LinearSpec& s, DType type) {
  LinearParams params;
  params.type = type;
  params.function = s.function;
  params.rows = s.rows;
  params.cols = s.cols;
  params.reserve_row = s.reserve_row;
  return params;
}

absl::Status CheckTypes(const SpecView& view, std::initializer_list<absl::string_view> slots) {
  for (absl::string_view slot : slots) {
    if (view.InDesc(slot).dtype != view.InDesc("X").dtype) return view.Unsupported("the device multiplies floats of one type");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeForward(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view, {"Y", "Bias"}));
  const LinearSpec s = ReadLinear(view);
  const DType type = view.InDesc("X").dtype;
  if (s.rows * s.cols == 0) return MakeDeviceKernel({.implementation = "cuda:nothing"}, [](const KernelArgs&, void*) { return 0; });
  const int bias = view.In("Bias"), reserve = view.Out("ReserveSpace");
  DeviceProductOptions options;
  if (LibraryHas(s.function, type, s.cols)) options.epilogue = EpilogueOf(s.function, reserve >= 0);
  if (reserve >= 0) options.aux_row = AuxRow(s);
  Step step;
  step.a = view.In("X");
  step.b = view.In("Y");
  step.out = view.Out("Out");
  AMPC_ASSIGN_OR_RETURN(step, MakeStep(view, s.product, step, options, true));
  const KernelTraits traits{
      .implementation = step.product.implementation(), .rounds_results = true, .workspace_bytes = step.workspace_bytes()};
  // The library leaves the bits behind the last column alone.
  const bool fills = step.inside && reserve >= 0 && s.function == ActivationKind::kRelu && s.cols < s.reserve_row * 8;
  const int64_t mask_bytes = fills ? s.rows * s.reserve_row : 0;
  return MakeLambdaKernel(traits, [=, params = ParamsOf(s, type)](const KernelArgs& args) -> absl::Status {
    void* const aux = reserve < 0 ? nullptr : args.outputs[reserve];
    if (mask_bytes > 0) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(aux, 0, mask_bytes));
    AMPC_RETURN_IF_ERROR(step.Run(args, step.inside ? args.inputs[bias] : nullptr, step.inside ? aux : nullptr));
    if (step.inside) return absl::OkStatus();
    const int code = LaunchLinear(args.stream->native(), step.ParamsOf(args, params), args.inputs[bias], aux);
    return args.stream->device().LaunchStatus(code, "cuda:linear");
  });
}

struct Gradient {
  Step dx, dy;
  LinearParams params;  // of DX
  int gradient = 0, reserve = -1, bias = -1;
  StridedSumParams sum;   // of the bias, where dy does not sum it
  int64_t sum_bytes = 0;  // of DBias where there is nothing to sum: it is filled

  absl::Status RunX(const KernelArgs& args) const {
    if (dx.out < 0) return absl::OkStatus();
    // It is not written.
    void* const aux = reserve < 0 ? nullptr : const_cast<void*>(args.inputs[reserve]);
    AMPC_RETURN_IF_ERROR(dx.Run(args, nullptr, dx.inside ? aux : nullptr));
    if (dx.inside || params.function == ActivationKind::kNone) return absl::OkStatus();
    return args.stream->device().LaunchStatus(LaunchLinearGradient(args.stream->native(), dx.ParamsOf(args, params), aux),
                                              "cuda:linear_grad");
  }
  absl::Status Run(const KernelArgs& args) const {
    AMPC_RETURN_IF_ERROR(RunX(args));
    if (dy.out >= 0) AMPC_RETURN_IF_ERROR(dy.Run(args, dy.inside ? args.outputs[bias] : nullptr, nullptr));
    if (bias < 0 || dy.inside) return absl::OkStatus();
    if (sum_bytes > 0) return args.stream->FillBytes(args.outputs[bias], 0, sum_bytes);
    return RunStridedSum(*args.stream, sum, args.inputs[gradient], args.outputs[bias]);
  }
};

absl::Status MakeX(const SpecView& view, const LinearSpec& s, Gradient* g) {
  const bool one_row = s.cols == (s.product.trans_a ? s.product.m : s.product.k);  // the product's rows are those of ReserveSpace
  DeviceProductOptions options;
  if (one_row && LibraryHas(s.function, g->params.type, s.cols)) options.epilogue = GradientEpilogueOf(s.function);
  options.aux_row = AuxRow(s);
  AMPC_ASSIGN_OR_RETURN(g->dx, MakeStep(view, GradientOfA(s.product), g->dx, options, s.function != ActivationKind::kNone));
  return absl::OkStatus();
}

absl::Status MakeY(const SpecView& view, const LinearSpec& s, Gradient* g) {
  DeviceProductOptions options;
  if (g->bias >= 0) options.epilogue = s.product.trans_b ? MatmulEpilogue::kBiasGradB : MatmulEpilogue::kBiasGradA;
  AMPC_ASSIGN_OR_RETURN(g->dy, MakeStep(view, GradientOfB(s.product), g->dy, options, false));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(CheckTypes(view, {"Y", "DOut"}));
  const LinearSpec s = ReadLinearGradient(view);
  const MatmulSpec& p = s.product;
  const DType type = view.InDesc("X").dtype;
  const int x = view.In("X"), y = view.In("Y");
  Gradient g;
  g.gradient = view.In("DOut");
  g.reserve = view.In("ReserveSpace");
  g.bias = view.Out("DBias");
  g.params = ParamsOf(s, type);
  g.dx.a = p.trans_a ? y : g.gradient;
  g.dx.b = p.trans_a ? g.gradient : y;
  g.dx.out = view.Out("DX");
  g.dy.a = p.trans_b ? g.gradient : x;
  g.dy.b = p.trans_b ? x : g.gradient;
  g.dy.out = view.Out("DY");
  if (g.dx.out >= 0) AMPC_RETURN_IF_ERROR(MakeX(view, s, &g));
  if (g.dy.out >= 0) AMPC_RETURN_IF_ERROR(MakeY(view, s, &g));
  if (g.bias >= 0 && p.m * p.n == 0) {
    g.sum_bytes = p.n * static_cast<int64_t>(SizeOf(type));
    if (p.n == 0) g.bias = -1;
  } else if (g.bias >= 0 && !g.dy.inside) {
    AMPC_ASSIGN_OR_RETURN(g.sum, PlanDenseSum({p.m, p.n}, {true, false}, type, type));
  }
  const Step& named = g.dx.out >= 0 ? g.dx : g.dy;
  KernelTraits traits{.implementation = named.out >= 0 ? named.product.implementation() : "cuda:strided_sum", .rounds_results = true};
  traits.workspace_bytes = std::max(g.dx.workspace_bytes(), g.dy.workspace_bytes());
  return MakeLambdaKernel(std::move(traits), [g = std::move(g)](const KernelArgs& args) { return g.Run(args); });
}

}  // namespace

absl::Status RegisterLinear(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"fused_gemm_epilogue", &MakeForward, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"fused_gemm_epilogue_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}});
}

}  // namespace ampc::cuda
