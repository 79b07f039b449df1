"""One value per pixel: torchvision's segmenters and optical flow, and what the field adds to them."""
import torch
from families.images import image
from network import Network
from torch import nn
from torchvision.models import mobilenet_v3_small, segmentation
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.models.optical_flow import raft_small
from torchvision.models.resnet import Bottleneck, ResNet

FREE = {"x": {0: "batch", 2: "height", 3: "width"}}


def resnet_features():
    net = ResNet(Bottleneck, [1, 1, 1, 1], replace_stride_with_dilation=[False, True, True])
    return IntermediateLayerGetter(net, {"layer4": "out", "layer3": "aux"})


def fcn():
    heads = segmentation.fcn.FCNHead
    return segmentation.FCN(resnet_features(), heads(2048, 5), heads(1024, 5))


def deeplab():
    return segmentation.DeepLabV3(resnet_features(), segmentation.deeplabv3.DeepLabHead(2048, 5), None)


def lraspp():
    features = mobilenet_v3_small(dilated=True).features
    return segmentation.LRASPP(IntermediateLayerGetter(features, {"3": "low", "12": "high"}), 24, 576, num_classes=5)


class UNet(nn.Module):
    """With skips, transposed convolutions, and sizes that do not divide."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.down = nn.ModuleList([self.block(3, 8), self.block(8, 16), self.block(16, 32)])
        self.up = nn.ModuleList([self.block(32 + 16, 16), self.block(16 + 8, 8)])
        self.rise = nn.ModuleList([nn.ConvTranspose2d(32, 32, 2, stride=2), nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1, output_padding=1)])
        self.last = nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.1), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(4, o),
                             nn.PReLU(o))

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](nn.functional.max_pool2d(a, 2, ceil_mode=True))
        x = self.down[2](nn.functional.avg_pool2d(b, 2, ceil_mode=True, count_include_pad=False))
        for rise, up, skip in zip(self.rise, self.up, (b, a)):
            x = rise(x) if self.mode == "transposed" else nn.functional.interpolate(x, size=skip.shape[2:], mode=self.mode, align_corners=None if self.mode == "nearest" else False)
            x = nn.functional.pad(x, (0, skip.shape[3] - x.shape[3], 0, skip.shape[2] - x.shape[2]), mode="replicate") if self.mode == "transposed" else x
            x = up(torch.cat([x, skip], 1))
        return self.last(x)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 16, 5, padding=2, padding_mode="reflect"), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 27, 3, padding=1)

    def forward(self, x):
        base = nn.functional.interpolate(x, scale_factor=3, mode="bicubic", align_corners=False)
        return torch.clamp(base + nn.functional.pixel_shuffle(self.c(torch.relu(self.b(torch.tanh(self.a(x))))), 3), -3, 3)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = raft_small()

    def forward(self, first, second):
        return self.net(first, second, num_flow_updates=2)[-1]


class Style(nn.Module):
    """Warps an image along a grid that it computes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 9, padding=4, padding_mode="circular"), nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x):
        shift = torch.tanh(self.b(nn.functional.hardswish(self.a(x))))
        theta = torch.tensor([[[1.0, 0.1, 0.0], [-0.1, 1.0, 0.0]]]).to(x.dtype).expand(x.shape[0], 2, 3)
        grid = nn.functional.affine_grid(theta, list(x.shape), align_corners=False) + 0.1 * shift.permute(0, 2, 3, 1)
        return nn.functional.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)


def pair():
    return {"first": torch.randn(1, 3, 128, 136), "second": torch.randn(1, 3, 128, 136)}


def networks():
    rows = {"fcn": (fcn, 48), "deeplabv3": (deeplab, 48), "unet_nearest": (lambda: UNet("nearest"), 45), "unet_bilinear": (lambda: UNet("bilinear"), 45),
            "unet_bicubic": (lambda: UNet("bicubic"), 40), "unet_transposed": (lambda: UNet("transposed"), 44), "super_resolution": (SuperResolution, 24), "warp": (Style, 32)}
    for name, (build, side) in rows.items():
        yield Network("dense_" + name, lambda build=build, side=side: (build(), image(side)), dynamic=FREE if name != "warp" else {})
    yield Network("dense_lraspp", lambda: (lraspp(), image(64, name="input")), dynamic={"input": FREE["x"]})
    yield Network("tv_raft_small", lambda: (Flow(), pair()), quantise=False)
