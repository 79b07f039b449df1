// matmul_v2, matmul, mul, fc, bmm, mv, dot and addmm: one product of stacks of matrices on oneDNN, with bias and activation inside.
// Products of f64, i64 and of an i32 matrix that comes transposed have plain loops, other i32 ones vector loops; integers wrap.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/simd/integer_rows.h"
#include "kernels/halves.h"
#include "kernels/lib/activation.h"
#include "kernels/lib/matmul.h"
#include "kernels/parallel.h"
#include "kernels/weight_cache.h"

namespace ampc {
namespace {

using onednn::MatmulSpec;

// A matrix that addmm adds to the product: factor * in[row * row_stride + col * col_stride], where a stride is 0 along what repeats.
struct Addend {
  int flat = -1;  // -1: none
  float factor = 1;
  int64_t row_stride = 0, col_stride = 0, rows = 0, cols = 0;

  void AddTo(const KernelArgs& args) const {
    if (flat < 0) return;
    float* out = static_cast<float*>(args.outputs[0]);
    ParallelFor(args.threads, rows, std::max<int64_t>(1, (1 << 14) / std::max<int64_t>(1, cols)), [&](int64_t first, int64_t last) {
      for (int64_t r = first; r < last; ++r) {
        const float* in = static_cast<const float*>(args.inputs[flat]) + r * row_stride;
        for (int64_t c = 0; c < cols; ++c) out[r * cols + c] += factor * in[c * col_stride];
      }
    });
  }
};

// Flat positions of the operands; -1 when absent.
struct Slots {
  int a, b, bias = -1;
  Addend add = {};
};

// Input is oneDNN's bias where it is one row and nothing is scaled, else it is added to the product.
void PlaceAddend(const SpecView& view, MatmulSpec& s, Slots* slots) {
  const ProductAddend add = ReadAddend(view);
  if (add.factor == 0) return;
  if (add.row_stride == 0 && add.col_stride == 1 && add.factor == 1 && s.scale == 1) {
    s.has_bias = true;
    slots->bias = view.In("Input");
  } else {
    slots->add = {view.In("Input"), add.factor, add.row_stride, add.col_stride, s.m, s.n};
  }
}

absl::StatusOr<MatmulSpec> ReadSpec(const SpecView& view, Slots* slots) {
  if (view.op().type() == "fc") return ReadFc(view);
  const std::vector<TensorDesc>& in = view.spec().inputs;
  AMPC_ASSIGN_OR_RETURN(MatmulSpec s, ReadProduct(view, view.op().type(), in[slots->a].dims, in[slots->b].dims, slots->a));
  s.a_storage = in[slots->a].storage();
  s.b_storage = in[slots->b].storage();
  s.out_storage = view.OutDesc("Out").storage();
  if (view.op().type() == "addmm") PlaceAddend(view, s, slots);
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
    const float* const bias = slots_.bias < 0 ? nullptr : static_cast<const float*>(args.inputs[slots_.bias]);
    AMPC_RETURN_IF_ERROR(matmul_->Run({args.inputs[slots_.a], args.inputs[slots_.b], bias, args.outputs[0], args.workspace}));
    slots_.add.AddTo(args);
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<onednn::Matmul> matmul_;
  const Slots slots_;
  const bool consumes_b_;
};

// A sum of no products: the bias, the addend and the activation are left.
std::unique_ptr<Kernel> MakeEmptySum(const MatmulSpec& s, Slots slots, int64_t total) {
  return MakeLambdaKernel({}, [n = s.n, activation = s.activation, slots, total](const KernelArgs& args) {
    float* out = static_cast<float*>(args.outputs[0]);
    const float* bias = slots.bias < 0 ? nullptr : static_cast<const float*>(args.inputs[slots.bias]);
    for (int64_t i = 0; i < total; ++i) out[i] = bias == nullptr ? 0.0f : bias[i % n];
    slots.add.AddTo(args);
    ApplyActivation(activation, args.threads, out, total);
    return absl::OkStatus();
  });
}

// The type in which integers are added and multiplied, to wrap.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::common_type<T>>::type;

// One row of a product: element k of a's row is a[k * a_step].
template <typename T>
void PlainRow(const MatmulSpec& s, const T* a, int64_t a_step, const T* b, T* out) {
  using W = Wrapping<T>;
  std::fill(out, out + s.n, T(0));
  for (int64_t j = 0; s.trans_b && j < s.n; ++j) {
    W sum = 0;
    for (int64_t k = 0; k < s.k; ++k) sum += static_cast<W>(a[k * a_step]) * static_cast<W>(b[j * s.k + k]);
    out[j] = static_cast<T>(sum);
  }
  for (int64_t k = 0; !s.trans_b && k < s.k; ++k) {
    const W factor = static_cast<W>(a[k * a_step]);
    for (int64_t j = 0; j < s.n; ++j) out[j] = static_cast<T>(static_cast<W>(out[j]) + factor * static_cast<W>(b[k * s.n + j]));
  }
}

// Which matrix of a stack stands at place `at` of the product's stacks `batch`.
int64_t MatrixAt(const std::vector<int64_t>& stack, const std::vector<int64_t>& batch, int64_t at) {
  int64_t matrix = 0, step = 1;
  for (size_t d = batch.size(); d-- > 0; at /= batch[d]) {
    if (stack[d] != 1) matrix += at % batch[d] * step;
    step *= stack[d];
  }
  return matrix;
}

template <typename T>
void PlainProduct(const MatmulSpec& s, const KernelArgs& args) {
  const std::vector<int64_t> batch = BatchOf(s);
  int64_t matrices = 1;
  for (int64_t n : batch) matrices *= n;
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, s.n * s.k));
  ParallelFor(args.threads, matrices * s.m, grain, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const int64_t at = r / s.m, row = r % s.m;
      const T* a = static_cast<const T*>(args.inputs[0]) + MatrixAt(s.a_batch, batch, at) * s.m * s.k + row * (s.trans_a ? 1 : s.k);
      const T* b = static_cast<const T*>(args.inputs[1]) + MatrixAt(s.b_batch, batch, at) * s.k * s.n;
      PlainRow(s, a, s.trans_a ? s.m : 1, b, static_cast<T*>(args.outputs[0]) + r * s.n);
    }
  });
}

