// quantized_matmul: sums of products on oneDNN, then one sweep that takes the zero points out of them, scales, adds the bias and rounds.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "graph/base/aligned.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/cpu/base/lambda_kernel.h"
#include "kernels/cpu/base/product_spec.h"
#include "kernels/cpu/base/spec_view.h"
#include "kernels/cpu/base/types.h"
#include "kernels/cpu/quantize/operands.h"
#include "kernels/cpu/simd/quantize.h"
#include "kernels/lib/activation.h"
#include "kernels/lib/int8.h"
#include "kernels/parallel.h"

namespace ampc {
namespace {

using onednn::MatmulSpec;

// A small operand: its place, type and number of elements; absent: -1.
struct Small {
  int flat = -1;
  DType dtype = DType::kInvalid;
  int64_t count = 0;

  float Float(const KernelArgs& args, int64_t i) const { return static_cast<const float*>(args.inputs[flat])[count == 1 ? 0 : i]; }
  int32_t Int(const KernelArgs& args, int64_t i) const {
    return flat < 0 ? 0 : static_cast<int32_t>(ReadAsInt(args.inputs[flat], dtype, count == 1 ? 0 : i));
  }
};

Small ReadSmall(const SpecView& view, absl::string_view slot) {
  const int flat = view.In(slot);
  if (flat < 0) return {};
  return {flat, view.spec().inputs[flat].dtype, view.spec().inputs[flat].NumElements()};
}

// Offsets in the workspace, in bytes.
struct Room {
  int64_t next = 0;
  int64_t Take(int64_t bytes) { return std::exchange(next, next + Aligned(bytes)); }
};

struct Product {
  MatmulSpec s;
  int64_t matrices = 1, y_matrices = 1;  // of the result; of Y
  DType x_type, y_type, out_type;
  Small x_scale, x_zero, y_scale, y_zero, bias, out_scale, out_zero;
  Activation activation;
  std::shared_ptr<const onednn::Int8Matmul> sums;
  std::shared_ptr<const std::vector<int32_t>> column_sums;  // of a constant Y, as i8; null: made in each run
  bool constant_y = false;
  bool clamps = false;  // the activation is a pair of ends
  int64_t flipped_at = -1, sums_at = -1, column_sums_at = -1, offset_at = 0, zero_at = 0, scale_at = 0, bias_at = 0, bytes = 0;
};

// Which matrix of Y stands at place `at` of the product's stacks.
int64_t MatrixOfY(const Product& p, int64_t at) {
  if (p.y_matrices == 1) return 0;
  const std::vector<int64_t> batch = BatchOf(p.s);
  int64_t matrix = 0, step = 1;
  for (size_t d = batch.size(); d-- > 0; at /= batch[d]) {
    if (p.s.b_batch[d] != 1) matrix += at % batch[d] * step;
    step *= p.s.b_batch[d];
  }
  return matrix;
}

// For each matrix of Y and each column.
void SumColumnsOf(const Product& p, int threads, const int8_t* y, int32_t* sums) {
  const int64_t k = p.s.k, n = p.s.n;
  ParallelFor(threads, p.y_matrices, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, k * n)), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int8_t* from = y + i * k * n;
      int32_t* to = sums + i * n;
      if (p.s.trans_b) {
        for (int64_t c = 0; c < n; ++c) to[c] = simd::SumBytes(DType::kI8, from + c * k, k);
        continue;
      }
      std::fill_n(to, n, 0);
      for (int64_t r = 0; r < k; ++r) {
        for (int64_t c = 0; c < n; ++c) to[c] += from[r * n + c];
      }
    }
  });
}

// A row of the result, of its matrix; what the zero points of Y take away is zero[column] * row.
int32_t RowTerm(const Product& p, const void* x, int64_t row, int32_t x_zero) {
  return simd::SumBytes(p.x_type, static_cast<const char*>(x) + row * p.s.k, p.s.k) - static_cast<int32_t>(p.s.k) * x_zero;
}

// The rows of X of the rows of the result.
int64_t RowOfX(const Product& p, int64_t row) {
  const std::vector<int64_t> batch = BatchOf(p.s);
  int64_t at = row / p.s.m, matrix = 0, step = 1;
  for (size_t d = batch.size(); d-- > 0; at /= batch[d]) {
    if (p.s.a_batch[d] != 1) matrix += at % batch[d] * step;
    step *= p.s.a_batch[d];
  }
  return matrix * p.s.m + row % p.s.m;
}

