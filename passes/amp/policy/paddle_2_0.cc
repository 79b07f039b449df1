// The tables of Paddle 2.0.2. Lists: paddle.static.amp of that release; kernels: what its GPU build registers.
#include "passes/amp/policy/policy.h"

namespace ampc {
namespace {

constexpr char kWhite[] = R"(conv2d matmul matmul_v2 mul)";

constexpr char kBlack[] =
    R"(cos_sim cross_entropy cross_entropy2 exp log lookup_table lookup_table_v2 mean sigmoid_cross_entropy_with_logits softmax
softmax_with_cross_entropy square sum)";

constexpr char kGray[] =
    R"(batch_norm cast dropout elementwise_add elementwise_div elementwise_floordiv elementwise_max elementwise_min elementwise_mod
elementwise_mul elementwise_pow elementwise_sub fill_constant flatten2 fused_bn_add_activation gather gaussian_random
gaussian_random_batch_size_like get_tensor_from_selected_rows layer_norm leaky_relu pool2d pool3d rank relu relu6 reshape2 scale
sigmoid sign slice soft_relu stack tanh top_k transpose2 uniform_random uniform_random_batch_size_like unstack)";

// Written by hand in that release.
constexpr char kUnsupported[] =
    R"(add_position_encoding affine_channel affine_grid anchor_generator beam_search beam_search_decode bilinear_tensor_product
bpr_loss brelu chunk_eval conditional_block conv3d conv_transposed2d conv_transposed3d create_double_buffer_reader
create_py_reader crf_decoding crop ctc_align cudnn_lstm cvm data_norm depthwise_conv2d depthwise_conv2d_transpose edit_distance
elu equal expand fetch_barrier fsp generate_mask_labels generate_proposal_labels generate_proposals greater_equal greater_than
grid_sampler group_norm gru gru_unit hard_sigmoid hash hierarchical_sigmoid huber_loss ifelse im2sequence increment is_empty
kldiv_loss label_smooth less_equal less_than linear_chain_crf load lod_array_length lod_reset log_loss logical_and logical_not
logical_or logical_xor lookup_table lookup_table_v2 lrn lstm lstm_unit lstmp margin_rank_loss maxout mean_iou multiplex nce
not_equal one_hot pad pad2d pad_constant_like pixel_shuffle pow prelu print psroi_pool random_crop rank_loss read
read_from_array recv reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum roi_align roi_pool row_conv
sample_logits sampling_id scatter selu send send_barrier sequence_concat sequence_conv sequence_enumerate sequence_erase
sequence_expand sequence_expand_as sequence_mask sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_scatter
sequence_slice sequence_softmax sequence_unpad shrink_rnn_memory shuffle_channel similarity_focus smooth_l1_loss space_to_depth
spectral_norm split squeeze2 stanh swish teacher_student_sigmoid_loss temporal_shift tree_conv unsqueeze2 warpctc while)";

constexpr SlotRule kInputs[] = {
    {"batch_norm", true, "X Z"},
    {"layer_norm", true, "X Z"},
    {"fused_bn_add_activation", true, "X Z"},
};

constexpr SlotRule kOutputs[] = {
    {"batch_norm", true, "Y"},
    {"layer_norm", true, "Y"},
    {"fused_bn_add_activation", true, "Y"},
};

}  // namespace

const PaddlePolicy& Paddle20() {
  static const PaddlePolicy kPolicy = [] {
    PaddlePolicy p;
    p.name = "paddle-2.0";
    p.alias = "2.0.2";
    p.white_f16 = kWhite;
    p.black = kBlack;
    p.gray = kGray;
    p.unsupported = kUnsupported;
    p.loaded_has_no_producers = true;
    p.lists_casts = "while";
    p.inputs = kInputs;
    p.outputs = kOutputs;
    return p;
  }();
  return kPolicy;
}

}  // namespace ampc