// Of 32-bit integers whose b lies in rows: several rows of a at once, as vectors.
void IntegerProduct(const MatmulSpec& s, const KernelArgs& args) {
  constexpr int64_t kRows = 16;
  const std::vector<int64_t> batch = BatchOf(s);
  int64_t matrices = 1;
  for (int64_t n : batch) matrices *= n;
  const int64_t groups = (s.m + kRows - 1) / kRows;
  const int64_t grain = std::max<int64_t>(1, (1 << 16) / std::max<int64_t>(1, kRows * s.n * s.k));
  ParallelFor(args.threads, matrices * groups, grain, [&](int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      const int64_t at = g / groups, row = g % groups * kRows;
      const int32_t* a = static_cast<const int32_t*>(args.inputs[0]) + MatrixAt(s.a_batch, batch, at) * s.m * s.k;
      const int32_t* b = static_cast<const int32_t*>(args.inputs[1]) + MatrixAt(s.b_batch, batch, at) * s.k * s.n;
      const int64_t row_step = s.trans_a ? 1 : s.k, column_step = s.trans_a ? s.m : 1;
      simd::MultiplyIntegers({a + row * row_step, row_step, column_step}, std::min(kRows, s.m - row), b, s.k, s.n,
                             static_cast<int32_t*>(args.outputs[0]) + (at * s.m + row) * s.n);
    }
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakePlain(const KernelSpec& spec, const MatmulSpec& s) {
  if (s.scale != 1) return SpecView(spec).Unsupported("the cpu kernel of f64 and integers takes no factor");
  const DType dtype = spec.outputs[0].dtype;
  if (dtype == DType::kI32 && !s.trans_b) {
    return MakeLambdaKernel({.implementation = "ampc:simd"}, [s](const KernelArgs& args) {
      IntegerProduct(s, args);
      return absl::OkStatus();
    });
  }
  const auto run = dtype == DType::kF64 ? &PlainProduct<double> : dtype == DType::kI32 ? &PlainProduct<int32_t> : &PlainProduct<int64_t>;
  return MakeLambdaKernel({}, [s, run](const KernelArgs& args) {
    run(s, args);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  const bool plain = view.op().type() != "fc" && view.op().type() != "addmm" && StorageType(spec.outputs[0].dtype) != DType::kF32;
  if (plain) {
    AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  } else {
    AMPC_RETURN_IF_ERROR(view.CheckType(spec.outputs[0].dtype, {DType::kF32}));
  }
  const bool adds = view.op().type() == "addmm";
  Slots slots{adds ? view.In("X") : 0, adds ? view.In("Y") : 1, view.In("Bias")};
  AMPC_ASSIGN_OR_RETURN(const MatmulSpec s, ReadSpec(view, &slots));
  const int64_t total = spec.outputs[0].NumElements();
  if (total == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (plain) return MakePlain(spec, s);
  const bool half_bias = slots.bias >= 0 && spec.inputs[slots.bias].half;
  if (HasHalves(spec) && (s.k == 0 || half_bias || slots.add.flat >= 0)) {
    AMPC_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, Make(InFloats(spec)));
    return MakeWidened(std::move(kernel), spec);
  }
  if (s.k == 0) return MakeEmptySum(s, slots, total);
  const HostTensor* b = spec.values[slots.b];
  absl::StatusOr<std::unique_ptr<onednn::Matmul>> matmul = MakeMatmul(s, b, spec.weights);
  if (!matmul.ok()) return Annotate(matmul.status(), Describe(view.op()));
  const bool consumes = b != nullptr && (!MayLoseNan(s.activation) || (spec.weights != nullptr && spec.weights->CanRead(b)));
  return std::make_unique<MatmulKernel>(*std::move(matmul), slots, consumes);
}

// Sums of doubles and integers one after the other; integers wrap.
template <typename T>
void DotRows(const void* x, const void* y, void* out, int64_t rows, int64_t size) {
  using Sum = Wrapping<T>;
  for (int64_t r = 0; r < rows; ++r) {
    const T *a = static_cast<const T*>(x) + r * size, *b = static_cast<const T*>(y) + r * size;
    Sum sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += static_cast<Sum>(a[i]) * static_cast<Sum>(b[i]);
    static_cast<T*>(out)[r] = static_cast<T>(sum);
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeDot(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].dtype;
  if (StorageType(dtype) == DType::kF32) return Make(spec);
  AMPC_RETURN_IF_ERROR(SpecView(spec).CheckType(dtype, {DType::kF32, DType::kF64, DType::kI32, DType::kI64}));
  const Dims& x = spec.inputs[0].dims;
  const auto rows = dtype == DType::kF64 ? &DotRows<double> : dtype == DType::kI32 ? &DotRows<int32_t> : &DotRows<int64_t>;
  return MakeLambdaKernel({},
                          [rows, n = onednn::Product(absl::MakeConstSpan(x).first(x.size() - 1)), size = x.back()](const KernelArgs& args) {
                            rows(args.inputs[0], args.inputs[1], args.outputs[0], n, size);
                            return absl::OkStatus();
                          });
}

}  // namespace

absl::Status RegisterMatmul(KernelRegistry* registry) {
  for (const char* op : {"addmm", "fc"})
    AMPC_RETURN_IF_ERROR(
        registry->Add({op, &Make, {DType::kF32, DType::kF16, DType::kBF16}, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kEach}));
  const std::vector<DType> types = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI32, DType::kI64};
  for (const char* op : {"bmm", "matmul", "matmul_v2", "mul", "mv"})
    AMPC_RETURN_IF_ERROR(registry->Add({op, &Make, types, LayoutSupport::kPlainOnly, nullptr, HalfSupport::kEach}));
  return registry->Add({"dot", &MakeDot, types});
}

}  // namespace ampc
