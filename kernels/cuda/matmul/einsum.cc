// einsum and its gradients: a product of stacks of matrices. Operands are read where they lie when that is row-major in one of the two
// orders of a matrix, else brought there by one strided copy each, which also sums labels that only they have; the product is copied
// to the order of the result unless it is that or its transposition.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cuda/base/device_kernel.h"
#include "kernels/cuda/matmul/device_product.h"
#include "kernels/cuda/matmul/strided_sum_plan.h"
#include "kernels/spec/product/einsum_spec.h"

namespace ampc::cuda {
namespace {

int64_t SizeOfElement(DType type) { return static_cast<int64_t>(SizeOf(type)); }

// From `t` to dense elements in the order `order`; other labels of `t` are summed.
absl::StatusOr<StridedSumParams> Gather(const Labelled& t, const Labels& order, DType in, DType out) {
  const Labelled dense = Dense(order, t.sizes);
  std::vector<StridedDim> dims;
  for (int label : order) dims.push_back({t.sizes.at(label), t.strides.at(label), dense.strides.at(label), false});
  for (int label : t.labels) {
    if (!Has(order, label)) dims.push_back({t.sizes.at(label), t.strides.at(label), 0, true});
  }
  return PlanStridedSum(dims, in, out);
}

// From dense elements in the order `from` to the memory of `t`; along other labels of `t` they repeat.
absl::StatusOr<StridedSumParams> Scatter(const Labelled& t, const Labels& from, DType in, DType out) {
  const Labelled source = Dense(from, t.sizes);
  std::vector<StridedDim> dims;
  for (int label : t.labels)
    dims.push_back({t.sizes.at(label), Has(from, label) ? source.strides.at(label) : 0, t.strides.at(label), false});
  return PlanStridedSum(dims, in, out);
}

bool LiesAs(const Labelled& t, const Labels& order) {
  const Labelled dense = Dense(order, t.sizes);
  return std::all_of(order.begin(), order.end(), [&](int l) { return t.sizes.at(l) == 1 || t.strides.at(l) == dense.strides.at(l); });
}

// A factor of a product: [batch, outer, inner], or [batch, inner, outer] where it lies so.
struct Factor {
  int input = 0;
  bool in_place = false, inner_first = false;
  StridedSumParams copy;
  int64_t at = 0, bytes = 0;  // of the copy, in the workspace

  const void* Place(const KernelArgs& args) const { return in_place ? args.inputs[input] : static_cast<const char*>(args.workspace) + at; }
  absl::Status Run(const KernelArgs& args) const {
    if (in_place) return absl::OkStatus();
    return RunStridedSum(*args.stream, copy, args.inputs[input], static_cast<char*>(args.workspace) + at);
  }
};

// The factor in `type`, which is its own or, where it sums, f32. `natural`: [outer, inner] when copied.
absl::StatusOr<Factor> MakeFactor(int input, const Labelled& t, const Roles& r, const Labels& outer, bool sums, bool outer_first, DType own,
                                  DType type) {
  Factor f;
  f.input = input;
  const Labels plain = Joined(r.batch, outer, r.inner), turned = Joined(r.batch, r.inner, outer);
  f.in_place = own == type && !sums && (LiesAs(t, plain) || LiesAs(t, turned));
  f.inner_first = f.in_place ? !LiesAs(t, plain) : !outer_first;
  if (f.in_place) return f;
  AMPC_ASSIGN_OR_RETURN(f.copy, Gather(t, f.inner_first ? turned : plain, own, type));
  f.bytes = AlignWorkspace(f.copy.elements * SizeOfElement(type));
  return f;
}

// result[labels of e.result] = the product of two operands, dense.
class Product {
 public:
  // Operands 0 and 1 of `e` lie in the flat operands `inputs`.
  static absl::StatusOr<Product> Make(const SpecView& view, Equation e, std::array<int, 2> inputs) {
    Product p;
    Roles r = RolesOf(e);
    if (e.result == Joined(r.batch, r.cols, r.rows) && !r.rows.empty() && !r.cols.empty()) {  // the transposed product
      std::swap(e.operands[0], e.operands[1]);
      std::swap(inputs[0], inputs[1]);
      r = RolesOf(e);
    }
    const DType own = view.spec().inputs[inputs[0]].dtype;
    const bool sums = !r.sum_a.empty() || !r.sum_b.empty();
    const DType type = sums && own != DType::kF64 ? DType::kF32 : own;
    AMPC_ASSIGN_OR_RETURN(p.a_, MakeFactor(inputs[0], e.operands[0], r, r.rows, !r.sum_a.empty(), true, own, type));
    AMPC_ASSIGN_OR_RETURN(p.b_, MakeFactor(inputs[1], e.operands[1], r, r.cols, !r.sum_b.empty(), false, own, type));
    const auto size = [&e](const Labels& labels) { return SizeOf(labels, e.sizes); };
    onednn::MatmulSpec s;
    s.a_batch = s.b_batch = {size(r.batch)};
    s.m = size(r.rows);
    s.n = size(r.cols);
    s.k = size(r.inner);
    s.trans_a = p.a_.inner_first;
    s.trans_b = !p.b_.inner_first;
    const Labels order = Joined(r.batch, r.rows, r.cols);
    AMPC_ASSIGN_OR_RETURN(p.product_, DeviceProduct::Make(*view.spec().device, s, {.factors = type, .result = type}));
    p.b_.at = p.a_.bytes;
    p.product_at_ = p.b_.at + p.b_.bytes;
    p.copies_ = type != own || !LiesAs(Dense(e.result, e.sizes), order);
    if (p.copies_) {
      AMPC_ASSIGN_OR_RETURN(p.to_result_, Gather(Dense(order, e.sizes), e.result, type, own));
      p.scratch_at_ = AlignWorkspace(p.to_result_.elements * SizeOfElement(type));
    }
    p.scratch_at_ += p.product_at_;
    return p;
  }

