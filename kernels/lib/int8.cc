#include "kernels/lib/int8.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/lasting_tensor.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/onednn_primitive.h"
#include "kernels/parallel.h"

namespace ampc::onednn {
namespace {

dnnl_data_type_t TypeOf(DType dtype) {
  return dtype == DType::kU8 ? dnnl_u8 : dtype == DType::kI8 ? dnnl_s8 : dtype == DType::kI32 ? dnnl_s32 : dnnl_f32;
}

// The bytes of `data`, in the order `to`; shared under `key`.
absl::StatusOr<WeightCache::Packed> PackBytes(const HostTensor& data, const HostTensor* key, const MemoryDesc& from, const MemoryDesc& to,
                                              WeightCache* cache) {
  const std::string format = absl::StrCat("int8+", absl::string_view(reinterpret_cast<const char*>(&to), sizeof(to)),
                                          absl::string_view(reinterpret_cast<const char*>(&from), sizeof(from)));
  return GetPacked(key == nullptr ? nullptr : cache, key, format, [&]() -> absl::StatusOr<WeightCache::Packed> {
    AMPC_ASSIGN_OR_RETURN(const std::unique_ptr<Primitive> reorder, Primitive::CreateReorder(from, to));
    AMPC_ASSIGN_OR_RETURN(const std::shared_ptr<HostTensor> packed, CreateLasting(DType::kU8, {Bytes(to)}));
    AMPC_ASSIGN_OR_RETURN(const HostTensor scratch, HostTensor::CreateUninitialized(DType::kU8, {reorder->scratchpad_bytes()}));
    AMPC_RETURN_IF_ERROR(reorder->Execute({data.data(), packed->mutable_data(), scratch.data()}));
    return packed;
  });
}

// Stacks of matrices of rows x cols that lie one after the other; transposed: stored cols x rows.
absl::StatusOr<MemoryDesc> StackDesc(const std::vector<int64_t>& batch, int64_t rows, int64_t cols, bool transposed,
                                     dnnl_data_type_t type) {
  dnnl_dims_t dims, strides;
  const int rank = static_cast<int>(batch.size()) + 2;
  if (rank > DNNL_MAX_NDIMS) return UnsupportedError(absl::StrCat("oneDNN multiplies stacks of at most ", DNNL_MAX_NDIMS, " dimensions"));
  int64_t size = rows * cols;
  for (int i = rank - 3; i >= 0; size *= batch[i--]) {
    dims[i] = batch[i];
    strides[i] = size;
  }
  dims[rank - 2] = rows;
  dims[rank - 1] = cols;
  strides[rank - 2] = transposed ? 1 : cols;
  strides[rank - 1] = transposed ? rows : 1;
  MemoryDesc md;
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_strides(&md, rank, dims, type, strides));
  return md;
}

// One primitive on all threads: sums of integers do not depend on their order.
class OneDnnInt8Matmul final : public Int8Matmul {
 public:
  static absl::StatusOr<std::unique_ptr<Int8Matmul>> Make(const MatmulSpec& given, DType a_type, const HostTensor* b, const HostTensor* key,
                                                          WeightCache* cache) {
    std::unique_ptr<OneDnnInt8Matmul> mm(new OneDnnInt8Matmul);
    const MatmulSpec s = Simplified(given);
    mm->threads_ = s.threads;
    const ScopedThreads threads(s.threads);
    std::vector<int64_t> batch = s.a_batch;
    for (size_t i = 0; i < batch.size(); ++i) batch[i] = std::max(batch[i], s.b_batch[i]);
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc a_desc, StackDesc(s.a_batch, s.m, s.k, false, TypeOf(a_type)));
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc plain, StackDesc(s.b_batch, s.k, s.n, s.trans_b, dnnl_s8));
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc out, StackDesc(batch, s.m, s.n, false, dnnl_s32));
    MemoryDesc b_desc = plain;
    if (b != nullptr) {
      AMPC_DNNL_CALL(dnnl_memory_desc_init_by_tag(&b_desc, plain.ndims, plain.dims, dnnl_s8, dnnl_format_tag_any));
    }
    AMPC_ASSIGN_OR_RETURN(const Attr attr, MakeAttr(nullptr));
    dnnl_matmul_desc_t d;
    AMPC_DNNL_CALL(dnnl_matmul_desc_init(&d, &a_desc, &b_desc, nullptr, &out));
    AMPC_ASSIGN_OR_RETURN(const PrimitiveDesc pd, MakePrimitiveDesc(&d, attr.get()));
    if (pd == nullptr) return UnsupportedError("oneDNN has no product of integers for these shapes");
    b_desc = QueryDesc(pd.get(), dnnl_query_weights_md);
    if (b != nullptr) {
      AMPC_ASSIGN_OR_RETURN(mm->packed_, PackBytes(*b, key, plain, b_desc, cache));
    }
    const void* fixed = b == nullptr ? nullptr : mm->packed_->data();
    AMPC_ASSIGN_OR_RETURN(mm->primitive_,
                          Primitive::Create(pd.get(), {{DNNL_ARG_SRC, a_desc}, {DNNL_ARG_WEIGHTS, b_desc, fixed}, {DNNL_ARG_DST, out}}));
    mm->implementation_ = absl::StrCat("onednn:", ImplementationOf(pd.get()), ":int8");
    return mm;
  }

  int64_t workspace_bytes() const override { return primitive_->scratchpad_bytes(); }
  std::string implementation() const override { return implementation_; }
  absl::Status Run(const void* a, const void* b, int32_t* out, void* workspace) const override {
    const ScopedThreads threads(threads_);
    return primitive_->Execute({a, b, out, workspace});
  }

 private:
  OneDnnInt8Matmul() = default;

  int threads_ = 1;
  WeightCache::Packed packed_;
  std::unique_ptr<Primitive> primitive_;
  std::string implementation_;
};

