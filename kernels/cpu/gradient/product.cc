// Gradients of matmul, matmul_v2, mul, bmm, mv, dot and addmm: the product of the result's gradient and the other factor, transposed as
// oneDNN reads it in place. Stacks over which a factor repeats are summed: by the product itself where they are rows of one matrix.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/move/repeat_sum.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using onednn::MatmulSpec;

// The gradient of one factor.
struct Term {
  int a = 0, b = 0, out = 0;  // flat
  std::shared_ptr<const onednn::Matmul> matmul;
  RepeatSum sum;
  int64_t product = -1;  // offset of what is summed; -1: nothing is

  absl::Status Run(const KernelArgs& args, char* scratch) const {
    const auto in = [&args](int i) { return static_cast<const float*>(args.inputs[i]); };
    float* const out_at = static_cast<float*>(args.outputs[out]);
    float* const to = product < 0 ? out_at : reinterpret_cast<float*>(static_cast<char*>(args.workspace) + product);
    AMPC_RETURN_IF_ERROR(matmul->Run({in(a), in(b), nullptr, to, scratch}));
    if (product >= 0) sum.Run(to, out_at, args.threads);
    return absl::OkStatus();
  }
};

// `own` are the leading dims of the factor.
absl::StatusOr<Term> MakeTerm(const MatmulSpec& product, std::vector<int64_t> own, int a, int b, int out, int64_t* workspace) {
  Term term{a, b, out, nullptr, {}, -1};
  AMPC_ASSIGN_OR_RETURN(term.matmul, onednn::MakeMatmul(product, nullptr, nullptr));
  std::vector<int64_t> dims = BatchOf(product);
  if (dims == own) return term;
  std::vector<bool> summed;
  for (size_t i = 0; i < dims.size(); ++i) summed.push_back(own[i] == 1);
  dims.push_back(product.m * product.n);
  summed.push_back(false);
  term.sum = RepeatSum(dims, summed);
  term.product = *workspace;
  *workspace += Aligned(onednn::Product(dims) * static_cast<int64_t>(sizeof(float)));
  return term;
}

// beta times the rows and columns of the gradient that Input repeats over.
struct Addend {
  int out = -1;
  float beta = 1;
  RepeatSum sum;
  int64_t elements = 0;

  void Run(const KernelArgs& args, int gradient) const {
    if (out < 0) return;
    float* to = static_cast<float*>(args.outputs[out]);
    sum.Run(static_cast<const float*>(args.inputs[gradient]), to, args.threads);
    for (int64_t i = 0; beta != 1 && i < elements; ++i) to[i] *= beta;
  }
};

Addend MakeAddend(const SpecView& view) {
  Addend addend{view.Out("Input@GRAD"), static_cast<float>(view.op().GetFloat("Beta", 1)), {}, 0};
  if (addend.out < 0) return addend;
  const Dims &in = view.OutDesc("Input@GRAD").dims, &out = view.InDesc("Out@GRAD").dims;
  const int64_t rows = in.size() > 1 ? in[0] : 1, cols = in.back();
  addend.sum = RepeatSum(out, {rows == 1, cols == 1});
  addend.elements = rows * cols;
  return addend;
}

std::unique_ptr<Kernel> MakeZeros(const KernelSpec& spec) {
  std::vector<int64_t> bytes;
  for (const TensorDesc& out : spec.outputs) bytes.push_back(out.StorageBytes());
  return MakeLambdaKernel({}, [bytes](const KernelArgs& args) {
    for (size_t i = 0; i < bytes.size(); ++i) std::fill_n(static_cast<char*>(args.outputs[i]), bytes[i], 0);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const absl::string_view type = absl::StripSuffix(view.op().type(), "_grad");
  const absl::string_view second = type == "mv" ? "Vec" : "Y";
  const int x = view.In("X"), y = view.In(second), gradient = view.In("Out@GRAD");
  const int dx = view.Out("X@GRAD"), dy = view.Out(type == "mv" ? "Vec@GRAD" : "Y@GRAD");
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.inputs[x].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(MatmulSpec s, ReadProduct(view, type, spec.inputs[x].dims, spec.inputs[y].dims, x));
  if (spec.inputs[x].NumElements() == 0 || spec.inputs[y].NumElements() == 0) {
    if (view.Out("Input@GRAD") >= 0) return view.Unsupported("a sum of no products has no cpu kernel");
    return MakeZeros(spec);
  }
  KernelTraits traits;
  std::vector<Term> terms;
  const auto add = [&](const MatmulSpec& product, const std::vector<int64_t>& own, int a, int b, int out) -> absl::Status {
    absl::StatusOr<Term> term = MakeTerm(product, own, a, b, out, &traits.workspace_bytes);
    if (!term.ok()) return Annotate(term.status(), Describe(view.op()));
    traits.implementation = term->matmul->implementation();
    terms.push_back(*std::move(term));
    return absl::OkStatus();
  };
  JoinRows(s);
  if (dx >= 0) AMPC_RETURN_IF_ERROR(add(GradientOfA(s), s.a_batch, s.trans_a ? y : gradient, s.trans_a ? gradient : y, dx));
  if (dy >= 0) AMPC_RETURN_IF_ERROR(add(GradientOfB(s), s.b_batch, s.trans_b ? gradient : x, s.trans_b ? x : gradient, dy));
  const Addend addend = type == "addmm" ? MakeAddend(view) : Addend();
  const int64_t scratch = traits.workspace_bytes;
  int64_t largest = 0;
  for (const Term& term : terms) largest = std::max(largest, term.matmul->workspace_bytes());
  traits.workspace_bytes += largest;
  return MakeLambdaKernel(std::move(traits), [terms = std::move(terms), addend, gradient, scratch](const KernelArgs& args) -> absl::Status {
    for (const Term& term : terms) AMPC_RETURN_IF_ERROR(term.Run(args, static_cast<char*>(args.workspace) + scratch));
    addend.Run(args, gradient);
    return absl::OkStatus();
  });
}

// A row's number times the other row.
template <typename T>
void ScaleRows(const void* factors, const void* rows, void* out, int64_t n, int64_t size, int threads) {
  ParallelFor(threads, n, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, size)), [&](int64_t first, int64_t last) {
    for (int64_t i = first * size; i < last * size; ++i) {
      static_cast<T*>(out)[i] = static_cast<const T*>(factors)[i / size] * static_cast<const T*>(rows)[i];
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDot(const KernelSpec& spec) {
  const SpecView view(spec);
  const TensorDesc& x = view.InDesc("X");
  AMPC_RETURN_IF_ERROR(view.CheckType(x.dtype, {DType::kF32, DType::kF64}));
  const int64_t size = x.dims.back(), n = size == 0 ? 0 : x.NumElements() / size;
  const auto scale = x.dtype == DType::kF64 ? &ScaleRows<double> : &ScaleRows<float>;
  return MakeLambdaKernel({}, [=, in_x = view.In("X"), in_y = view.In("Y"), g = view.In("Out@GRAD"), dx = view.Out("X@GRAD"),
                               dy = view.Out("Y@GRAD")](const KernelArgs& args) {
    if (dx >= 0) scale(args.inputs[g], args.inputs[in_y], args.outputs[dx], n, size, args.threads);
    if (dy >= 0) scale(args.inputs[g], args.inputs[in_x], args.outputs[dy], n, size, args.threads);
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status RegisterProductGradient(KernelRegistry* registry) {
  for (const char* op : {"addmm_grad", "bmm_grad", "matmul_grad", "matmul_v2_grad", "mul_grad", "mv_grad"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  }
  return registry->Add({"dot_grad", &MakeDot, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc
