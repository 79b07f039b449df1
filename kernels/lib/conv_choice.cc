#include "kernels/lib/conv_choice.h"

#include <algorithm>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/lib/conv_descs.h"
#include "kernels/lib/kernel_name.h"

namespace ampc::onednn {
namespace {

absl::StatusOr<Attr> ConvAttr(const ConvSpec& s, const MemoryDesc& out, bool sum) {
  AMPC_ASSIGN_OR_RETURN(const PostOps ops, MakePostOps());
  if (s.has_residual && sum) {
    AMPC_DNNL_CALL(dnnl_post_ops_append_sum(ops.get(), 1.0f));
  } else if (s.has_residual) {
    AMPC_DNNL_CALL(dnnl_post_ops_append_binary(ops.get(), dnnl_binary_add, &out));
  }
  AMPC_RETURN_IF_ERROR(AppendActivation(s.activation, ops.get()));
  return MakeAttr(ops.get());
}

// brgconv compiles a program for each way in which a window may stick out into the padding: on long rows and wide windows that takes
// longer than a thousand runs of a small convolution, which the older implementation computes as fast. `whole`: what a part is a part of;
// parts compute as the whole does.
bool OlderPays(const ConvSpec& whole, const_dnnl_primitive_desc_t pd) {
  constexpr double kSmall = 3e7;            // multiply-adds
  constexpr int64_t kFewestPositions = 16;  // below, brgconv wins 1 to 2 us a run
  return ImplementationOf(pd) == "brgconv:avx512_core" && Work(whole) < kSmall && whole.out_positions() >= kFewestPositions;
}

dnnl_data_type_t TypeOf(DType type) { return type == DType::kBF16 ? dnnl_bf16 : dnnl_f32; }

using Use = absl::FunctionRef<absl::Status(const_dnnl_op_desc_t, const_dnnl_primitive_attr_t)>;

// Gives `use` the convolution as oneDNN is told about it.
absl::Status Describe(const ConvSpec& s, dnnl_data_type_t type, bool sum, ConvDescs* d, Use use) {
  d->sum = sum;
  d->type = type == dnnl_bf16 ? DType::kBF16 : DType::kF32;
  d->out_type = type == dnnl_bf16 && s.out_storage == DType::kBF16 ? DType::kBF16 : DType::kF32;
  AMPC_ASSIGN_OR_RETURN(d->in, ActivationDesc(s.batch, s.in_c, Each(s, [](const auto& a) { return a.in; }), type));
  AMPC_ASSIGN_OR_RETURN(d->out, ActivationDesc(s.batch, s.out_c, Each(s, [](const auto& a) { return a.out; }), TypeOf(d->out_type)));
  AMPC_ASSIGN_OR_RETURN(d->filter, FilterDesc(s, type, /*any=*/true));
  const dnnl_dims_t channels = {s.out_c};
  AMPC_DNNL_CALL(dnnl_memory_desc_init_by_tag(&d->bias, 1, channels, dnnl_f32, dnnl_a));
  const MemoryDesc* bias = s.has_bias ? &d->bias : nullptr;
  const Sizes strides = Each(s, [](const auto&a) { return a.stride; }), dilates = Each(s, [](const auto&a) { return a.dilation - 1; });
  const Sizes before = Each(s, [](const auto&a) { return a.before; }), after = Each(s, [](const auto&a) { return a.after; });
  AMPC_ASSIGN_OR_RETURN(const Attr attr, ConvAttr(s, d->out, sum));
  if (s.transposed) {
    dnnl_deconvolution_desc_t desc;
    AMPC_DNNL_CALL(dnnl_dilated_deconvolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_deconvolution_direct, &d->in,
                                                                &d->filter, bias, &d->out, strides.data(), dilates.data(), before.data(),
                                                                after.data()));
    return use(&desc, attr.get());
  }
  dnnl_convolution_desc_t desc;
  AMPC_DNNL_CALL(dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct, &d->in, &d->filter,
                                                            bias, &d->out, strides.data(), dilates.data(), before.data(), after.data()));
  return use(&desc, attr.get());
}