  int64_t workspace_bytes() const { return scratch_at_ + product_.workspace_bytes(); }
  std::string implementation() const { return product_.implementation(); }
  absl::Status Run(const KernelArgs& args, void* out) const {
    char* const ws = static_cast<char*>(args.workspace);
    AMPC_RETURN_IF_ERROR(a_.Run(args));
    AMPC_RETURN_IF_ERROR(b_.Run(args));
    void* const to = copies_ ? ws + product_at_ : out;
    AMPC_RETURN_IF_ERROR(product_.Run(*args.stream, {a_.Place(args), b_.Place(args), nullptr, to, nullptr}, ws + scratch_at_));
    return copies_ ? RunStridedSum(*args.stream, to_result_, to, out) : absl::OkStatus();
  }

 private:
  Factor a_, b_;
  DeviceProduct product_;
  bool copies_ = false;
  StridedSumParams to_result_;
  int64_t product_at_ = 0, scratch_at_ = 0;
};

// The gradient of operand `i`: the product of the result's gradient and the other operand over the labels that either has, then spread.
struct OperandGradient {
  Product product;
  StridedSumParams spread;
  int out = 0;
  int64_t zero_bytes = 0;  // where not every element is written
  int64_t at = 0, bytes = 0;

  absl::Status Run(const KernelArgs& args) const {
    void* const to = static_cast<char*>(args.workspace) + at;
    AMPC_RETURN_IF_ERROR(product.Run(args, to));
    if (zero_bytes > 0) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(args.outputs[out], 0, zero_bytes));
    return RunStridedSum(*args.stream, spread, to, args.outputs[out]);
  }
};

int64_t ZeroBytes(const Labelled& t, const TensorDesc& out) {
  return t.Product(t.labels) == out.NumElements() ? 0 : out.NumElements() * SizeOfElement(out.dtype);
}

absl::StatusOr<OperandGradient> MakeOperandGradient(const SpecView& view, const Equation& e, int i) {
  const Labelled& own = e.operands[i];
  const int other = 1 - i;
  Equation g{{Dense(e.result, e.sizes), e.operands[other]}, {}, e.sizes};
  for (int label : own.labels) {
    if (Has(e.result, label) || Has(e.operands[other].labels, label)) g.result.push_back(label);
  }
  OperandGradient gradient;
  gradient.out = view.Out("Operands@GRAD", i);
  const TensorDesc& out = view.spec().outputs[gradient.out];
  AMPC_ASSIGN_OR_RETURN(gradient.product, Product::Make(view, g, {view.In("Out@GRAD"), view.In("Operands", other)}));
  AMPC_ASSIGN_OR_RETURN(gradient.spread, Scatter(own, g.result, out.dtype, out.dtype));
  gradient.zero_bytes = ZeroBytes(own, out);
  gradient.at = AlignWorkspace(gradient.product.workspace_bytes());
  gradient.bytes = gradient.at + own.Product(g.result) * SizeOfElement(out.dtype);
  return gradient;
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeProductGradient(const SpecView& view, const Equation& e) {
  std::vector<OperandGradient> gradients;
  KernelTraits traits{.rounds_results = true};
  for (int i = 0; i < 2; ++i) {
    if (view.Out("Operands@GRAD", i) < 0) continue;
    absl::StatusOr<OperandGradient> gradient = MakeOperandGradient(view, e, i);
    if (!gradient.ok()) return Annotate(gradient.status(), Describe(view.op()));
    traits.workspace_bytes = std::max(traits.workspace_bytes, gradient->bytes);
    traits.implementation = gradient->product.implementation();
    gradients.push_back(*std::move(gradient));
  }
  return MakeLambdaKernel(std::move(traits), [gradients = std::move(gradients)](const KernelArgs& args) -> absl::Status {
    for (const OperandGradient& gradient : gradients) AMPC_RETURN_IF_ERROR(gradient.Run(args));
    return absl::OkStatus();
  });
}

std::unique_ptr<Kernel> MakeZeros(const KernelSpec& spec) {
  std::vector<int64_t> bytes;
  for (const TensorDesc& out : spec.outputs) bytes.push_back(out.NumElements() * SizeOfElement(out.dtype));
  return MakeLambdaKernel({.implementation = "cuda:fill", .rounds_results = true}, [bytes](const KernelArgs& args) -> absl::Status {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] > 0) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(args.outputs[i], 0, bytes[i]));
    }
    return absl::OkStatus();
  });
}

