"""Images in transformers: classifiers, detectors, segmenters, depth, keypoints, restoration."""
import torch
from families.config import model
from network import Network

OPEN = {"pixel_values": {0: "batch"}}
STAGES = dict(depths=[1, 1], hidden_sizes=[16, 32], embed_dim=16, num_heads=[2, 4])
HEAD = "ForImageClassification"


def pixels(side=32, batch=1):
    return {"pixel_values": torch.randn(batch, 3, side, side)}


VIT = dict(image_size=32, patch_size=8)
SWIN = dict(image_size=32, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4)
FOUR = dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])
RESNET = dict(model_type="resnet", hidden_sizes=[16, 16, 24, 32], depths=[1, 1, 1, 1], embedding_size=8, layer_type="basic", out_features=["stage2", "stage3", "stage4"])
DETR = dict(num_queries=6, backbone_config=RESNET, num_labels=5)
ROWS = {
    "vit": ("ViT", HEAD, VIT, 32), "deit": ("DeiT", HEAD, VIT, 32), "beit": ("Beit", HEAD, dict(VIT, use_relative_position_bias=True), 32), "swin": ("Swin", HEAD, SWIN, 32), "swinv2": ("Swinv2", HEAD, SWIN, 32), "dinov2": ("Dinov2", HEAD, VIT, 32), "dinov2_registers": ("Dinov2WithRegisters", "Model", VIT, 32), "dinov3_vit": ("DINOv3ViT", "Model", VIT, 32),
    "convnext": ("ConvNext", HEAD, FOUR, 64), "convnextv2": ("ConvNextV2", HEAD, FOUR, 64), "resnet": ("ResNet", HEAD, dict(FOUR, embedding_size=8), 64), "regnet": ("RegNet", HEAD, dict(FOUR, embedding_size=8, groups_width=8), 64), "bit": ("Bit", HEAD, dict(FOUR, embedding_size=8, num_groups=4, hidden_sizes=[8, 16, 24, 32]), 64), "mobilenet_v1": ("MobileNetV1", HEAD, dict(depth_multiplier=0.25), 64),
    "mobilenet_v2": ("MobileNetV2", HEAD, dict(depth_multiplier=0.35), 64), "mobilevit": ("MobileViT", HEAD, dict(image_size=64, hidden_sizes=[16, 20, 24], neck_hidden_sizes=[8, 8, 16, 16, 20, 24, 32], num_attention_heads=2), 64), "mobilevitv2": ("MobileViTV2", HEAD, dict(width_multiplier=0.25), 64), "segformer": ("Segformer", "ForSemanticSegmentation", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16), 64),
    "pvt": ("Pvt", HEAD, dict(image_size=64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4]), 64), "pvt_v2": ("PvtV2", HEAD, dict(image_size=64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4]), 64), "cvt": ("Cvt", HEAD, dict(embed_dim=[8, 16, 24], num_heads=[1, 2, 3], depth=[1, 2, 3]), 64), "levit": ("Levit", HEAD, dict(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[8, 8, 8]), 64), "poolformer": ("PoolFormer", HEAD, FOUR, 64),
    "focalnet": ("FocalNet", HEAD, dict(image_size=32, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2], focal_windows=[3, 3]), 32), "swiftformer": ("SwiftFormer", HEAD, dict(depths=[1, 1, 1, 1], embed_dims=[8, 16, 24, 32]), 64), "hiera": ("Hiera", HEAD, dict(image_size=[64, 64], embed_dim=16, depths=[1, 1, 2, 1], num_heads=[1, 2, 4, 8]), 64), "ijepa": ("IJepa", HEAD, VIT, 32), "vit_msn": ("ViTMSN", HEAD, VIT, 32), "hgnet_v2": ("HGNetV2", HEAD, dict(), 64),
    "textnet": ("TextNet", "Model", {}, 64), "superpoint": ("SuperPoint", "ForKeypointDetection", dict(encoder_hidden_sizes=[8, 8, 16, 16], decoder_hidden_size=32, keypoint_decoder_dim=65, descriptor_decoder_dim=16, max_keypoints=-1), 64), "swin2sr": ("Swin2SR", "ForImageSuperResolution", dict(image_size=32, patch_size=1, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4), 16), "glpn": ("GLPN", "ForDepthEstimation", dict(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16), 64),
    "dpt": ("DPT", "ForDepthEstimation", dict(VIT, num_hidden_layers=4, backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[8, 12, 16, 16], fusion_hidden_size=16), 32), "depth_anything": ("DepthAnything", "ForDepthEstimation", dict(backbone_config=dict(model_type="dinov2", image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, out_indices=[1, 2, 3, 4], reshape_hidden_states=False), reassemble_hidden_size=32, patch_size=8, neck_hidden_sizes=[8, 12, 16, 16], fusion_hidden_size=16, head_hidden_size=8), 32),
    "yolos": ("Yolos", "ForObjectDetection", dict(image_size=[32, 32], patch_size=8, num_detection_tokens=6), 32), "detr": ("Detr", "ForObjectDetection", DETR, 64), "conditional_detr": ("ConditionalDetr", "ForObjectDetection", DETR, 64), "deformable_detr": ("DeformableDetr", "ForObjectDetection", dict(DETR, num_feature_levels=4), 128),
    "rt_detr": ("RTDetr", "ForObjectDetection", dict(num_queries=6, encoder_hidden_dim=32, encoder_in_channels=[32, 32, 32], decoder_in_channels=[32, 32, 32], encoder_ffn_dim=48, decoder_ffn_dim=48, decoder_layers=2, num_denoising=0, d_model=32, eval_size=None,
                                                  backbone_config=dict(model_type="rt_detr_resnet", hidden_sizes=[32, 32, 32, 32], depths=[1, 1, 1, 1], embedding_size=32, layer_type="basic", out_features=["stage2", "stage3", "stage4"])), 64),
    "vitdet": ("VitDet", "Model", dict(VIT, pretrain_image_size=32, window_size=2, window_block_indices=[0], use_relative_position_embeddings=True), 32), "vitpose": ("VitPose", "ForPoseEstimation", dict(backbone_config=dict(model_type="vitpose_backbone", image_size=[32, 32], patch_size=[8, 8], hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)), 32),
    "upernet": ("UperNet", "ForSemanticSegmentation", dict(backbone_config=dict(model_type="convnext", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage1", "stage2", "stage3", "stage4"]), hidden_size=16, auxiliary_channels=8, auxiliary_in_channels=24, use_pretrained_backbone=False, backbone=None), 64),
    "maskformer": ("MaskFormer", "ForInstanceSegmentation", dict(fpn_feature_size=16, mask_feature_size=16, backbone_config=dict(model_type="swin", image_size=64, patch_size=4, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 2, 2, 2], window_size=2, out_features=["stage1", "stage2", "stage3", "stage4"]), decoder_config=dict(model_type="detr", d_model=16, decoder_layers=2, decoder_attention_heads=2, decoder_ffn_dim=24, num_queries=6)), 64),
    "sam_encoder": ("SamVision", "Model", dict(image_size=32, patch_size=8, window_size=2, global_attn_indexes=[1], output_channels=16, mlp_dim=48, num_pos_feats=8), 32), "aimv2_vision": ("Aimv2Vision", "Model", VIT, 32), "vit_sdpa": ("ViT", "Model", dict(VIT, attention="sdpa"), 32), "zoedepth": ("ZoeDepth", "ForDepthEstimation", dict(backbone_config=dict(model_type="beit", image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=48, out_indices=[1, 2, 3, 4], reshape_hidden_states=False, use_relative_position_bias=True), backbone_hidden_size=32, fusion_hidden_size=16, bottleneck_features=16, neck_hidden_sizes=[8, 12, 16, 16], num_relative_features=8, bin_embedding_dim=16, num_patch_transformer_layers=1, patch_transformer_hidden_size=16, patch_transformer_intermediate_size=24), 32),
}


def networks():
    for name, (stem, head, words, side) in ROWS.items():
        yield Network("hf_image_" + name, lambda stem=stem, head=head, words=words, side=side: (model(stem, head, **dict(words)), pixels(side)),
                      dynamic=OPEN if words is VIT or words is FOUR else {}, quantise=name not in ("rt_detr", "deformable_detr"))