absl::StatusOr<Attr> Int8ConvAttr(const Int8ConvSpec& s) {
  AMPC_ASSIGN_OR_RETURN(const PostOps ops, MakePostOps());
  AMPC_RETURN_IF_ERROR(AppendActivation(s.conv.activation, ops.get()));
  AMPC_ASSIGN_OR_RETURN(Attr attr, MakeAttr(ops.get()));
  AMPC_DNNL_CALL(dnnl_primitive_attr_set_output_scales(attr.get(), static_cast<dnnl_dim_t>(s.scales.size()), 1 << 1, s.scales.data()));
  for (const auto& [arg, zero] : {std::pair(DNNL_ARG_SRC, &s.in_zero), std::pair(DNNL_ARG_DST, &s.out_zero)}) {
    if (*zero != 0) AMPC_DNNL_CALL(dnnl_primitive_attr_set_zero_points(attr.get(), arg, 1, 0, zero));
  }
  return attr;
}

class OneDnnInt8Conv final : public Int8Conv {
 public:
  static absl::StatusOr<std::unique_ptr<Int8Conv>> Make(const Int8ConvSpec& s, const HostTensor& filter, const HostTensor* key,
                                                        WeightCache* cache) {
    std::unique_ptr<OneDnnInt8Conv> conv(new OneDnnInt8Conv);
    const ConvSpec& c = s.conv;
    conv->threads_ = Work(c) < kWorkOfOneThread ? 1 : c.threads;
    const ScopedThreads threads(conv->threads_);
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc in, ActivationDesc(c.batch, c.in_c, Each(c, [](const auto& a) { return a.in; }), TypeOf(s.in)));
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc out,
                          ActivationDesc(c.batch, c.out_c, Each(c, [](const auto& a) { return a.out; }), TypeOf(s.out)));
    AMPC_ASSIGN_OR_RETURN(const MemoryDesc given, FilterDesc(c, dnnl_s8, /*any=*/false));
    AMPC_ASSIGN_OR_RETURN(MemoryDesc wanted, FilterDesc(c, dnnl_s8, /*any=*/true));
    MemoryDesc bias;
    const dnnl_dims_t channels = {c.out_c};
    AMPC_DNNL_CALL(dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a));
    const Sizes strides = Each(c, [](const auto&a) { return a.stride; }), dilates = Each(c, [](const auto&a) { return a.dilation - 1; });
    const Sizes before = Each(c, [](const auto&a) { return a.before; }), after = Each(c, [](const auto&a) { return a.after; });
    AMPC_ASSIGN_OR_RETURN(const Attr attr, Int8ConvAttr(s));
    dnnl_convolution_desc_t d;
    AMPC_DNNL_CALL(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &in, &wanted,
                                                              s.bias.empty() ? nullptr : &bias, &out, strides.data(), dilates.data(),
                                                              before.data(), after.data()));
    AMPC_ASSIGN_OR_RETURN(const PrimitiveDesc pd, MakePrimitiveDesc(&d, attr.get()));
    if (pd == nullptr || absl::StartsWith(ImplementationOf(pd.get()), "ref")) return std::unique_ptr<Int8Conv>();
    wanted = QueryDesc(pd.get(), dnnl_query_weights_md);
    AMPC_ASSIGN_OR_RETURN(conv->packed_, PackBytes(filter, key, given, wanted, cache));
    AMPC_RETURN_IF_ERROR(conv->SetBias(s));
    std::vector<Primitive::Arg> args = {{DNNL_ARG_SRC, in}, {DNNL_ARG_WEIGHTS, wanted, conv->packed_->data()}, {DNNL_ARG_DST, out}};
    if (!s.bias.empty()) args.push_back({DNNL_ARG_BIAS, bias, conv->bias_.data()});
    AMPC_ASSIGN_OR_RETURN(conv->primitive_, Primitive::Create(pd.get(), std::move(args)));
    conv->implementation_ = absl::StrCat("onednn:", ImplementationOf(pd.get()), ":int8");
    return conv;
  }

  int64_t workspace_bytes() const override { return primitive_->scratchpad_bytes(); }
  std::string implementation() const override { return implementation_; }
  absl::Status Run(const void* in, void* out, void* workspace) const override {
    const ScopedThreads threads(threads_);
    std::array<const void*, 5> buffers = {in, nullptr, out};
    buffers[bias_.empty() ? 3 : 4] = workspace;
    return primitive_->Execute(absl::MakeConstSpan(buffers.data(), bias_.empty() ? 4 : 5));
  }

 private:
  static constexpr double kWorkOfOneThread = 4e5;  // a team of threads costs more than this many multiply-adds on one
  OneDnnInt8Conv() = default;

  // oneDNN adds the bias in front of the scale, and reads a whole vector of it where there are fewer channels.
  absl::Status SetBias(const Int8ConvSpec& s) {
    if (s.bias.empty()) return absl::OkStatus();
    bias_.resize((s.bias.size() + 63) / 64 * 64);
    for (size_t i = 0; i < s.bias.size(); ++i) bias_[i] = s.bias[i] / s.scales[i];
    return absl::OkStatus();
  }

  int threads_ = 1;
  WeightCache::Packed packed_;
  std::vector<float> bias_;
  std::unique_ptr<Primitive> primitive_;
  std::string implementation_;
};

}  // namespace

bool HasExactInt8() {
  const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  constexpr auto kAvx512Vnni = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_vnni);
  return (isa & kAvx512Vnni) == kAvx512Vnni;
}

absl::StatusOr<std::unique_ptr<Int8Matmul>> MakeInt8Matmul(const MatmulSpec& spec, DType a_type, const HostTensor* b, const HostTensor* key,
                                                           WeightCache* cache) {
  return OneDnnInt8Matmul::Make(spec, a_type, b, key, cache);
}

absl::StatusOr<std::unique_ptr<Int8Conv>> MakeInt8Conv(const Int8ConvSpec& spec, const HostTensor& filter, const HostTensor* key,
                                                       WeightCache* cache) {
  return OneDnnInt8Conv::Make(spec, filter, key, cache);
}

}  // namespace ampc::onednn
