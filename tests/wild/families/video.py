"""Clips: torchvision's video classifiers, thinned, and those of transformers."""
import torch
from families.config import model
from families.images import clip
from network import Network
from torchvision.models import video
from torchvision.models.video.resnet import BasicBlock, BasicStem, Conv2Plus1D, Conv3DNoTemporal, Conv3DSimple, R2Plus1dStem, VideoResNet


def resnet(convs, stem):
    return VideoResNet(BasicBlock, convs, [1, 1, 1, 1], stem, num_classes=7)


def mvit(**words):
    from torchvision.models.video.mvit import MSBlockConfig, MViT
    blocks = [MSBlockConfig(1, 16, 32, (3, 3, 3), (3, 3, 3), (1, 1, 1), (1, 4, 4)), MSBlockConfig(2, 32, 32, (3, 3, 3), (3, 3, 3), (1, 2, 2), (1, 2, 2))]
    return MViT((32, 32), 4, blocks, residual_pool=True, residual_with_cls_embed=False, rel_pos_embed=True, proj_after_attn=True, num_classes=7, **words)


def swin3d():
    return video.SwinTransformer3d(patch_size=[2, 4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[2, 4, 4], num_classes=7)


def frames(count=4, side=32):
    return {"pixel_values": torch.randn(1, count, 3, side, side)}


def networks():
    rows = {"r3d": (lambda: resnet([Conv3DSimple] * 4, BasicStem), 4, 32), "mc3": (lambda: resnet([Conv3DSimple] + [Conv3DNoTemporal] * 3, BasicStem), 4, 32),
            "r2plus1d": (lambda: resnet([Conv2Plus1D] * 4, R2Plus1dStem), 4, 32), "s3d": (lambda: video.S3D(num_classes=7), 16, 224), "mvit": (mvit, 4, 32),
            "swin3d": (swin3d, 4, 32)}
    for name, (build, count, side) in rows.items():
        yield Network("tv_" + name, lambda build=build, count=count, side=side: (build(), clip(count, side)), dynamic={"x": {0: "batch"}} if name not in ("mvit", "swin3d") else {})
    yield Network("hf_videomae", lambda: (model("VideoMAE", "ForVideoClassification", num_frames=4, image_size=32, patch_size=8), frames()))
    yield Network("hf_timesformer", lambda: (model("Timesformer", "ForVideoClassification", num_frames=4, image_size=32, patch_size=8), frames()))
    yield Network("hf_vivit", lambda: (model("Vivit", "ForVideoClassification", num_frames=4, image_size=32, tubelet_size=[2, 8, 8]), frames()))
    yield Network("hf_vjepa2", lambda: (model("VJEPA2", "Model", crop_size=32, frames_per_clip=4, patch_size=8, pred_hidden_size=32, pred_num_attention_heads=4,
                                              pred_num_hidden_layers=2), {"pixel_values_videos": frames()["pixel_values"]}))
