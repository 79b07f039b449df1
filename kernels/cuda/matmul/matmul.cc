// matmul_v2, matmul, mul, fc, bmm, mv and addmm: one product of stacks of matrices, with bias, relu and gelu inside where the library
// computes them; what else is behind the product is one pass over it. dot: a sum per row.
#include <optional>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/matmul/rows.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace ampc::cuda {
namespace {

using onednn::MatmulSpec;

// Flat positions of what a product reads; -1: absent.
struct Slots {
  int a = 0, b = 1, bias = -1, c = -1;
};

// The steps behind a product that lies in the workspace or, if that is its type, in the result.
struct Finish {
  FinishParams params;
  int bias = -1, addend = -1;
};

struct Prepared {
  Slots slots;
  std::optional<DeviceProduct> product;  // none: a sum of no products
  std::optional<Finish> finish;
  int64_t product_bytes = 0;  // in the workspace; 0: the product goes to the result

  absl::Status Run(const KernelArgs& args) const {
    Stream& stream = *args.stream;
    const auto at = [&args](int i) { return i < 0 ? nullptr : args.inputs[i]; };
    char* const ws = static_cast<char*>(args.workspace);
    void* const to = product_bytes > 0 ? ws : args.outputs[0];
    if (product.has_value()) {
      AMPC_RETURN_IF_ERROR(product->Run(stream, {at(slots.a), at(slots.b), at(slots.c), to, at(slots.bias)}, ws + product_bytes));
    }
    if (!finish.has_value()) return absl::OkStatus();
    FinishParams p = finish->params;
    p.product = product.has_value() ? static_cast<const float*>(to) : nullptr;
    p.out = args.outputs[0];
    p.bias = at(finish->bias);
    p.addend = at(finish->addend);
    return stream.device().LaunchStatus(LaunchFinish(stream.native(), p), "cuda:matmul_finish");
  }
};

// The epilogue that computes bias and activation in the product. The library's gelu is the one with tanh; its error may be too large for
// f32.
std::optional<MatmulEpilogue> EpilogueOf(const Activation& act, bool bias, DType type) {
  if (act.scale != 1 || act.shift != 0) return std::nullopt;
  if (act.kind == ActivationKind::kNone) return bias ? MatmulEpilogue::kBias : MatmulEpilogue::kNone;
  if (act.kind == ActivationKind::kRelu) return bias ? MatmulEpilogue::kReluBias : MatmulEpilogue::kRelu;
  if (act.kind == ActivationKind::kGeluTanh && type != DType::kF32) return bias ? MatmulEpilogue::kGeluBias : MatmulEpilogue::kGelu;
  return std::nullopt;
}

Finish FinishOf(const MatmulSpec& s, const TensorDesc& out, int bias) {
  Finish finish;
  finish.params.out_type = out.dtype;
  finish.params.rows = s.m;
  finish.params.cols = s.n;
  finish.params.activation = s.activation;
  finish.bias = bias;
  return finish;
}

// `inside`: by an epilogue of the product where there is one.
void PlanFc(const SpecView& view, const MatmulSpec& s, bool inside, Prepared* p, DeviceProductOptions* options) {
  const TensorDesc& out = view.OutDesc("Out");
  const int bias = view.In("Bias");
  const bool fits = bias < 0 || view.InDesc("Bias").dtype == out.dtype;
  const std::optional<MatmulEpilogue> epilogue = EpilogueOf(s.activation, bias >= 0, out.dtype);
  if (epilogue.has_value() && fits && inside) {
    options->epilogue = *epilogue;
    p->slots.bias = bias;
    return;
  }
  p->finish = FinishOf(s, out, bias);
  if (bias >= 0) p->finish->params.bias_type = view.InDesc("Bias").dtype;
}

void PlanAddmm(const SpecView& view, const MatmulSpec& s, bool inside, Prepared* p, DeviceProductOptions* options) {
  const ProductAddend add = ReadAddend(view);
  const int input = view.In("Input");
  if (add.factor == 0) return;
  const bool row = add.row_stride == 0 && add.col_stride == 1,
             whole = (add.row_stride == s.n || s.m == 1) && (add.col_stride == 1 || s.n == 1);
  const bool fits = view.InDesc("Input").dtype == options->result && inside;
  if (fits && row && add.factor == 1) {
    options->epilogue = MatmulEpilogue::kBias;
    p->slots.bias = input;
  } else if (fits && whole) {
    options->beta = add.factor;
    p->slots.c = input;
  } else {
    p->finish = FinishOf(s, view.OutDesc("Out"), -1);
    p->finish->addend = input;
    p->finish->params.addend_type = view.InDesc("Input").dtype;
    p->finish->params.factor = add.factor;
    p->finish->params.row_stride = add.row_stride;
    p->finish->params.col_stride = add.col_stride;
  }
}

absl::StatusOr<Prepared> Prepare(const SpecView& view, const MatmulSpec& s, Prepared p, bool inside) {
  const std::string& type = view.op().type();
  const DType dtype = view.spec().outputs[0].dtype;
  DeviceProductOptions options{.factors = dtype, .result = dtype};
  if (type == "fc") PlanFc(view, s, inside, &p, &options);
  if (type == "addmm") PlanAddmm(view, s, inside, &p, &options);
  if (p.finish.has_value()) {
    if (s.k == 0) return p;
    options.result = DType::kF32;
    if (dtype != DType::kF32) p.product_bytes = AlignWorkspace(view.spec().outputs[0].NumElements() * static_cast<int64_t>(sizeof(float)));
  }
  AMPC_ASSIGN_OR_RETURN(p.product, DeviceProduct::Make(*view.spec().device, s, options));
  return p;
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const std::string& type = view.op().type();
  const DType dtype = spec.outputs[0].dtype;
  Prepared slots;
  if (type == "addmm") slots.slots = {view.In("X"), view.In("Y")};
  const TensorDesc &a = spec.inputs[slots.slots.a], &b = spec.inputs[slots.slots.b];
  if (!IsFloat(dtype) || a.dtype != dtype || b.dtype != dtype) return view.Unsupported("the device multiplies floats of one type");
  AMPC_ASSIGN_OR_RETURN(const MatmulSpec s, type == "fc" ? ReadFc(view) : ReadProduct(view, type, a.dims, b.dims, slots.slots.a));
  if (spec.outputs[0].NumElements() == 0)
    return MakeDeviceKernel({.implementation = "cuda:nothing"}, [](const KernelArgs&, void*) { return 0; });
  absl::StatusOr<Prepared> p = Prepare(view, s, slots, s.k > 0);
  if (ExitCodeOf(p.status()) == ExitCode::kUnsupported) p = Prepare(view, s, slots, false);  // the library lacks the epilogue
  if (!p.ok()) return Annotate(p.status(), Describe(view.op()));
  KernelTraits traits{.implementation = "cuda:matmul_finish", .rounds_results = true};
  if (p->product.has_value()) {
    traits.implementation = p->product->implementation();
    traits.workspace_bytes = p->product_bytes + p->product->workspace_bytes();
  }
  return MakeLambdaKernel(std::move(traits), [p = *std::move(p)](const KernelArgs& args) { return p.Run(args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDot(const KernelSpec& spec) {
  const TensorDesc& x = spec.inputs[0];
  const int64_t size = x.dims.back(), rows = spec.outputs[0].NumElements();
  return MakeDeviceKernel({.implementation = "cuda:dot"}, [type = x.dtype, rows, size](const KernelArgs& args, void* stream) {
    return LaunchDot(stream, type, args.inputs[0], args.inputs[1], args.outputs[0], rows, size);
  });
}

}  // namespace

absl::Status RegisterMatmul(KernelRegistry* registry) {
  for (const char* op : {"bmm", "matmul", "matmul_v2", "mul", "mv"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  for (const char* op : {"addmm", "fc"}) AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"dot", &MakeDot, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64}});
}

}  // namespace ampc::cuda
