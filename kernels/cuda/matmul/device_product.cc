#include "kernels/cuda/matmul/device_product.h"

#include <algorithm>
#include <utility>

#include "graph/base/status_macros.h"

namespace ampc::cuda {
namespace {

using onednn::MatmulSpec;

// For Hopper, NVIDIA advises 32 MiB for the library's own sums.
constexpr int64_t kWorkspaceLimit = int64_t{32} << 20;

std::vector<int64_t> Larger(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> all = a;
  for (size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], b[i]);
  return all;
}

// Elements from one index of each leading dim to the next, 0 where the matrices repeat.
std::vector<int64_t> StridesOf(const std::vector<int64_t>& batch, int64_t matrix) {
  std::vector<int64_t> strides(batch.size());
  for (size_t i = batch.size(); i-- > 0;) {
    strides[i] = batch[i] == 1 ? 0 : matrix;
    matrix *= batch[i];
  }
  return strides;
}

MatmulDesc OneMatrix(const MatmulSpec& s, const DeviceProductOptions& options) {
  MatmulDesc d;
  d.transpose_a = s.trans_b;
  d.transpose_b = s.trans_a;
  d.m = s.n;
  d.n = s.m;
  d.k = s.k;
  d.lda = s.b_row > 0 ? s.b_row : s.trans_b ? s.k : s.n;
  d.ldb = s.trans_a ? s.m : s.k;
  d.ldd = s.n;
  d.type_ab = options.factors;
  d.type_d = options.result;
  d.alpha = s.scale;
  d.beta = options.beta;
  d.epilogue = options.epilogue;
  d.aux_ld = options.aux_row;
  d.alignment = options.alignment;
  return d;
}

}  // namespace

absl::StatusOr<DeviceProduct> DeviceProduct::Make(Device& device, const MatmulSpec& spec, const DeviceProductOptions& options) {
  const MatmulSpec s = onednn::Simplified(spec);
  const int64_t size = static_cast<int64_t>(SizeOf(options.factors)), out_size = static_cast<int64_t>(SizeOf(options.result));
  const std::vector<int64_t> batch = Larger(s.a_batch, s.b_batch);
  DeviceProduct product;
  const bool empty = onednn::Product(s.a_batch) == 0 || onednn::Product(s.b_batch) == 0 || s.m == 0 || s.n == 0;
  if (empty) return product;
  if (s.k == 0) {
    product.zero_bytes_ = onednn::Product(batch) * s.m * s.n * out_size;
    return product;
  }
  MatmulDesc d = OneMatrix(s, options);
  AMPC_ASSIGN_OR_RETURN(MatmulLibrary * library, device.matmul());
  const std::vector<int64_t> a = StridesOf(s.a_batch, s.m * s.k), out = StridesOf(batch, s.m * s.n);
  const std::vector<int64_t> b = StridesOf(s.b_batch, (s.trans_b ? s.n : s.k) * d.lda);
  const size_t inner = static_cast<size_t>(std::max_element(batch.begin(), batch.end()) - batch.begin());
  if (!batch.empty()) {
    d.batch = batch[inner];
    d.stride_a = b[inner];
    d.stride_b = a[inner];
    d.stride_d = out[inner];
  }
  // Every index of the other leading dims is a call.
  product.calls_ = {{0, 0, 0}};
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i == inner) continue;
    std::vector<Call> calls;
    for (const Call& call : product.calls_) {
      for (int64_t k = 0; k < batch[i]; ++k)
        calls.push_back({call.a + k * a[i] * size, call.b + k * b[i] * size, call.out + k * out[i] * out_size});
    }
    product.calls_ = std::move(calls);
  }
  for (const Call& call : product.calls_) {
    while ((call.a | call.b | call.out) % d.alignment != 0) d.alignment /= 2;
  }
  AMPC_ASSIGN_OR_RETURN(product.plan_, library->Plan(d, kWorkspaceLimit));
  return product;
}

int64_t DeviceProduct::workspace_bytes() const {
  return plan_ == nullptr || plan_->workspace_bytes() == 0 ? 0 : plan_->workspace_bytes() + 192;
}

absl::Status DeviceProduct::Run(Stream& stream, const DeviceProductOperands& operands, void* workspace) const {
  if (plan_ == nullptr) return zero_bytes_ == 0 ? absl::OkStatus() : stream.FillBytes(operands.out, 0, zero_bytes_);
  const auto at = [](const void* p, int64_t bytes) { return p == nullptr ? nullptr : static_cast<const char*>(p) + bytes; };
  MatmulArgs args;
  args.bias = const_cast<void*>(operands.bias);
  args.aux = operands.aux;
  if (workspace_bytes() > 0) args.workspace = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace) + 255) / 256 * 256);
  for (const Call& call : calls_) {
    args.a = at(operands.b, call.b);
    args.b = at(operands.a, call.a);
    args.c = at(operands.c, call.out);
    args.d = static_cast<char*>(operands.out) + call.out;
    AMPC_RETURN_IF_ERROR(plan_->Run(stream, args));
  }
  return absl::OkStatus();
}

}  // namespace ampc::cuda
