// einsum and its gradients: operands are brought to stacks of matrices by one strided copy each (none where they lie so already),
// multiplied on oneDNN, and the product to the order of the result. More than two operands are taken pair by pair; f64 and integers have
// plain loops.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/size.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/einsum_loops.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"
#include "kernels/spec/product/einsum_path.h"
#include "kernels/spec/product/einsum_spec.h"

namespace ampc {
namespace {

// An operand brought to the order `rows`, with the labels that only it has and the result lacks summed away.
struct Packed {
  int input = 0;
  bool in_place = false;  // it lies so already
  StridedCopy copy;
  int64_t rows = 1, sum = 1;         // `sum` neighbours are added per element; 1: no sum
  int64_t copied = -1, summed = -1;  // offsets in the workspace; -1: none
};

Packed Pack(int input, const Labelled& t, Labels order, const Labels& sums, int64_t* workspace) {
  Packed p;
  p.input = input;
  p.rows = t.Product(order);
  p.sum = t.Product(sums);
  order.insert(order.end(), sums.begin(), sums.end());
  const Labelled dense = Dense(order, t.sizes);
  p.copy = StridedCopy(t.Sizes(order), t.Strides(order), dense.Strides(order), sizeof(float));
  p.in_place = t.Strides(order) == dense.Strides(order);
  const auto take = [workspace](int64_t elements) {
    const int64_t at = *workspace;
    *workspace += Aligned(elements * static_cast<int64_t>(sizeof(float)));
    return at;
  };
  if (!p.in_place) p.copied = take(p.rows * p.sum);
  if (!sums.empty()) p.summed = take(p.rows);
  return p;
}

// Adds the last dimension up.
void SumRows(const float* from, int64_t rows, int64_t size, int threads, float* to) {
  ParallelFor(threads, rows, std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, size)), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) to[r] = static_cast<float>(simd::SumRow(from + r * size, size));
  });
}

// The operand as packed; the last step writes to `out` where that is given.
const float* RunPack(const Packed& p, const KernelArgs& args, float* out) {
  char* const ws = static_cast<char*>(args.workspace);
  const float* at = static_cast<const float*>(args.inputs[p.input]);
  if (!p.in_place) {
    float* to = out != nullptr && p.summed < 0 ? out : reinterpret_cast<float*>(ws + p.copied);
    p.copy.Run(at, to, args.threads);
    at = to;
  }
  if (p.summed >= 0) {
    float* to = out != nullptr ? out : reinterpret_cast<float*>(ws + p.summed);
    SumRows(at, p.rows, p.sum, args.threads, to);
    at = to;
  }
  return at;
}

// Copies the elements that are the result in the order `from`.
StridedCopy ToResult(const Equation& e, const Labels& from) {
  const Labelled source = Dense(from, e.sizes), target = Dense(e.result, e.sizes);
  return StridedCopy(target.Sizes(e.result), source.Strides(e.result), target.Strides(e.result), sizeof(float));
}

// The last step of a gradient: elements along labels that were summed away repeat; off a diagonal there is 0.
struct Spread {
  StridedCopy copy;
  int64_t zeros = 0;  // bytes of the result where not every element is written
  void Run(const float* from, void* to, int threads) const {
    if (zeros > 0) std::memset(to, 0, static_cast<size_t>(zeros));
    copy.Run(from, to, threads);
  }
};

// From dense elements in the order `from` to the memory of `t`, which has `elements`.
Spread SpreadTo(const Labelled& t, const Labels& from, int64_t elements) {
  const Labelled source = Dense(from, t.sizes);
  std::vector<int64_t> strides;
  for (int label : t.labels) strides.push_back(Has(from, label) ? source.strides.at(label) : 0);
  const int64_t written = t.Product(t.labels);
  return {StridedCopy(t.Sizes(t.labels), strides, t.Strides(t.labels), sizeof(float)),
          written == elements ? 0 : elements * static_cast<int64_t>(sizeof(float))};
}

std::unique_ptr<Kernel> MakeUnary(const Equation& e) {
  Labels sums;
  for (int label : e.operands[0].labels) {
    if (!Has(e.result, label)) sums.push_back(label);
  }
  KernelTraits traits;
  const Packed p = Pack(0, e.operands[0], e.result, sums, &traits.workspace_bytes);
  traits.implementation = sums.empty() ? "ampc:copy" : "ampc:simd";
  traits.rounds_results = sums.empty();
  return MakeLambdaKernel(traits, [p](const KernelArgs& args) {
    float* out = static_cast<float*>(args.outputs[0]);
    const float* at = RunPack(p, args, out);
    if (at != out) std::copy(at, at + p.rows, out);
    return absl::OkStatus();
  });
}

