// The tables of Paddle 2.6.2. Lists: paddle.static.amp of that release; kernels: what its GPU build registers.
#include "passes/amp/policy/policy.h"

namespace ampc {
namespace {

constexpr char kWhite[] = R"(conv2d einsum fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max fused_attention
fused_bn_add_activation fused_feedforward fused_gemm_epilogue matmul matmul_v2 max_pool2d_with_index mul resnet_unit)";

constexpr char kWhiteBf16[] =
    R"(conv2d einsum fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max fused_attention fused_feedforward
fused_gemm_epilogue matmul matmul_v2 max_pool2d_with_index mul)";

constexpr char kBlack[] =
    R"(acos asin atanh bicubic_interp_v2 bilinear_interp_v2 c_softmax_with_cross_entropy cosh cross_entropy cross_entropy2 cumprod
cumsum dist erfinv exp expm1 frobenius_norm group_norm hsigmoid_loss huber_loss layer_norm linear_interp_v2 log log10 log2
log_loss log_softmax lookup_table lookup_table_v2 margin_cross_entropy mean nearest_interp_v2 nll_loss pnorm pow reciprocal
reduce_mean reduce_prod reduce_sum renorm rsqrt scatter sigmoid_cross_entropy_with_logits sinh softmax
softmax_with_cross_entropy softmin softplus square tan tanh_shrink trilinear_interp_v2 triplet_margin_loss)";

constexpr char kGray[] =
    R"(batch_norm c_allreduce_sum c_concat c_identity cast concat dropout elementwise_add elementwise_div elementwise_floordiv
elementwise_max elementwise_min elementwise_mod elementwise_mul elementwise_pow elementwise_sub fill_constant flatten2
fused_attention fused_bn_add_activation fused_feedforward fused_multi_transformer gather gaussian_random
get_tensor_from_selected_rows layer_norm leaky_relu pool2d pool3d rank relu relu6 reshape2 scale sigmoid sign slice soft_relu
split stack tanh top_k transpose2 uniform_random uniform_random_batch_size_like unstack)";

// Sensitive, but trusted at O2.
constexpr char kBlackO1Only[] =
    R"(acos asin atanh c_softmax_with_cross_entropy cosh cross_entropy cross_entropy2 cumprod cumsum dist erfinv exp expm1
frobenius_norm group_norm hsigmoid_loss huber_loss layer_norm log log10 log2 log_loss log_softmax margin_cross_entropy mean
nll_loss pnorm pow reciprocal reduce_mean reduce_prod reduce_sum renorm rsqrt sigmoid_cross_entropy_with_logits sinh softmax
softmax_with_cross_entropy softmin softplus square tan tanh_shrink triplet_margin_loss)";

constexpr char kKernelsF16[] =
    R"(abs accuracy acos acosh adadelta adagrad adam adamax adamw addmm all_gather all_reduce all_to_all allclose alltoall angle
arg_max arg_min argsort as_strided asin asinh assign atan atan2 atanh batch_norm bce_loss beam_search_decode bernoulli
bicubic_interp_v2 bilinear_interp_v2 block_multihead_attention bmm brelu broadcast broadcast_tensors c_allgather c_allreduce_max
c_allreduce_min c_allreduce_prod c_allreduce_sum c_broadcast c_concat c_embedding c_identity c_reduce_max c_reduce_min
c_reduce_prod c_reduce_sum c_reducescatter c_scatter c_softmax_with_cross_entropy c_split c_sync_calc_stream cast ceil celu
channel_shuffle check_finite_and_unscale check_memory_continue check_numerics clip clip_by_norm coalesce_tensor concat
conditional_block conditional_block_infer conj conv2d conv2d_transpose conv3d conv3d_transpose cos cosh cross cross_entropy
cross_entropy2 cross_entropy_grad2 cumprod cumsum depthwise_conv2d dequantize_linear determinant diag_v2 diagonal digamma
dirichlet dist dist_concat dot dropout dropout_nd einsum elementwise_add elementwise_div elementwise_floordiv elementwise_fmax
elementwise_fmin elementwise_heaviside elementwise_max elementwise_min elementwise_mod elementwise_mul elementwise_pow
elementwise_sub elu empty equal erf erfinv exp expand expand_v2 expm1 exponential eye fake_channel_wise_dequantize_max_abs
fake_channel_wise_quantize_abs_max fake_dequantize_max_abs fake_quantize_abs_max fake_quantize_dequantize_abs_max
fake_quantize_dequantize_moving_average_abs_max fake_quantize_moving_average_abs_max fake_quantize_range_abs_max fc feed
fill_any fill_any_like fill_constant fill_constant_batch_size_like fill_diagonal fill_diagonal_tensor fill_zeros_like
fill_zeros_like2 flash_attn flash_attn_unpadded flatten_contiguous_range flip floor frame fused_adam fused_attention
fused_batch_norm_act fused_bias_act fused_bias_dropout_residual_layer_norm fused_bias_residual_layernorm fused_bn_add_activation
fused_conv2d_add_act fused_dropout_add fused_elemwise_activation fused_elemwise_add_activation fused_embedding_eltwise_layernorm
fused_fc_elementwise_layernorm fused_feedforward fused_gate_attention fused_gemm_epilogue fused_multi_transformer
fused_multi_transformer_int8 fused_rotary_position_embedding fused_softmax_mask fused_softmax_mask_upper_triangle fusion_group
gather gather_nd gaussian_random gelu global_gather global_scatter grad_add graph_send_recv graph_send_ue_recv graph_send_uv
greater_equal greater_than group_norm gumbel_softmax hard_shrink hard_sigmoid hard_swish hsigmoid_loss huber_loss index_add
index_put index_sample index_select index_select_strided instance_norm isclose isfinite_v2 isinf isinf_v2 isnan isnan_v2 kron
kthvalue label_smooth lamb lars_momentum layer_norm leaky_relu lerp less_equal less_than lgamma linear_interp_v2 linspace
llm_int8_linear lod_array_length log log10 log1p log2 log_softmax logcumsumexp logical_and logical_not logical_or logical_xor
logit logsigmoid logspace logsumexp lookup_table lookup_table_v2 margin_cross_entropy masked_multihead_attention masked_select
matmul matmul_v2 max_pool2d_with_index max_pool3d_with_index maxout mean memcpy memcpy_d2h memcpy_h2d memory_efficient_attention
merged_adam merged_momentum meshgrid mish mode moe momentum moving_average_abs_max_scale mp_allreduce_sum mul multi_dot
multihead_matmul multinomial nanmedian nearest_interp_v2 norm not_equal npu_identity overlap_add p_norm p_recv p_recv_array
p_send p_send_array pad pad3d partial_allgather partial_concat partial_recv partial_send pixel_shuffle pixel_unshuffle pnorm
poisson pool2d pool3d pow prelu put_along_axis quant_linear quantize_linear random_routing randperm range rank reciprocal
recv_v2 reduce reduce_max reduce_mean reduce_min reduce_prod reduce_scatter reduce_sum relu relu6 reshape reshape2 resnet_unit
rms_norm rmsprop roll round rrelu rsqrt save scale scatter scatter_nd_add segment_pool select_input selu send_v2 set_value sgd
shape share_buffer share_data sigmoid sign silu sin sinh size skip_layernorm slice soft_relu softmax softmax_with_cross_entropy
softmin softplus softshrink softsign sparse_momentum split sqrt square squared_l2_norm squeeze2 stack stanh strided_slice sum
swish sync_batch_norm take_along_axis tan tanh tanh_shrink temporal_shift tensor_array_to_tensor tensor_unfold thresholded_relu
tile top_k top_k_v2 top_p_sampling trace transfer_dtype transfer_layout transpose2 tril_triu trilinear_interp_v2
triplet_margin_loss trunc unbind unfold uniform_random uniform_random_inplace unique unsqueeze2 unstack unzip
update_loss_scaling variable_length_memory_efficient_attention view_dtype view_shape weight_dequantize weight_only_linear
weight_quantize where where_index while write_to_array)";

constexpr char kKernelsBf16[] =
    R"(abs accuracy acos acosh adam adamw addmm all_gather all_reduce all_to_all alltoall angle arg_max arg_min argsort as_strided asin
asinh assign atan atan2 atanh batch_norm bernoulli bicubic_interp_v2 bilinear_interp_v2 bmm brelu broadcast broadcast_tensors
c_allgather c_allreduce_max c_allreduce_sum c_broadcast c_concat c_embedding c_identity c_reducescatter c_split cast ceil celu
channel_shuffle check_finite_and_unscale check_numerics clip clip_by_norm coalesce_tensor concat conditional_block
conditional_block_infer conj conv2d conv2d_transpose conv3d conv3d_transpose cos cosh cross cumprod cumsum depthwise_conv2d
diag_v2 diagonal digamma dirichlet dist dist_concat dot dropout dropout_nd einsum elementwise_add elementwise_div
elementwise_floordiv elementwise_fmax elementwise_fmin elementwise_heaviside elementwise_max elementwise_min elementwise_mod
elementwise_mul elementwise_pow elementwise_sub elu empty equal erf erfinv exp expand_as_v2 expand_v2 expm1 exponential eye feed
fill_any fill_any_like fill_constant fill_constant_batch_size_like fill_diagonal_tensor flash_attn flash_attn_unpadded
flatten_contiguous_range flip floor frame fused_adam fused_bias_act fused_bias_residual_layernorm fused_dropout_add
fused_gate_attention fused_gemm_epilogue fused_rotary_position_embedding fused_softmax_mask_upper_triangle gather gather_nd
gaussian_random gelu grad_add greater_equal greater_than group_norm hard_shrink hard_sigmoid hard_swish hsigmoid_loss huber_loss
index_add index_put index_sample index_select index_select_strided instance_norm isfinite_v2 isinf isinf_v2 isnan isnan_v2 kron
kthvalue label_smooth lamb layer_norm leaky_relu lerp less_equal less_than lgamma linear_interp_v2 linspace llm_int8_linear
lod_array_length log log10 log1p log2 log_softmax logcumsumexp logical_and logical_not logical_or logical_xor logit logsigmoid
logspace logsumexp lookup_table_v2 margin_cross_entropy masked_multihead_attention masked_select matmul_v2 max_pool2d_with_index
max_pool3d_with_index memcpy memcpy_d2h memcpy_h2d memory_efficient_attention merged_adam meshgrid mish mode mp_allreduce_sum
mul multi_dot multinomial nanmedian nearest_interp_v2 norm not_equal overlap_add p_norm p_recv p_recv_array p_send p_send_array
pad pad3d partial_allgather partial_recv partial_send pixel_shuffle pixel_unshuffle pnorm poisson pool2d pool3d pow prelu
put_along_axis randperm range rank reciprocal recv_v2 reduce reduce_max reduce_mean reduce_min reduce_prod reduce_scatter
reduce_sum relu relu6 repeat_interleave reshape reshape2 rms_norm roll round rrelu rsqrt save scale scatter scatter_nd_add
segment_pool select_input selu send_v2 set_value sgd shape share_buffer sigmoid sign silu sin sinh size slice soft_relu softmax
softmin softplus softshrink softsign split sqrt square squared_l2_norm squeeze2 stack stanh strided_slice sum swish
sync_batch_norm take_along_axis tan tanh tanh_shrink temporal_shift tensor_array_to_tensor tensor_unfold thresholded_relu tile
top_k_v2 trace transfer_dtype transfer_layout transpose2 tril_triu trilinear_interp_v2 triplet_margin_loss trunc unbind unfold
uniform_random uniform_random_inplace unique unsqueeze2 unstack update_loss_scaling variable_length_memory_efficient_attention
view_dtype view_shape weight_dequantize weight_only_linear weight_quantize where where_index while write_to_array)";

constexpr SlotRule kInputs[] = {
    {"batch_norm", true, "X"},
    {"layer_norm", true, "X"},
    {"instance_norm", true, "X"},
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

const PaddlePolicy& Paddle26() {
  static const PaddlePolicy kPolicy = [] {
    PaddlePolicy p;
    p.name = "paddle-2.6";
    p.alias = "2.6.2";
    p.algorithm = PaddleAlgorithm::kUnified;
    p.has_bf16 = true;
    p.white_bf16 = kWhiteBf16;
    p.black_o1_only = kBlackO1Only;
    p.kernels_bf16 = kKernelsBf16;
    p.white_f16 = kWhite;
    p.black = kBlack;
    p.gray = kGray;
    p.kernels_f16 = kKernelsF16;
    p.inputs = kInputs;
    p.outputs = kOutputs;
    return p;
  }();
  return kPolicy;
}

}  // namespace ampc
