#include "kernels/lib/matmul_choice.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/lib/kernel_name.h"

namespace ampc::onednn {
namespace {

// A stack of matrices with `row` and `col` as element strides inside one.
absl::StatusOr<MemoryDesc> MatrixDesc(const std::vector<int64_t>& batch, int64_t rows, int64_t cols, int64_t row, int64_t col, int64_t size,
                                      dnnl_data_type_t type) {
  dnnl_dims_t dims, strides;
  const int rank = static_cast<int>(batch.size()) + 2;
  if (rank > DNNL_MAX_NDIMS) return UnsupportedError(absl::StrCat("oneDNN multiplies stacks of at most ", DNNL_MAX_NDIMS, " dimensions"));
  for (int i = rank - 3; i >= 0; --i) {
    dims[i] = batch[i];
    strides[i] = size;
    size *= batch[i];
  }
  dims[rank - 2] = rows;
  dims[rank - 1] = cols;
  strides[rank - 2] = row;
  strides[rank - 1] = col;
  MemoryDesc md;
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_strides(&md, rank, dims, type, strides));
  return md;
}

std::vector<int64_t> Batch(const std::vector<int64_t>& batch, const ProductPart& part) {
  return batch.size() == 1 && batch[0] > 1 ? std::vector<int64_t>{part.b} : batch;
}

absl::StatusOr<MemoryDesc> ADesc(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type) {
  return MatrixDesc(Batch(s.a_batch, part), part.m, s.k, s.trans_a ? 1 : s.k, s.trans_a ? s.m : 1, s.m * s.k, type);
}

absl::StatusOr<MemoryDesc> OutDesc(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type) {
  std::vector<int64_t> batch = Batch(s.a_batch, part);
  const std::vector<int64_t> other = Batch(s.b_batch, part);
  for (size_t i = 0; i < batch.size(); ++i) batch[i] = std::max(batch[i], other[i]);
  return MatrixDesc(batch, part.m, part.n, part.m == 1 ? part.n : s.n, 1, s.m * s.n, type);
}

// Gives `use`, which takes what oneDNN is told, the product of this part.
template <typename Use>
absl::Status DescribePart(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type, bool pack_b, ProductChoice* choice,
                          Use use) {
  ProductChoice& c = *choice;
  if (type == dnnl_bf16) c.type = DType::kBF16;
  if (c.bf16() && s.out_storage == DType::kBF16) c.out_type = DType::kBF16;
  AMPC_ASSIGN_OR_RETURN(c.a, ADesc(s, part, type));
  AMPC_ASSIGN_OR_RETURN(c.b, BDesc(s, part, type));
  AMPC_ASSIGN_OR_RETURN(c.out, OutDesc(s, part, c.out_type == DType::kBF16 ? dnnl_bf16 : dnnl_f32));
  AMPC_ASSIGN_OR_RETURN(c.bias, MatrixDesc(std::vector<int64_t>(s.a_batch.size(), 1), 1, part.n, part.n, 1, part.n, dnnl_f32));
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
  return use(&d, attr.get());
}

// `name`: of an implementation; "": the first.
absl::StatusOr<ProductChoice> Choose(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type, bool pack_b,
                                     absl::string_view name) {
  ProductChoice c;
  const auto use = [&](const dnnl_matmul_desc_t* desc, const_dnnl_primitive_attr_t attr) -> absl::Status {
    AMPC_ASSIGN_OR_RETURN(c.pd, name.empty() ? MakePrimitiveDesc(desc, attr) : MakePrimitiveDescOf(name, desc, attr));
    return absl::OkStatus();
  };
  AMPC_RETURN_IF_ERROR(DescribePart(s, part, type, pack_b, &c, use));
  if (c.pd != nullptr) c.b = QueryDesc(c.pd.get(), dnnl_query_weights_md);
  return c;
}

bool MayBeBf16(const MatmulSpec& s) { return s.native_bf16 && s.b_row == 0 && ComputesInBf16(); }

// Conversion of an operand to bf16 touches each element once; the product has to use each often.
bool Bf16Pays(const MatmulSpec& s) { return (s.a_storage == DType::kBF16 && s.b_storage == DType::kBF16) || (s.n >= 16 && s.k >= 16); }

}  // namespace