class ProductKernel final : public Kernel {
 public:
  // Operands 0 and 1 of `e` lie in the flat operands `inputs`, the result in the flat `output`.
  static absl::StatusOr<std::unique_ptr<ProductKernel>> Make(const SpecView& view, const Equation& e, std::array<int, 2> inputs,
                                                             int output) {
    const Roles roles = RolesOf(e);
    const auto size = [&e](const Labels& labels) { return SizeOf(labels, e.sizes); };
    onednn::MatmulSpec s;
    s.a_batch = s.b_batch = {size(roles.batch)};
    s.m = size(roles.rows);
    s.n = size(roles.cols);
    s.k = size(roles.inner);
    s.native_bf16 = view.spec().inputs[inputs[0]].dtype == DType::kBF16;
    s.threads = view.spec().threads;
    auto kernel = std::make_unique<ProductKernel>();
    kernel->output_ = output;
    kernel->a_ = Pack(inputs[0], e.operands[0], Joined(roles.batch, roles.rows, roles.inner), roles.sum_a, &kernel->workspace_);
    // As it lies where that is one of the two orders that a product reads.
    s.trans_b = Pack(inputs[1], e.operands[1], Joined(roles.batch, roles.cols, roles.inner), roles.sum_b, &kernel->ignored_).in_place;
    kernel->b_ = Pack(inputs[1], e.operands[1],
                      s.trans_b ? Joined(roles.batch, roles.cols, roles.inner) : Joined(roles.batch, roles.inner, roles.cols), roles.sum_b,
                      &kernel->workspace_);
    AMPC_ASSIGN_OR_RETURN(kernel->matmul_, onednn::MakeMatmul(s, nullptr, nullptr));
    const Labels order = Joined(roles.batch, roles.rows, roles.cols);
    if (order != e.result) {
      kernel->to_result_ = ToResult(e, order);
      kernel->product_ = kernel->workspace_;
      kernel->workspace_ += Aligned(size(order) * static_cast<int64_t>(sizeof(float)));
    }
    kernel->matmul_at_ = kernel->workspace_;
    kernel->workspace_ += kernel->matmul_->workspace_bytes();
    return kernel;
  }

  int64_t workspace_bytes() const override { return workspace_; }
  std::string implementation() const override { return matmul_->implementation(); }

  absl::Status Run(const KernelArgs& args) const override { return RunTo(args, static_cast<float*>(args.outputs[output_])); }

  absl::Status RunTo(const KernelArgs& args, float* out) const {
    char* const ws = static_cast<char*>(args.workspace);
    float* const product = product_ < 0 ? out : reinterpret_cast<float*>(ws + product_);
    const float *a = RunPack(a_, args, nullptr), *b = RunPack(b_, args, nullptr);
    AMPC_RETURN_IF_ERROR(matmul_->Run({a, b, nullptr, product, ws + matmul_at_}));
    if (product_ >= 0) to_result_.Run(product, out, args.threads);
    return absl::OkStatus();
  }

 private:
  Packed a_, b_;
  std::unique_ptr<onednn::Matmul> matmul_;
  StridedCopy to_result_;
  int64_t product_ = -1, matmul_at_ = 0, workspace_ = 0, ignored_ = 0;
  int output_ = 0;
};

