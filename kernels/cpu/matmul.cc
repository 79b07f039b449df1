// matmul_v2, matmul, mul and fc: one product of stacks of matrices on oneDNN, with bias and activation inside.
#include <algorithm>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/lib/matmul.h"

namespace ampc {
namespace {

using onednn::MatmulSpec;

int64_t Product(const Dims& dims, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= dims[i];
  return n;
}

// Flat positions of the operands; -1 when absent.
struct Slots {
  int a, b, bias = -1;
};

// A vector multiplies as a row from the left and as a column from the right; its transposition flag means nothing.
MatmulSpec ReadStacks(const SpecView& view, bool trans_x, bool trans_y) {
  Dims x = view.InDesc("X").dims, y = view.InDesc("Y").dims;
  MatmulSpec s;
  s.trans_a = trans_x && x.size() > 1;
  s.trans_b = trans_y && y.size() > 1;
  if (x.size() == 1) x.insert(x.begin(), 1);
  if (y.size() == 1) y.push_back(1);
  s.m = x[x.size() - (s.trans_a ? 1 : 2)];
  s.k = x[x.size() - (s.trans_a ? 2 : 1)];
  s.n = y[y.size() - (s.trans_b ? 2 : 1)];
  s.a_batch.assign(x.begin(), x.end() - 2);
  s.b_batch.assign(y.begin(), y.end() - 2);
  for (std::vector<int64_t>* batch : {&s.a_batch, &s.b_batch}) {
    batch->insert(batch->begin(), std::max(x.size(), y.size()) - 2 - batch->size(), 1);
  }
  return s;
}

MatmulSpec ReadMul(const SpecView& view) {
  const Dims& x = view.InDesc("X").dims;
  const Dims& y = view.InDesc("Y").dims;
  const size_t nx = static_cast<size_t>(view.op().GetInt("x_num_col_dims", 1)),
               ny = static_cast<size_t>(view.op().GetInt("y_num_col_dims", 1));
  MatmulSpec s;
  s.m = Product(x, 0, nx);
  s.k = Product(x, nx, x.size());
  s.n = Product(y, ny, y.size());
  return s;
}

absl::StatusOr<MatmulSpec> ReadFc(const SpecView& view) {
  const Dims& x = view.InDesc("Input").dims;
  const Dims& w = view.InDesc("W").dims;
  const size_t n = static_cast<size_t>(view.op().GetInt("in_num_col_dims", 1));
  MatmulSpec s;
  s.m = Product(x, 0, n);
  s.k = Product(x, n, x.size());
  s.n = view.OutDesc("Out").dims.back();
  if (s.n != w[1]) s.b_row = w[1];  // padding_weights
  s.has_bias = view.In("Bias") >= 0;
  AMPC_ASSIGN_OR_RETURN(s.activation, ReadActivation(view.op()));
  return s;
}

absl::StatusOr<MatmulSpec> ReadSpec(const SpecView& view) {
  for (const char* fused :
       {"fused_reshape_X", "fused_reshape_Y", "fused_transpose_X", "fused_transpose_Y", "fused_reshape_Out", "fused_transpose_Out"}) {
    if (!view.op().GetInts(fused).empty()) return view.Unsupported("the cpu kernel does not reshape or transpose inside a product");
  }
  const Op& op = view.op();
  MatmulSpec s;
  if (op.type() == "fc") {
    AMPC_ASSIGN_OR_RETURN(s, ReadFc(view));
  } else if (op.type() == "mul") {
    s = ReadMul(view);
  } else if (op.type() == "matmul") {
    s = ReadStacks(view, op.GetBool("transpose_X"), op.GetBool("transpose_Y"));
    s.scale = static_cast<float>(op.GetFloat("alpha", 1));
  } else {
    s = ReadStacks(view, op.GetBool("trans_x"), op.GetBool("trans_y"));
  }
  s.native_bf16 = view.spec().inputs[0].dtype == DType::kBF16;
  s.threads = view.spec().threads;
  return s;
}

class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(std::unique_ptr<onednn::Matmul> matmul, Slots slots, bool consumes_b)
      : matmul_(std::move(matmul)), slots_(slots), consumes_b_(consumes_b) {}
  int64_t workspace_bytes() const override { return matmul_->workspace_bytes(); }
  bool consumes(int flat) const override { return consumes_b_ && flat == slots_.b; }
  std::string implementation() const override { return matmul_->implementation(); }
  absl::Status Run(const KernelArgs& args) const override {
    const auto at = [&args](int i) { return i < 0 ? nullptr : static_cast<const float*>(args.inputs[i]); };
    return matmul_->Run({at(slots_.a), at(slots_.b), at(slots_.bias), static_cast<float*>(args.outputs[0]), args.workspace});
  }

 private:
  const std::unique_ptr<onednn::Matmul> matmul_;
  const Slots slots_;
  const bool consumes_b_;
};

// A sum of no products: the bias and the activation are left.
std::unique_ptr<Kernel> MakeEmptySum(const MatmulSpec& s, Slots slots, int64_t total) {
  return MakeLambdaKernel({}, [n = s.n, activation = s.activation, slots, total](const KernelArgs& args) {
    float* out = static_cast<float*>(args.outputs[0]);
    const float* bias = slots.bias < 0 ? nullptr : static_cast<const float*>(args.inputs[slots.bias]);
    for (int64_t i = 0; i < total; ++i) out[i] = bias == nullptr ? 0.0f : bias[i % n];
    ApplyActivation(activation, args.threads, out, total);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  AMPC_ASSIGN_OR_RETURN(const MatmulSpec s, ReadSpec(view));
  const Slots slots{0, 1, view.In("Bias")};
  const int64_t total = spec.outputs[0].NumElements();
  if (total == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (s.k == 0) return MakeEmptySum(s, slots, total);
  const HostTensor* b = spec.values[slots.b];
  absl::StatusOr<std::unique_ptr<onednn::Matmul>> matmul = MakeMatmul(s, b, spec.weights);
  if (!matmul.ok()) return Annotate(matmul.status(), Describe(view.op()));
  return std::make_unique<MatmulKernel>(*std::move(matmul), slots, b != nullptr);
}

}  // namespace

absl::Status RegisterMatmul(KernelRegistry* registry) {
  for (const char* op : {"fc", "matmul", "matmul_v2", "mul"}) {
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}}));
  }
  return absl::OkStatus();
}

}  // namespace ampc