ProductPart WholeProduct(const MatmulSpec& s) {
  return {0, s.a_batch.size() == 1 ? std::max(s.a_batch[0], s.b_batch[0]) : 0, 0, s.m, 0, s.n};
}

int64_t BRow(const MatmulSpec& s) { return s.b_row > 0 ? s.b_row : s.trans_b ? s.k : s.n; }
int64_t BSize(const MatmulSpec& s) { return BRow(s) * (s.trans_b ? s.n : s.k); }

absl::StatusOr<MemoryDesc> BDesc(const MatmulSpec& s, const ProductPart& part, dnnl_data_type_t type) {
  return MatrixDesc(Batch(s.b_batch, part), s.k, part.n, s.trans_b ? 1 : BRow(s), s.trans_b ? BRow(s) : 1, BSize(s), type);
}

absl::StatusOr<ProductChoice> ChooseProduct(const MatmulSpec& s, const ProductPart& part, bool pack_b) {
  if (!s.implementation.empty()) {
    const KernelName name = ParseName(s.implementation);
    AMPC_ASSIGN_OR_RETURN(ProductChoice c, Choose(s, part, name.type == DType::kBF16 ? dnnl_bf16 : dnnl_f32, pack_b, name.implementation));
    if (c.pd != nullptr) return c;
  }
  if (MayBeBf16(s) && Bf16Pays(s)) {
    AMPC_ASSIGN_OR_RETURN(ProductChoice c, Choose(s, part, dnnl_bf16, pack_b, ""));
    if (c.pd != nullptr && absl::StartsWith(ImplementationOf(c.pd.get()), "brg")) return c;
  }
  AMPC_ASSIGN_OR_RETURN(ProductChoice c, Choose(s, part, dnnl_f32, pack_b, ""));
  if (c.pd == nullptr) return UnsupportedError("oneDNN has no matrix product for these shapes");
  return c;
}

absl::StatusOr<std::vector<std::string>> ProductImplementations(const MatmulSpec& s, bool pack_b) {
  AMPC_ASSIGN_OR_RETURN(const ProductChoice own, ChooseProduct(s, WholeProduct(s), pack_b));
  std::vector<std::string> names = {NameOf(own.pd.get(), own.type)};
  for (DType type : {DType::kBF16, DType::kF32}) {
    if (type == DType::kBF16 && !MayBeBf16(s)) continue;
    ProductChoice c;
    AMPC_RETURN_IF_ERROR(
        DescribePart(s, WholeProduct(s), type == DType::kBF16 ? dnnl_bf16 : dnnl_f32, pack_b, &c,
                     [&](const dnnl_matmul_desc_t* desc, const_dnnl_primitive_attr_t attr) { return AddNames(desc, attr, type, &names); }));
  }
  return names;
}

std::string ShapeText(const MatmulSpec& s, bool constant_b) {
  return absl::StrCat("product", s.native_bf16 ? " bf16" : " f32", " stacks ", absl::StrJoin(s.a_batch, ","), "/",
                      absl::StrJoin(s.b_batch, ","), " m ", s.m, " n ", s.n, " k ", s.k, s.trans_a ? " a turned" : "",
                      s.trans_b ? " b turned" : "", s.b_row > 0 ? absl::StrCat(" b rows ", s.b_row) : "", " a ", Name(s.a_storage), " b ",
                      constant_b ? "constant" : Name(s.b_storage), " out ", Name(s.out_storage), s.has_bias ? " bias" : "",
                      s.scale != 1 ? " scaled" : "", TextOf(s.activation));
}

}  // namespace ampc::onednn