// The gradient of operand `i`: the product of the result's gradient and the other operand over the labels that either has, then spread.
class FactorGradient {
 public:
  static absl::StatusOr<FactorGradient> Make(const SpecView& view, const Equation& e, int i, int out) {
    const Labelled& own = e.operands[i];
    const int other = 1 - i, gradient = view.In("Out@GRAD");
    Equation g{{Dense(e.result, e.sizes), e.operands[other]}, {}, e.sizes};
    for (int label : own.labels) {
      if (Has(e.result, label) || Has(e.operands[other].labels, label)) g.result.push_back(label);
    }
    FactorGradient factor;
    factor.out_ = out;
    AMPC_ASSIGN_OR_RETURN(factor.product_, ProductKernel::Make(view, g, {gradient, view.In("Operands", other)}, out));
    factor.at_ = Aligned(factor.product_->workspace_bytes());
    factor.spread_ = SpreadTo(own, g.result, view.spec().outputs[out].NumElements());
    factor.workspace_ = factor.at_ + own.Product(g.result) * static_cast<int64_t>(sizeof(float));
    return factor;
  }
  int64_t workspace_bytes() const { return workspace_; }
  absl::Status Run(const KernelArgs& args) const {
    float* const product = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + at_);
    AMPC_RETURN_IF_ERROR(product_->RunTo(args, product));
    spread_.Run(product, args.outputs[out_], args.threads);
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const ProductKernel> product_;
  Spread spread_;
  int out_ = 0;
  int64_t at_ = 0, workspace_ = 0;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeFactorGradients(const SpecView& view, const Equation& e) {
  std::vector<FactorGradient> factors;
  KernelTraits traits;
  for (int i = 0; i < 2; ++i) {
    if (view.Out("Operands@GRAD", i) < 0) continue;
    absl::StatusOr<FactorGradient> factor = FactorGradient::Make(view, e, i, view.Out("Operands@GRAD", i));
    if (!factor.ok()) return Annotate(factor.status(), Describe(view.op()));
    traits.workspace_bytes = std::max(traits.workspace_bytes, factor->workspace_bytes());
    factors.push_back(*std::move(factor));
  }
  traits.implementation = "onednn";
  return MakeLambdaKernel(std::move(traits), [factors = std::move(factors)](const KernelArgs& args) -> absl::Status {
    for (const FactorGradient& factor : factors) AMPC_RETURN_IF_ERROR(factor.Run(args));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  const int n = view.NumIn("Operands"), gradient = view.In("Out@GRAD");
  if (n > 2) return view.Unsupported(absl::StrCat("the cpu kernel takes 1 or 2 operands, not ", n));
  for (int i = 0; i < n; ++i) {
    if (view.InDesc("Operands", i).NumElements() == 0) return view.Unsupported("an operand without elements has no cpu kernel");
  }
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  if (n == 2) return MakeFactorGradients(view, e);
  const Spread spread = SpreadTo(e.operands[0], e.result, spec.outputs[0].NumElements());
  return MakeLambdaKernel({}, [spread, gradient](const KernelArgs& args) {
    spread.Run(static_cast<const float*>(args.inputs[gradient]), args.outputs[0], args.threads);
    return absl::OkStatus();
  });
}

// Of one or two operands, the first of the kernel's.
absl::StatusOr<std::unique_ptr<Kernel>> MakeOfTwo(const SpecView& view, const Equation& e) {
  if (StorageType(view.spec().outputs[0].dtype) != DType::kF32) return MakeEinsumLoops(view, e);
  if (e.operands.size() == 1) return MakeUnary(e);
  absl::StatusOr<std::unique_ptr<ProductKernel>> kernel = ProductKernel::Make(view, e, {0, 1}, 0);
  if (!kernel.ok()) return Annotate(kernel.status(), Describe(view.op()));
  return kernel;
}

// The steps of a path; results between them lie in the workspace.
class PathKernel final : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const SpecView& view, const Equation& e) {
    auto path = std::make_unique<PathKernel>();
    path->operands_ = e.operands.size();
    const int64_t size = static_cast<int64_t>(SizeOf(StorageType(view.spec().outputs[0].dtype)));
    int64_t scratch = 0;
    for (const EinsumStep& step : EinsumPath(e)) {
      const Labelled result = Dense(step.equation.result, step.equation.sizes);
      if (SpannedBytes(DType::kF64, result.Sizes(result.labels)) > MostBytes()) return MakeEinsumLoops(view, e);
      AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, MakeOfTwo(view, step.equation));
      scratch = std::max(scratch, Aligned(kernel->workspace_bytes()));
      path->steps_.push_back({std::move(kernel), step.inputs, path->workspace_});
      path->workspace_ += Aligned(SizeOf(step.equation.result, step.equation.sizes) * size);
    }
    path->scratch_ = path->workspace_;
    path->workspace_ += scratch;
    return path;
  }

  int64_t workspace_bytes() const override { return workspace_; }
  std::string implementation() const override { return steps_.back().kernel->implementation(); }

  absl::Status Run(const KernelArgs& args) const override {
    char* const ws = static_cast<char*>(args.workspace);
    for (const Step& step : steps_) {
      const auto at = [&](int i) -> const void* {
        if (i < 0) return nullptr;
        const size_t k = static_cast<size_t>(i);
        return k < operands_ ? args.inputs[k] : ws + steps_[k - operands_].result;
      };
      const void* const in[] = {at(step.inputs[0]), at(step.inputs[1])};
      void* const out[] = {&step == &steps_.back() ? args.outputs[0] : ws + step.result};
      AMPC_RETURN_IF_ERROR(step.kernel->Run({in, out, ws + scratch_, args.threads}));
    }
    return absl::OkStatus();
  }

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::array<int, 2> inputs;
    int64_t result;  // offset in the workspace
  };
  std::vector<Step> steps_;
  size_t operands_ = 0;
  int64_t workspace_ = 0, scratch_ = 0;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int64_t total = spec.outputs[0].NumElements();
  if (total == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  for (const TensorDesc& operand : spec.inputs) {
    if (operand.NumElements() > 0) continue;
    return MakeLambdaKernel({}, [bytes = spec.outputs[0].StorageBytes()](const KernelArgs& args) {  // sums of nothing
      std::memset(args.outputs[0], 0, static_cast<size_t>(bytes));
      return absl::OkStatus();
    });
  }
  return e.operands.size() > 2 ? PathKernel::Make(view, e) : MakeOfTwo(view, e);
}

}  // namespace

absl::Status RegisterEinsum(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"einsum_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}}));
  const std::vector<DType> types = DeclaredTypes<Numbers>();
  return registry->Add({"einsum", &Make, types});
}

}  // namespace ampc