// For one element type; a null pd when oneDNN has nothing for it. `name`: of an implementation; "": by the table.
absl::StatusOr<ConvChoice> Choose(const ConvSpec& s, const ConvSpec& whole, dnnl_data_type_t type, bool sum, absl::string_view name) {
  ConvChoice c;
  const auto use = [&](const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr) -> absl::Status {
    if (!name.empty()) {
      AMPC_ASSIGN_OR_RETURN(c.pd, MakePrimitiveDescOf(name, desc, attr));
      return absl::OkStatus();
    }
    AMPC_ASSIGN_OR_RETURN(c.pd, MakePrimitiveDesc(desc, attr));
    if (s.transposed || c.pd == nullptr || !OlderPays(whole, c.pd.get())) return absl::OkStatus();
    AMPC_ASSIGN_OR_RETURN(PrimitiveDesc older, MakePrimitiveDescOf("jit:avx512_core", desc, attr));
    if (older != nullptr) c.pd = std::move(older);
    return absl::OkStatus();
  };
  AMPC_RETURN_IF_ERROR(Describe(s, type, sum, &c.descs, use));
  if (c.pd != nullptr) c.descs.filter = QueryDesc(c.pd.get(), dnnl_query_weights_md);
  return c;
}

absl::StatusOr<ConvChoice> ChooseOf(const ConvSpec& s, const ConvSpec& whole, bool sum) {
  if (!s.implementation.empty()) {
    const KernelName name = ParseName(s.implementation);
    AMPC_ASSIGN_OR_RETURN(ConvChoice c, Choose(s, whole, TypeOf(name.type), sum, name.implementation));
    if (c.pd != nullptr) return c;
  }
  return ChooseType(s, [&](const ConvSpec& spec, dnnl_data_type_t type) { return Choose(spec, whole, type, sum, ""); });
}

}  // namespace

// oneDNN has more implementations that add to what the result's memory holds than such that read the residual from elsewhere.
absl::StatusOr<ConvChoice> ChooseConv(const ConvSpec& s, const ConvSpec& whole) {
  const bool sum = s.has_residual && !s.transposed;
  AMPC_ASSIGN_OR_RETURN(ConvChoice c, ChooseOf(s, whole, sum));
  if (c.pd == nullptr && sum) {
    AMPC_ASSIGN_OR_RETURN(c, ChooseOf(s, whole, false));
  }
  if (c.pd == nullptr) return UnsupportedError("oneDNN has no convolution for this shape");
  return c;
}

absl::StatusOr<std::vector<std::string>> ConvImplementations(const ConvSpec& s) {
  AMPC_ASSIGN_OR_RETURN(const ConvChoice own, ChooseConv(s, s));
  std::vector<std::string> names = {NameOf(own.pd.get(), own.descs.type)};
  for (DType type : {DType::kBF16, DType::kF32}) {
    if (type == DType::kBF16 && !(s.native_bf16 && ComputesInBf16())) continue;
    ConvDescs descs;
    AMPC_RETURN_IF_ERROR(Describe(s, TypeOf(type), own.descs.sum, &descs, [&](const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr) {
      return AddNames(desc, attr, type, &names);
    }));
  }
  return names;
}

std::string ShapeText(const ConvSpec& s, bool constant_filter) {
  const auto stored = [](Layout layout, DType type) { return absl::StrCat(layout == Layout::kPlain ? "plain " : "last ", Name(type)); };
  std::string text = absl::StrCat(s.transposed ? "deconv" : "conv", s.native_bf16 ? " bf16" : " f32", " batch ", s.batch, " channels ",
                                  s.in_c, " to ", s.out_c, " groups ", s.groups);
  for (const ConvSpec::Axis& a : s.axes) {
    absl::StrAppend(&text, " axis ", a.in, " to ", a.out, " window ", a.kernel, "/", a.stride, "/", a.dilation, " pad ", a.before, "+",
                    a.after);
  }
  absl::StrAppend(&text, " in ", stored(s.in, s.in_storage), " out ", stored(s.out, s.out_storage), constant_filter ? "" : " filter fed",
                  s.has_bias ? " bias" : "", s.has_residual ? " residual " : "",
                  s.has_residual ? stored(s.residual, s.residual_storage) : "");
  return absl::StrCat(text, TextOf(s.activation));
}

}  // namespace ampc::onednn
