#include "kernels/lib/matmul.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/convert.h"
#include "graph/base/error.h"
#include "graph/base/host_tensor.h"
#include "graph/base/status_macros.h"
#include "kernels/lib/onednn_primitive.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

int64_t Product(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// As few leading dims as possible: those over which b repeats become rows of a; neighbours that repeat alike are joined.
MatmulSpec Simplified(MatmulSpec s) {
  if (Product(s.b_batch) == 1 && !s.trans_a) {
    s.m *= Product(s.a_batch);
    s.a_batch.clear();
    s.b_batch.clear();
    return s;
  }
  std::vector<int64_t> a, b;
  for (size_t i = 0; i < s.a_batch.size(); ++i) {
    const int64_t da = s.a_batch[i], db = s.b_batch[i];
    if (da == 1 && db == 1) continue;
    const bool joins = !a.empty() && ((a.back() == b.back()) == (da == db)) && (a.back() == 1) == (da == 1) && (b.back() == 1) == (db == 1);
    if (joins) {
      a.back() *= da;
      b.back() *= db;
    } else {
      a.push_back(da);
      b.push_back(db);
    }
  }
  s.a_batch = std::move(a);
  s.b_batch = std::move(b);
  return s;
}

// A stack of matrices with `row` and `col` as element strides inside one.
absl::StatusOr<MemoryDesc> MatrixDesc(const std::vector<int64_t>& batch, int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t size, dnnl_data_type_t type) {
  dnnl_dims_t dims, strides;
  const int rank = static_cast<int>(batch.size()) + 2;
  if (rank > DNNL_MAX_NDIMS) return UnsupportedError(absl::StrCat("oneDNN multiplies stacks of at most ", DNNL_MAX_NDIMS, " dimensions"));
  for (int i = rank - 3; i >= 0; --i) {
    dims[i] = batch[i];
    strides[i] = size;
    size *= batch[i];
  }
  dims[rank - 2] = rows, dims[rank - 1] = cols;
  strides[rank - 2] = row, strides[rank - 1] = col;
  MemoryDesc md;
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_strides(&md, rank, dims, type, strides));
  return md;
}

absl::StatusOr<MemoryDesc> ADesc(const MatmulSpec& s, dnnl_data_type_t type) {
  return MatrixDesc(s.a_batch, s.m, s.k, s.trans_a ? 1 : s.k, s.trans_a ? s.m : 1, s.m * s.k, type);
}

int64_t BRow(const MatmulSpec& s) { return s.b_row > 0 ? s.b_row : s.trans_b ? s.k : s.n; }

absl::StatusOr<MemoryDesc> BDesc(const MatmulSpec& s, dnnl_data_type_t type) {
  const int64_t row = BRow(s);
  return MatrixDesc(s.b_batch, s.k, s.n, s.trans_b ? 1 : row, s.trans_b ? row : 1, row * (s.trans_b ? s.n : s.k), type);
}

absl::StatusOr<MemoryDesc> OutDesc(const MatmulSpec& s) {
  std::vector<int64_t> batch = s.a_batch;
  for (size_t i = 0; i < batch.size(); ++i) batch[i] = std::max(batch[i], s.b_batch[i]);
  return MatrixDesc(batch, s.m, s.n, s.n, 1, s.m * s.n, dnnl_f32);
}

struct Choice {
  PrimitiveDesc pd;
  MemoryDesc a, b, bias, out;
  bool bf16 = false;
};

absl::StatusOr<Choice> Choose(const MatmulSpec& s, dnnl_data_type_t type, bool pack_b) {
  Choice c;
  c.bf16 = type == dnnl_bf16;
  AMPC_ASSIGN_OR_RETURN(c.a, ADesc(s, type));
  AMPC_ASSIGN_OR_RETURN(c.b, BDesc(s, type));
  AMPC_ASSIGN_OR_RETURN(c.out, OutDesc(s));
  AMPC_ASSIGN_OR_RETURN(c.bias, MatrixDesc(std::vector<int64_t>(s.a_batch.size(), 1), 1, s.n, s.n, 1, s.n, dnnl_f32));
  if (pack_b) {
    const MemoryDesc given = c.b;
    AMPC_DNNL_CALL(dnnl_memory_desc_init_by_tag(&c.b, given.ndims, given.dims, type, dnnl_format_tag_any));
  }
  AMPC_ASSIGN_OR_RETURN(const PostOps ops, MakePostOps());
  AMPC_RETURN_IF_ERROR(AppendActivation(s.activation, ops.get()));
  AMPC_ASSIGN_OR_RETURN(const Attr attr, MakeAttr(ops.get()));
  if (s.scale != 1) AMPC_DNNL_CALL(dnnl_primitive_attr_set_output_scales(attr.get(), 1, 0, &s.scale));
  dnnl_matmul_desc_t d;
  AMPC_DNNL_CALL(dnnl_matmul_desc_init(&d, &c.a, &c.b, s.has_bias ? &c.bias : nullptr, &c.out));
  AMPC_ASSIGN_OR_RETURN(c.pd, MakePrimitiveDesc(&d, attr.get()));
  if (c.pd != nullptr) c.b = QueryDesc(c.pd.get(), dnnl_query_weights_md);
  return c;
}