// The numbers of each column, in the workspace; `offset` is of the first matrix of Y. Returns whether Y has a zero point.
bool FillColumns(const Product& p, const KernelArgs& args, const int32_t* column_sums, simd::SumColumns* c) {
  char* const ws = static_cast<char*>(args.workspace);
  const int64_t n = p.s.n;
  const int32_t x_zero = p.x_zero.Int(args, 0), flip = p.y_type == DType::kU8 ? 128 : 0;
  int32_t* const offset = reinterpret_cast<int32_t*>(ws + p.offset_at);
  int32_t* const zero = reinterpret_cast<int32_t*>(ws + p.zero_at);
  if (x_zero != 0) {
    for (int64_t i = 0; i < p.y_matrices * n; ++i) offset[i] = x_zero * column_sums[i];
    c->offset = offset;
  }
  bool any = false;
  for (int64_t i = 0; i < n; ++i) {
    zero[i] = p.y_zero.Int(args, i) - flip;
    any = any || zero[i] != 0;
  }
  if (any) c->zero = zero;
  if (p.x_scale.flat < 0) return any;
  float* const scale = reinterpret_cast<float*>(ws + p.scale_at);
  float* const bias = reinterpret_cast<float*>(ws + p.bias_at);
  const float x_scale = p.x_scale.Float(args, 0), out_scale = p.out_scale.flat < 0 ? 1.0f : p.out_scale.Float(args, 0);
  for (int64_t i = 0; i < n; ++i) scale[i] = x_scale * p.y_scale.Float(args, i) / out_scale;
  c->scale = scale;
  if (p.bias.flat >= 0) {
    for (int64_t i = 0; i < n; ++i) bias[i] = p.bias.Float(args, i) / out_scale;
    c->bias = bias;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  c->low = p.clamps && p.activation.kind != ActivationKind::kNone ? 0.0f : -kInfinity;
  c->high = p.clamps && p.activation.kind == ActivationKind::kRelu6 ? p.activation.alpha / out_scale : kInfinity;
  c->zero_point = p.out_zero.Int(args, 0);
  return any;
}

absl::Status Run(const Product& p, const KernelArgs& args) {
  char* const ws = static_cast<char*>(args.workspace);
  const void *x = args.inputs[0], *y = p.constant_y ? nullptr : args.inputs[1];
  if (p.flipped_at >= 0) {
    const int64_t n = p.y_matrices * p.s.k * p.s.n;
    const char* from = static_cast<const char*>(y);
    char* to = ws + p.flipped_at;
    ParallelFor(args.threads, n, 1 << 16, [&](int64_t first, int64_t last) { FlipSigns(from + first, to + first, last - first); });
    y = to;
  }
  int32_t* const sums = p.sums_at < 0 ? static_cast<int32_t*>(args.outputs[0]) : reinterpret_cast<int32_t*>(ws + p.sums_at);
  AMPC_RETURN_IF_ERROR(p.sums->Run(x, y, sums, ws));
  const int32_t* column_sums = p.column_sums == nullptr ? nullptr : p.column_sums->data();
  if (column_sums == nullptr) {
    int32_t* const made = reinterpret_cast<int32_t*>(ws + p.column_sums_at);
    SumColumnsOf(p, args.threads, static_cast<const int8_t*>(y), made);
    column_sums = made;
  }
  simd::SumColumns columns;
  const bool rows = FillColumns(p, args, column_sums, &columns);
  const simd::FinishSumsFn finish = simd::FinishSums(p.out_type);
  const int32_t x_zero = p.x_zero.Int(args, 0);
  const int64_t n = p.s.n, size = ElementSize(p.out_type);
  ParallelFor(args.threads, p.matrices * p.s.m, std::max<int64_t>(1, (1 << 14) / n), [&](int64_t first, int64_t last) {
    simd::SumColumns own = columns;
    for (int64_t r = first; r < last; ++r) {
      if (columns.offset != nullptr) own.offset = columns.offset + MatrixOfY(p, r / p.s.m) * n;
      finish(sums + r * n, rows ? RowTerm(p, x, RowOfX(p, r), x_zero) : 0, own, static_cast<char*>(args.outputs[0]) + r * n * size, n);
    }
  });
  if (!p.clamps) ApplyActivation(p.activation, args.threads, static_cast<float*>(args.outputs[0]), p.matrices * p.s.m * n);
  return absl::OkStatus();
}

// Dims of the stacks, as long as those of the result.
std::vector<int64_t> Stacks(const Dims& dims, size_t rank) {
  std::vector<int64_t> batch(rank - dims.size(), 1);
  batch.insert(batch.end(), dims.begin(), dims.end() - 2);
  return batch;
}

absl::StatusOr<Product> ReadProduct(const SpecView& view) {
  const TensorDesc &x = view.InDesc("X"), &y = view.InDesc("Y"), &out = view.OutDesc("Out");
  Product p;
  p.x_type = x.dtype;
  p.y_type = y.dtype;
  p.out_type = out.dtype;
  p.s.m = x.dims[x.dims.size() - 2];
  p.s.k = x.dims.back();
  p.s.n = out.dims.back();
  p.s.trans_b = view.op().GetBool("trans_y");
  p.s.threads = view.spec().threads;
  p.s.a_batch = Stacks(x.dims, out.dims.size());
  p.s.b_batch = Stacks(y.dims, out.dims.size());
  p.matrices = p.s.m * p.s.n == 0 ? 0 : out.NumElements() / (p.s.m * p.s.n);
  for (const int64_t d : p.s.b_batch) p.y_matrices *= d;
  p.x_scale = ReadSmall(view, "XScale");
  p.x_zero = ReadSmall(view, "XZeroPoint");
  p.y_scale = ReadSmall(view, "YScale");
  p.y_zero = ReadSmall(view, "YZeroPoint");
  p.bias = ReadSmall(view, "Bias");
  p.out_scale = ReadSmall(view, "OutScale");
  p.out_zero = ReadSmall(view, "OutZeroPoint");
  AMPC_ASSIGN_OR_RETURN(p.activation, ReadActivation(view.op()));
  const ActivationKind kind = p.activation.kind;
  p.clamps = kind == ActivationKind::kNone || kind == ActivationKind::kRelu || kind == ActivationKind::kRelu6;
  if (p.out_type != DType::kF32 && !p.clamps) return view.Unsupported("the cpu kernel quantises behind relu and relu6 alone");
  return p;
}

void PlanWorkspace(Product* p) {
  const int64_t n = p->s.n;
  Room room;
  room.Take(p->sums->workspace_bytes());
  if (!p->constant_y && p->y_type == DType::kU8) p->flipped_at = room.Take(p->y_matrices * p->s.k * n);
  if (ElementSize(p->out_type) != 4) p->sums_at = room.Take(4 * p->matrices * p->s.m * n);
  if (p->column_sums == nullptr) p->column_sums_at = room.Take(4 * p->y_matrices * n);
  p->offset_at = room.Take(4 * p->y_matrices * n);
  p->zero_at = room.Take(4 * n);
  p->scale_at = room.Take(4 * n);
  p->bias_at = room.Take(4 * n);
  p->bytes = room.next;
}

class QuantizedMatmul final : public Kernel {
 public:
  explicit QuantizedMatmul(Product p) : p_(std::move(p)) {}
  int64_t workspace_bytes() const override { return p_.bytes; }
  bool consumes(int flat) const override { return p_.constant_y && flat == 1; }
  std::string implementation() const override { return p_.sums->implementation(); }
  absl::Status Run(const KernelArgs& args) const override { return ampc::Run(p_, args); }

 private:
  const Product p_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelSpec& spec) {
  const SpecView view(spec);
  AMPC_ASSIGN_OR_RETURN(Product p, ReadProduct(view));
  if (spec.outputs[0].NumElements() == 0) return MakeLambdaKernel({}, [](const KernelArgs&) { return absl::OkStatus(); });
  if (p.s.k == 0) return view.Unsupported("a sum of no products has no cpu kernel");
  if (!onednn::HasExactInt8()) return view.Unsupported("the cpu kernel needs VNNI");
  const HostTensor* y = spec.values[1];
  HostTensor as_signed;
  if (y != nullptr) {
    if (p.y_type == DType::kU8) {
      AMPC_ASSIGN_OR_RETURN(as_signed, HostTensor::CreateUninitialized(DType::kI8, spec.inputs[1].dims));
      FlipSigns(y->data(), as_signed.mutable_data(), spec.inputs[1].NumElements());
    }
    p.constant_y = true;
    std::vector<int32_t> sums(p.y_matrices * p.s.n);
    SumColumnsOf(p, spec.threads, static_cast<const int8_t*>(p.y_type == DType::kU8 ? as_signed.data() : y->data()), sums.data());
    p.column_sums = std::make_shared<const std::vector<int32_t>>(std::move(sums));
  }
  const HostTensor* b = y == nullptr ? nullptr : p.y_type == DType::kU8 ? &as_signed : y;
  absl::StatusOr<std::unique_ptr<onednn::Int8Matmul>> sums = MakeInt8Matmul(p.s, p.x_type, b, y, spec.weights);
  if (!sums.ok()) return Annotate(sums.status(), Describe(view.op()));
  p.sums = *std::move(sums);
  PlanWorkspace(&p);
  return std::make_unique<QuantizedMatmul>(std::move(p));
}

}  // namespace

absl::Status RegisterQuantizedMatmul(KernelRegistry* registry) {
  return registry->Add({"quantized_matmul", &Make, {DType::kU8, DType::kI8, DType::kF32}});
}

}  // namespace ampc
