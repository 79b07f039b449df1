"""torchvision's classifiers: one of each family, thinned where a small width is to be had."""
from families.images import image
from network import Network
from torch import nn
from torchvision import models as tv
from torchvision.models.densenet import DenseNet
from torchvision.models.efficientnet import EfficientNet, _efficientnet_conf
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformer, SwinTransformerBlockV2

OPEN = {"x": {0: "batch"}}
FREE = {"x": {0: "batch", 2: "height", 3: "width"}}


def vgg(norm):
    net = tv.vgg.VGG(tv.vgg.make_layers([16, "M", 32, "M", 64, 64, "M", 64, "M"], batch_norm=norm), num_classes=10, init_weights=False)
    net.classifier = nn.Sequential(nn.Linear(64 * 49, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 10))
    return net


def alexnet():
    net = tv.alexnet(num_classes=10)
    net.classifier = nn.Sequential(nn.Dropout(), nn.Linear(256 * 36, 32), nn.ReLU(True), nn.Linear(32, 10))
    return net


def swin_v2():
    return SwinTransformer(patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10,
                           block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2)


def efficientnet():
    setting, last = _efficientnet_conf("efficientnet_b0", width_mult=0.5, depth_mult=0.5)
    return EfficientNet(setting, dropout=0.1, last_channel=last, num_classes=10)


def efficientnet_v2():
    setting, last = _efficientnet_conf("efficientnet_v2_s")
    for row in setting:
        row.num_layers = 1
    return EfficientNet(setting[:5], dropout=0.1, last_channel=128, num_classes=10)


def vit(**words):
    return tv.VisionTransformer(image_size=64, patch_size=16, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=10, **words)


def maxvit():
    return tv.MaxVit(input_size=(64, 64), stem_channels=16, partition_size=4, block_channels=[16, 32], block_layers=[1, 1], head_dim=8, stochastic_depth_prob=0.1,
                     num_classes=10)


def regnet(name):
    settings = {"x": dict(depth=6, w_0=24, w_a=24.48, w_m=2.54, group_width=8), "y": dict(depth=6, w_0=24, w_a=24.48, w_m=2.54, group_width=8, se_ratio=0.25)}
    return tv.RegNet(tv.regnet.BlockParams.from_init_params(**settings[name]), num_classes=10)


def convnext():
    block = tv.convnext.CNBlockConfig
    return tv.ConvNeXt([block(24, 48, 2), block(48, 96, 2), block(96, None, 2)], num_classes=10)


ROWS = {
    "alexnet": (alexnet, 224, OPEN),
    "vgg": (lambda: vgg(False), 112, OPEN),
    "vgg_bn": (lambda: vgg(True), 112, OPEN),
    "resnet18": (lambda: tv.resnet18(num_classes=10), 64, FREE),
    "resnet_basic_odd": (lambda: ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10), 57, FREE),
    "resnet_bottleneck": (lambda: ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10), 64, OPEN),
    "resnext": (lambda: ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10, groups=8, width_per_group=8), 64, OPEN),
    "wide_resnet": (lambda: ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=96), 48, OPEN),
    "resnet_dilated": (lambda: ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10, replace_stride_with_dilation=[False, True, True]), 48, OPEN),
    "densenet": (lambda: DenseNet(16, (2, 3, 3, 2), 32, num_classes=10), 64, OPEN),
    "squeezenet1_0": (lambda: tv.squeezenet1_0(num_classes=10), 64, OPEN),
    "squeezenet1_1": (lambda: tv.squeezenet1_1(num_classes=10), 64, FREE),
    "googlenet": (lambda: tv.GoogLeNet(num_classes=10, aux_logits=False, transform_input=True, init_weights=False), 64, OPEN),
    "inception_v3": (lambda: tv.Inception3(num_classes=10, aux_logits=False, init_weights=False), 96, {}),
    "mobilenet_v2": (lambda: tv.mobilenet_v2(num_classes=10, width_mult=0.5), 64, FREE),
    "mobilenet_v3_small": (lambda: tv.mobilenet_v3_small(num_classes=10), 64, OPEN),
    "mobilenet_v3_large": (lambda: tv.mobilenet_v3_large(num_classes=10, width_mult=0.5), 64, OPEN),
    "mnasnet0_5": (lambda: tv.mnasnet0_5(num_classes=10), 64, OPEN),
    "shufflenet_v2": (lambda: tv.shufflenet_v2_x0_5(num_classes=10), 64, OPEN),
    "efficientnet_b0": (efficientnet, 64, OPEN),
    "efficientnet_v2": (efficientnet_v2, 64, OPEN),
    "regnet_x": (lambda: regnet("x"), 64, OPEN),
    "regnet_y": (lambda: regnet("y"), 64, OPEN),
    "convnext": (convnext, 64, OPEN),
    "vit": (vit, 64, OPEN),
    "swin": (lambda: SwinTransformer(patch_size=[4, 4], embed_dim=24, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4], num_classes=10), 64, {}),
    "swin_v2": (swin_v2, 64, {}),
    "maxvit": (maxvit, 64, {}),
}


def networks():
    for name, (build, side, dynamic) in ROWS.items():
        yield Network("tv_" + name, lambda build=build, side=side: (build(), image(side)), dynamic=dynamic)