// Conversion of the operands to bf16 touches each element once; the product has to use each often.
bool Bf16Pays(const MatmulSpec& s) { return s.n >= 16 && s.k >= 16; }

absl::StatusOr<Choice> ChooseBest(const MatmulSpec& s, bool pack_b) {
  if (s.native_bf16 && s.b_row == 0 && Bf16Pays(s) && dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16) {
    AMPC_ASSIGN_OR_RETURN(Choice c, Choose(s, dnnl_bf16, pack_b));
    if (c.pd != nullptr && !absl::StrContains(ImplementationOf(c.pd.get()), "ref")) return c;
  }
  AMPC_ASSIGN_OR_RETURN(Choice c, Choose(s, dnnl_f32, pack_b));
  if (c.pd == nullptr) return UnsupportedError("oneDNN has no matrix product for these shapes");
  return c;
}

class OneDnnMatmul final : public Matmul {
 public:
  static absl::StatusOr<std::unique_ptr<Matmul>> Make(const MatmulSpec& given, const float* b) {
    const MatmulSpec spec = Simplified(given);
    const ScopedThreads threads(spec.threads);
    std::unique_ptr<OneDnnMatmul> mm(new OneDnnMatmul(spec));
    AMPC_ASSIGN_OR_RETURN(const Choice c, ChooseBest(spec, b != nullptr));
    mm->implementation_ = absl::StrCat("onednn:", ImplementationOf(c.pd.get()), c.bf16 ? ":bf16" : "");
    mm->constant_b_ = b != nullptr;
    if (b != nullptr) AMPC_RETURN_IF_ERROR(mm->Pack(c.b, b));
    std::vector<Primitive::Arg> args = {{DNNL_ARG_SRC, c.a}, {DNNL_ARG_WEIGHTS, c.b, mm->packed_.data()}, {DNNL_ARG_DST, c.out}};
    if (spec.has_bias) args.push_back({DNNL_ARG_BIAS, c.bias});
    AMPC_ASSIGN_OR_RETURN(mm->primitive_, Primitive::Create(c.pd.get(), std::move(args)));
    mm->PlanWorkspace(c.bf16);
    return mm;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  std::string implementation() const override { return implementation_; }

  absl::Status Run(const MatmulBuffers& buffers) const override {
    const ScopedThreads threads(s_.threads);
    char* const ws = static_cast<char*>(buffers.workspace);
    const void* a = a_ < 0 ? buffers.a : ToBf16(buffers.a, AElements(), ws + a_);
    const void* b = constant_b_ ? packed_.data() : b_ < 0 ? buffers.b : ToBf16(buffers.b, BElements(), ws + b_);
    std::array<const void*, 5> all = {a, b, buffers.out};
    size_t count = 3;
    if (s_.has_bias) all[count++] = buffers.bias;
    all[count++] = ws + scratchpad_;
    return primitive_->Execute(absl::MakeConstSpan(all.data(), count));
  }

 private:
  explicit OneDnnMatmul(MatmulSpec spec) : s_(std::move(spec)) {}
  int64_t AElements() const { return Product(s_.a_batch) * s_.m * s_.k; }
  int64_t BElements() const { return Product(s_.b_batch) * s_.k * s_.n; }

  absl::Status Pack(const MemoryDesc& wanted, const float* b) {
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc given, BDesc(s_, dnnl_f32));
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Primitive> reorder, Primitive::CreateReorder(given, wanted));
    AMPC_ASSIGN_OR_RETURN(packed_, HostTensor::CreateUninitialized(DType::kU8, {Bytes(wanted)}));
    AMPC_ASSIGN_OR_RETURN(const HostTensor scratch, HostTensor::CreateUninitialized(DType::kU8, {reorder->scratchpad_bytes()}));
    return reorder->Execute({b, packed_.data(), scratch.data()});
  }

  void PlanWorkspace(bool bf16) {
    if (bf16) {
      a_ = 0;
      workspace_bytes_ = Aligned(AElements() * 2);
      if (!constant_b_) {
        b_ = workspace_bytes_;
        workspace_bytes_ += Aligned(BElements() * 2);
      }
    }
    scratchpad_ = workspace_bytes_;
    workspace_bytes_ += Aligned(primitive_->scratchpad_bytes());
  }

  const void* ToBf16(const float* in, int64_t n, void* to) const {
    BFloat16* const out = static_cast<BFloat16*>(to);
    ParallelFor(s_.threads, n, 1 << 15, [&](int64_t first, int64_t last) { F32ToBF16(in + first, out + first, static_cast<size_t>(last - first)); });
    return to;
  }

  const MatmulSpec s_;
  std::string implementation_;
  bool constant_b_ = false;
  HostTensor packed_;  // b in the primitive's order
  std::unique_ptr<Primitive> primitive_;
  // Offsets in the workspace; -1 for what is used where it lies.
  int64_t a_ = -1, b_ = -1, scratchpad_ = 0;
  int64_t workspace_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Matmul>> MakeMatmul(const MatmulSpec& spec, const float* b) { return OneDnnMatmul::Make(spec, b); }

}  // namespace ampc::onednn
