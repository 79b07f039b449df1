// einsum and its gradients: operands are brought to stacks of matrices by one strided copy each (none where they lie so already),
// multiplied on oneDNN, and the product to the order of the result. More than two operands, f64 and integers have plain loops.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/cpu/simd/reduce.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"
#include "kernels/spec/product/einsum_spec.h"

namespace ampc {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

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

// Any equation, one element of the result after the other: for types and numbers of operands that the product above does not take.
struct Loops {
  // Of the labels of the result and of the others: sizes, and strides by operand, 0 where it lacks the label.
  std::vector<int64_t> kept, summed;
  std::vector<std::vector<int64_t>> kept_strides, summed_strides;
};

Loops LoopsOf(const Equation& e) {
  Labels summed;
  for (const auto& [label, size] : e.sizes) {
    if (!Has(e.result, label)) summed.push_back(label);
  }
  Loops loops;
  for (int label : e.result) loops.kept.push_back(e.sizes.at(label));
  for (int label : summed) loops.summed.push_back(e.sizes.at(label));
  const auto strides = [](const Labelled& t, const Labels& labels) {
    std::vector<int64_t> out;
    for (int label : labels) out.push_back(Has(t.labels, label) ? t.strides.at(label) : 0);
    return out;
  };
  for (const Labelled& t : e.operands) {
    loops.kept_strides.push_back(strides(t, e.result));
    loops.summed_strides.push_back(strides(t, summed));
  }
  return loops;
}

// Where element `index`, counted over `sizes`, lies.
int64_t OffsetAt(int64_t index, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) offset += index % sizes[d] * strides[d];
  return offset;
}

// Floats are summed in double; integers wrap.
template <typename T>
void RunLoops(const Loops& l, const KernelArgs& args, int64_t total) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  int64_t products = 1;
  for (int64_t size : l.summed) products *= size;
  const size_t operands = l.kept_strides.size();
  ParallelFor(args.threads, total, std::max<int64_t>(1, (1 << 11) / std::max<int64_t>(1, products)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      Sum sum = 0;
      for (int64_t k = 0; k < products; ++k) {
        Sum product = 1;
        for (size_t o = 0; o < operands; ++o) {
          const int64_t at = OffsetAt(i, l.kept, l.kept_strides[o]) + OffsetAt(k, l.summed, l.summed_strides[o]);
          product *= static_cast<Sum>(static_cast<const T*>(args.inputs[o])[at]);
        }
        sum += product;
      }
      static_cast<T*>(args.outputs[0])[i] = static_cast<T>(sum);
    }
  });
}

using LoopsFn = void (*)(const Loops& l, const KernelArgs& args, int64_t total);

LoopsFn FindLoops(DType storage) {
  switch (storage) {
    case DType::kF32:
      return &RunLoops<float>;
    case DType::kF64:
      return &RunLoops<double>;
    case DType::kU8:
      return &RunLoops<uint8_t>;
    case DType::kI8:
      return &RunLoops<int8_t>;
    case DType::kI16:
      return &RunLoops<int16_t>;
    case DType::kI32:
      return &RunLoops<int32_t>;
    case DType::kI64:
      return &RunLoops<int64_t>;
    default:
      return nullptr;
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeLoops(const SpecView& view, int64_t total) {
  const DType dtype = view.spec().outputs[0].dtype;
  const LoopsFn run = FindLoops(StorageType(dtype));
  if (run == nullptr) return view.Unsupported(absl::StrCat("there is no cpu kernel for ", std::string(Name(dtype))));
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  return MakeLambdaKernel({}, [l = LoopsOf(e), run, total](const KernelArgs& args) {
    run(l, args, total);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const int n = view.NumIn("Operands");
  const int64_t total = spec.outputs[0].NumElements();
  if (total == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (n > 2 || StorageType(spec.outputs[0].dtype) != DType::kF32) return MakeLoops(view, total);
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  for (int i = 0; i < n; ++i) {
    if (spec.inputs[view.In("Operands", i)].NumElements() > 0) continue;
    return MakeLambdaKernel({}, [total](const KernelArgs& args) {  // sums of nothing
      std::fill_n(static_cast<float*>(args.outputs[0]), total, 0.0f);
      return absl::OkStatus();
    });
  }
  if (n == 1) return MakeUnary(e);
  absl::StatusOr<std::unique_ptr<ProductKernel>> kernel = ProductKernel::Make(view, e, {0, 1}, 0);
  if (!kernel.ok()) return Annotate(kernel.status(), Describe(view.op()));
  return kernel;
}

}  // namespace

absl::Status RegisterEinsum(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"einsum_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16}}));
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU8,
                                    DType::kI8,  DType::kI16, DType::kI32,  DType::kI64};
  return registry->Add({"einsum", &Make, types});
}

}  // namespace ampc