absl::Status CheckOperands(const SpecView& view, bool* empty) {
  const int n = view.NumIn("Operands");
  if (n > 2) return view.Unsupported(absl::StrCat("the kernel takes 1 or 2 operands, not ", n));
  *empty = false;
  for (int i = 0; i < n; ++i) {
    const TensorDesc& operand = view.InDesc("Operands", i);
    if (!IsFloat(operand.dtype) || operand.dtype != view.InDesc("Operands").dtype)
      return view.Unsupported("the device multiplies floats of one type");
    *empty = *empty || operand.NumElements() == 0;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGradient(const KernelSpec& spec) {
  const SpecView view(spec);
  bool empty = false;
  AMPC_RETURN_IF_ERROR(CheckOperands(view, &empty));
  if (empty) return view.Unsupported("an operand without elements has no kernel");
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  if (view.NumIn("Operands") == 2) return MakeProductGradient(view, e);
  const TensorDesc& out = spec.outputs[0];
  AMPC_ASSIGN_OR_RETURN(const StridedSumParams spread, Scatter(e.operands[0], e.result, out.dtype, out.dtype));
  return MakeLambdaKernel(
      {.implementation = "cuda:strided_sum", .rounds_results = true},
      [spread, gradient = view.In("Out@GRAD"), zero = ZeroBytes(e.operands[0], out)](const KernelArgs& args) -> absl::Status {
        if (zero > 0) AMPC_RETURN_IF_ERROR(args.stream->FillBytes(args.outputs[0], 0, zero));
        return RunStridedSum(*args.stream, spread, args.inputs[gradient], args.outputs[0]);
      });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  bool empty = false;
  AMPC_RETURN_IF_ERROR(CheckOperands(view, &empty));
  if (empty || spec.outputs[0].NumElements() == 0) return MakeZeros(spec);  // sums of nothing
  AMPC_ASSIGN_OR_RETURN(const Equation e, ReadEinsum(view));
  if (view.NumIn("Operands") == 1) {
    const DType type = spec.outputs[0].dtype;
    AMPC_ASSIGN_OR_RETURN(const StridedSumParams sum, Gather(e.operands[0], e.result, type, type));
    return MakeLambdaKernel({.implementation = "cuda:strided_sum", .rounds_results = true},
                            [sum](const KernelArgs& args) { return RunStridedSum(*args.stream, sum, args.inputs[0], args.outputs[0]); });
  }
  absl::StatusOr<Product> product = Product::Make(view, e, {0, 1});
  if (!product.ok()) return Annotate(product.status(), Describe(view.op()));
  KernelTraits traits{.implementation = product->implementation(), .rounds_results = true, .workspace_bytes = product->workspace_bytes()};
  return MakeLambdaKernel(std::move(traits), [p = *std::move(product)](const KernelArgs& args) { return p.Run(args, args.outputs[0]); });
}

}  // namespace

absl::Status RegisterEinsum(KernelRegistry* registry) {
  AMPC_RETURN_IF_ERROR(registry->Add({"einsum_grad", &MakeGradient, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}}));
  return registry->Add({"einsum", &Make, {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}});
}

}  // namespace ampc::cuda
