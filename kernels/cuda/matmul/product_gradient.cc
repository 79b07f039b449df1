// Gradients of matmul, matmul_v2, mul, bmm, mv, dot and addmm: the product of the result's gradient and the other factor. Matrices over
// which a factor repeats are summed: by the product itself where they are rows of one matrix, else behind it, from f32.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/matmul/rows.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"

namespace ampc::cuda {
namespace {

using onednn::MatmulSpec;

// The gradient of one factor.
struct Term {
  int a = 0, b = 0, out = 0;  // flat
  DeviceProduct product;
  StridedSumParams sum;
  int64_t product_bytes = 0;  // in the workspace, to be summed; 0: the product is the gradient

  int64_t workspace_bytes() const { return product_bytes + product.workspace_bytes(); }
  absl::Status Run(const KernelArgs& args) const {
    char* const ws = static_cast<char*>(args.workspace);
    void* const to = product_bytes > 0 ? ws : args.outputs[out];
    AMPC_RETURN_IF_ERROR(product.Run(*args.stream, {args.inputs[a], args.inputs[b], nullptr, to, nullptr}, ws + product_bytes));
    return product_bytes > 0 ? RunStridedSum(*args.stream, sum, to, args.outputs[out]) : absl::OkStatus();
  }
};

// `own` are the leading dims of the factor.
absl::StatusOr<Term> MakeTerm(const KernelSpec& spec, const MatmulSpec& product, const std::vector<int64_t>& own, int a, int b, int out) {
  Term term{a, b, out, {}, {}, 0};
  const DType type = spec.inputs[a].dtype, wide = type == DType::kF64 ? type : DType::kF32;
  std::vector<int64_t> dims = BatchOf(product);
  const bool sums = dims != own;
  AMPC_ASSIGN_OR_RETURN(term.product, DeviceProduct::Make(*spec.device, product, {.factors = type, .result = sums ? wide : type}));
  if (!sums) return term;
  std::vector<bool> summed;
  for (size_t i = 0; i < dims.size(); ++i) summed.push_back(own[i] == 1);
  dims.push_back(product.m * product.n);
  summed.push_back(false);
  AMPC_ASSIGN_OR_RETURN(term.sum, PlanDenseSum(dims, summed, wide, type));
  term.product_bytes = AlignWorkspace(term.sum.elements * term.sum.terms * static_cast<int64_t>(SizeOf(wide)));
  return term;
}

// beta times the rows and columns of the gradient that Input repeats over.
absl::StatusOr<StridedSumParams> PlanAddend(const SpecView& view) {
  const TensorDesc &in = view.OutDesc("Input@GRAD"), &out = view.InDesc("Out@GRAD");
  const int64_t rows = in.dims.size() > 1 ? in.dims[0] : 1, cols = in.dims.back();
  return PlanDenseSum(out.dims, {rows == 1, cols == 1}, out.dtype, in.dtype, static_cast<float>(view.op().GetFloat("Beta", 1)));
}

struct Gradients {
  std::vector<Term> terms;
  std::vector<std::pair<int, int64_t>> zeros;  // flat results that no product gives, and their bytes
  int gradient = 0, addend_out = -1;
  StridedSumParams addend;

  absl::Status Run(const KernelArgs& args) const {
    for (const Term& term : terms) AMPC_RETURN_IF_ERROR(term.Run(args));
    for (const auto& [out, bytes] : zeros) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(args.outputs[out], 0, bytes));
    return addend_out < 0 ? absl::OkStatus() : RunStridedSum(*args.stream, addend, args.inputs[gradient], args.outputs[addend_out]);
  }
};

absl::Status AddTerms(const SpecView& view, MatmulSpec s, int x, int y, int dx, int dy, Gradients* g) {
  const KernelSpec& spec = view.spec();
  const auto add = [&](const MatmulSpec& product, const std::vector<int64_t>& own, int a, int b, int out) -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(Term term, MakeTerm(spec, product, own, a, b, out));
    g->terms.push_back(std::move(term));
    return absl::OkStatus();
  };
  JoinRows(s);
  if (dx >= 0) AMPC_RETURN_IF_ERROR(add(GradientOfA(s), s.a_batch, s.trans_a ? y : g->gradient, s.trans_a ? g->gradient : y, dx));
  if (dy >= 0) AMPC_RETURN_IF_ERROR(add(GradientOfB(s), s.b_batch, s.trans_b ? g->gradient : x, s.trans_b ? x : g->gradient, dy));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const absl::string_view type = absl::StripSuffix(view.op().type(), "_grad");
  const absl::string_view second = type == "mv" ? "Vec" : "Y";
  const int x = view.In("X"), y = view.In(second);
  const int dx = view.Out("X@GRAD"), dy = view.Out(type == "mv" ? "Vec@GRAD" : "Y@GRAD");
  const DType dtype = spec.inputs[x].dtype;
  Gradients g;
  g.gradient = view.In("Out@GRAD");
  if (!IsFloat(dtype) || spec.inputs[y].dtype != dtype || spec.inputs[g.gradient].dtype != dtype) {
    return view.Unsupported("the device multiplies floats of one type");
  }
  AMPC_ASSIGN_OR_RETURN(const MatmulSpec s, ReadProduct(view, type, spec.inputs[x].dims, spec.inputs[y].dims, x));
  if (spec.inputs[x].NumElements() == 0 || spec.inputs[y].NumElements() == 0) {
    for (int out : {dx, dy}) {
      if (out >= 0) g.zeros.push_back({out, spec.outputs[out].NumElements() * static_cast<int64_t>(SizeOf(dtype))});
    }
  } else if (absl::Status status = AddTerms(view, s, x, y, dx, dy, &g); !status.ok()) {
    return Annotate(status, Describe(view.op()));
  }
  g.addend_out = type == "addmm" ? view.Out("Input@GRAD") : -1;
  if (g.addend_out >= 0) {
    AMPC_ASSIGN_OR_RETURN(g.addend, PlanAddend(view));
  }
  KernelTraits traits{.implementation = "cuda:fill", .rounds_results = true};
  for (const Term& term : g.terms) {
    traits.implementation = term.product.implementation();
    traits.workspace_bytes = std::max(traits.workspace_bytes, term.workspace_bytes());
  }
  return MakeLambdaKernel(std::move(traits), [g = std::move(g)](const KernelArgs& args) { return g.Run(args); });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDot(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  const int64_t size = x.dims.back(), n = size == 0 ? 0 : x.NumElements() / size;
  return MakeDeviceKernel({.implementation = "cuda:scale_rows"},
                          [=, type = x.dtype, in_x = view.In("X"), in_y = view.In("Y"), g = view.In("Out@GRAD"), dx = view.Out("X@GRAD"),
                           dy = view.Out("Y@GRAD")](const KernelArgs& args, void* stream) {
                            int code = 0;
                            if (dx >= 0) code = LaunchScaleRows(stream, type, args.inputs[g], args.inputs[in_y], args.outputs[dx], n, size);
                            if (code != 0 || dy < 0) return code;
                            return LaunchScaleRows(stream, type, args.inputs[g], args.inputs[in_x], args.outputs[dy], n, size);
                          });
}

}  // namespace

absl::Status RegisterProductGradient(KernelRegistry* registry) {
  for (const char* op : {"bmm_grad", "matmul_grad", "matmul_v2_grad", "mul_grad", "mv_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  }
  AMPC_RETURN_IF_ERROR(registry->Add({"addmm_grad", &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  return registry->Add({"dot_grad", &MakeDot, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc::cuda
