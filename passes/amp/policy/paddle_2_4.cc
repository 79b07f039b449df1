// The tables of Paddle 2.4.2. Lists: paddle.static.amp of that release; kernels: what its GPU build registers.
#include "passes/amp/policy/policy.h"

namespace ampc {
namespace {

constexpr char kWhite[] = R"(conv2d matmul matmul_v2 mul)";

constexpr char kBlack[] =
    R"(bicubic_interp_v2 bilinear_interp_v2 c_softmax_with_cross_entropy cos_sim cross_entropy cross_entropy2 exp linear_interp_v2 log
lookup_table lookup_table_v2 mean nearest_interp_v2 reduce_sum sigmoid_cross_entropy_with_logits softmax
softmax_with_cross_entropy square sum trilinear_interp_v2)";

constexpr char kGray[] =
    R"(batch_norm c_allreduce_sum c_concat c_identity cast concat dropout elementwise_add elementwise_div elementwise_floordiv
elementwise_max elementwise_min elementwise_mod elementwise_mul elementwise_pow elementwise_sub fill_constant flatten2
fused_attention fused_bn_add_activation fused_feedforward fused_multi_transformer gather gaussian_random
gaussian_random_batch_size_like get_tensor_from_selected_rows layer_norm leaky_relu pool2d pool3d rank relu relu6 reshape2 scale
sigmoid sign slice soft_relu split stack tanh top_k transpose2 uniform_random uniform_random_batch_size_like unstack)";

constexpr char kKernelsF16[] =
    R"(abs accuracy acos acosh adam adamw allreduce alltoall arg_max arg_min argsort asin asinh assign atan atan2 atanh batch_norm
beam_search_decode bicubic_interp_v2 bilinear_interp_v2 bmm brelu broadcast broadcast_tensors c_allgather c_allreduce_max
c_allreduce_min c_allreduce_prod c_allreduce_sum c_broadcast c_concat c_embedding c_identity c_reduce_max c_reduce_min
c_reduce_prod c_reduce_sum c_reducescatter c_scatter c_softmax_with_cross_entropy c_split cast ceil celu
check_finite_and_unscale clip clip_by_norm coalesce_tensor concat conj conv2d conv2d_fusion conv2d_transpose conv3d
conv3d_transpose cos cosh cross_entropy cross_entropy2 cross_entropy_grad2 depthwise_conv2d diag_v2 dropout dropout_nd einsum
elementwise_add elementwise_div elementwise_fmax elementwise_fmin elementwise_heaviside elementwise_max elementwise_min
elementwise_mod elementwise_mul elementwise_pow elementwise_sub elu empty equal erf exp expand expand_v2 expm1 eye
fake_channel_wise_dequantize_max_abs fake_channel_wise_quantize_abs_max fake_dequantize_max_abs fake_quantize_abs_max
fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max fake_quantize_moving_average_abs_max
fake_quantize_range_abs_max fc fill fill_any fill_any_like fill_constant fill_constant_batch_size_like fill_diagonal
fill_diagonal_tensor fill_zeros_like fill_zeros_like2 flatten_contiguous_range flip floor frame fused_attention
fused_batch_norm_act fused_bias_dropout_residual_layer_norm fused_bn_add_activation fused_elemwise_activation
fused_elemwise_add_activation fused_embedding_eltwise_layernorm fused_fc_elementwise_layernorm fused_feedforward
fused_gate_attention fused_multi_transformer fused_multi_transformer_int8 fused_softmax_mask fused_softmax_mask_upper_triangle
fusion_group gather gather_nd gaussian_random gaussian_random_batch_size_like gelu global_gather global_scatter grad_add
graph_send_recv graph_send_ue_recv graph_send_uv greater_equal greater_than hard_shrink hard_sigmoid hard_swish index_add
index_select isfinite isfinite_v2 isinf isinf_v2 isnan isnan_v2 kron lamb lars_momentum layer_norm leaky_relu less_equal
less_than linear_interp_v2 log log10 log1p log2 log_softmax logit logsigmoid margin_cross_entropy matmul matmul_v2 mean memcpy
memcpy_d2h memcpy_h2d merged_adam merged_momentum mish momentum moving_average_abs_max_scale mul multi_dot multihead_matmul
nanmedian nearest_interp_v2 norm not_equal overlap_add p_norm pad pad2d pad3d partial_allgather partial_concat partial_recv
partial_send partial_sum pixel_shuffle pool2d pool3d pow prelu put_along_axis py_layer random_routing rank reciprocal recv_v2
reduce_mean reduce_sum relu relu6 reshape reshape2 round rrelu rsqrt save scale scatter_nd_add segment_pool send_v2 set_value
sgd shape share_data sigmoid sign silu sin sinh size skip_layernorm slice soft_relu softmax softmax_with_cross_entropy softplus
softshrink softsign sparse_momentum split sqrt square squeeze squeeze2 stack stanh strided_slice sum swish sync_batch_norm
take_along_axis tan tanh tanh_shrink temporal_shift thresholded_relu tile top_k top_k_v2 trace transfer_dtype transpose2
tril_triu trilinear_interp_v2 unbind uniform_random unsqueeze unsqueeze2 unstack update_loss_scaling where)";

constexpr SlotRule kInputs[] = {
    {"batch_norm", true, "X"},
    {"layer_norm", true, "X"},
    {"fused_bn_add_activation", true, "X Z"},
    {"resnet_unit", true, "X FilterX Z FilterZ"},
    {"fused_attention", false, "LnScale LnBias Ln2Scale Ln2Bias Ln1Scale Ln1Bias"},
    {"fused_feedforward", false, "LnScale LnBias Ln2Scale Ln2Bias Ln1Scale Ln1Bias"},
    {"fused_multi_transformer", false, "LnScale LnBias FFNLnScale FFNLnBias"},
};

constexpr SlotRule kOutputs[] = {
    {"batch_norm", true, "Y"},
    {"layer_norm", true, "Y"},
    {"fused_bn_add_activation", true, "Y"},
    {"resnet_unit", true, "Y ConvX ConvZ"},
    {"fused_attention", false, "LnMean LnVariance Ln2Mean Ln2Variance Ln1Mean Ln1Variance"},
    {"fused_feedforward", false, "LnMean LnVariance Ln2Mean Ln2Variance Ln1Mean Ln1Variance"},
};

}  // namespace

const PaddlePolicy& Paddle24() {
  static const PaddlePolicy kPolicy = [] {
    PaddlePolicy p;
    p.name = "paddle-2.4";
    p.alias = "2.4.2";
    p.white_f16 = kWhite;
    p.black = kBlack;
    p.gray = kGray;
    p.kernels_f16 = kKernelsF16;
    p.lists_casts = "while";
    p.white_lifts_unsupported = "lookup_table lookup_table_v2 scatter";
    p.inputs = kInputs;
    p.outputs = kOutputs;
    return p;
  }();
  return kPolicy;
}

}  // namespace ampc
