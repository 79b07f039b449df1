// The tables of Paddle 2.6.2's convert_to_mixed_precision, which rewrites trained models for deployment on a GPU. Its kernels are
// those of paddle_2_6.cc. Layer normalisation is not protected in that release: its scale and bias become low.
#include "passes/amp/policy/policy.h"

namespace ampc {
namespace {

constexpr char kBlack[] = R"(c_softmax_with_cross_entropy cast conv2d_transpose cross_entropy cross_entropy2 exp log mean reduce_sum
sigmoid_cross_entropy_with_logits softmax_with_cross_entropy square sum)";

// Static AMP lets these pass though no kernel of theirs computes.
constexpr char kWithoutKernels[] =
    R"(conditional_block conditional_block_infer lod_array_length select_input tensor_array_to_tensor while write_to_array)";

constexpr char kKernelsF32Only[] =
    R"(affine_channel affine_grid anchor_generator as_complex assign_value auc average_accumulates batch_fc beam_search bicubic_interp
bilateral_slice bilinear_interp bilinear_tensor_product bincount box_clip box_coder box_decoder_and_assign c_sync_comm_stream
cholesky cholesky_solve collect_fpn_proposals complex conv2d_inception_fusion correlation crop crop_tensor cudnn_lstm cummax
cummin cvm data_norm decayed_adagrad deformable_conv_v1 deformable_psroi_pooling density_prior_box depthwise_conv2d_transpose
dgc dgc_clip_by_norm dgc_momentum diag_embed distribute_fpn_proposals distributed_fused_lamb distributed_fused_lamb_init
distributed_lookup_table distributed_push_sparse edit_distance eigh eigvalsh equal_all expand_as_v2
fake_channel_wise_quantize_dequantize_abs_max fft_r2c flatten2 fold frobenius_norm fsp ftrl fused_linear_param_grad_add
fused_seqpool_cvm fused_token_prune fusion_transpose_flatten_concat generate_proposals generate_proposals_v2
get_tensor_from_selected_rows grid_sampler gru gru_unit hinge_loss histogram i0 i0e i1 i1e im2sequence increment inverse
iou_similarity is_empty kldiv_loss l1_norm linear_interp load load_combine lod_reset log_loss lrn lstm lstsq lu lu_unpack
matrix_power matrix_rank merge_selected_rows minus modified_huber_loss multiclass_nms3 multiplex mv nearest_interp nextafter
nll_loss nms nop polygamma polygon_box_transform pow2_decay_with_linear_warmup prior_box proximal_gd psroi_pool
pull_box_extended_sparse pull_box_sparse pull_gpups_sparse push_box_extended_sparse push_box_sparse push_gpups_sparse qr
rank_attention rank_loss reduce_all reduce_amax reduce_amin reduce_any renorm repeat_interleave reverse rnn roi_align roi_pool
row_conv run_program sampling_id save_combine searchsorted send_and_recv sequence_concat sequence_conv sequence_expand
sequence_expand_as sequence_mask sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_slice sequence_softmax
sequence_unpad shuffle_batch shuffle_channel sigmoid_cross_entropy_with_logits slogdeterminant solve sparse_attention
spectral_norm spp stft svd triangular_solve trilinear_interp truncated_gaussian_random uniform_random_batch_size_like
unique_consecutive unpool unpool3d viterbi_decode warpctc warprnnt yolo_box yolo_box_head yolo_box_post)";

constexpr char kKernelsLowOnly[] =
    R"(block_multihead_attention flash_attn flash_attn_unpadded fused_bn_add_activation llm_int8_linear resnet_unit weight_dequantize
weight_only_linear weight_quantize)";

constexpr SlotRule kInputs[] = {
    {"batch_norm", false, "Bias Mean Scale Variance"},
    {"sparse_batch_norm", false, "bias mean scale variance"},
    {"instance_norm", false, "Bias Scale"},
    {"fused_multi_transformer", false, "LnScale LnBias FFNLnScale FFNLnBias"},
    {"fused_bias_dropout_residual_layer_norm", false, "LnScale LnBias"},
    {"quantize_linear", false, "Scale ZeroPoint"},
    {"dequantize_linear", false, "Scale ZeroPoint"},
};

constexpr SlotRule kOutputs[] = {
    {"batch_norm", false, "MeanOut VarianceOut SavedMean SavedVariance"},
    {"sparse_batch_norm", false, "mean_out variance_out saved_mean saved_variance reserve_space"},
};

}  // namespace

const PaddlePolicy& PaddleInference26() {
  static const PaddlePolicy kPolicy = [] {
    PaddlePolicy p;
    p.name = "paddle-inference-2.6";
    p.alias = "2.6.2";
    p.algorithm = PaddleAlgorithm::kInference;
    p.has_bf16 = true;
    p.black = kBlack;
    p.kernels_f16 = Paddle26().kernels_f16;
    p.kernels_bf16 = Paddle26().kernels_bf16;
    p.without_kernels = kWithoutKernels;
    p.kernels_f32_only = kKernelsF32Only;
    p.kernels_low_only = kKernelsLowOnly;
    p.inputs = kInputs;
    p.outputs = kOutputs;
    return p;
  }();
  return kPolicy;
}

}  // namespace ampc
