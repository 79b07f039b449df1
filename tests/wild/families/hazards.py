"""Parts that low types are known to destroy: moments as differences, feeds far from zero, sentinels of masks, exponentials and constants near zero."""
import torch
import torch.nn.functional as F
from torch import nn

from network import Network


class Ssim(nn.Module):
    """The structural similarity of images in 0 to 255 and what a convolution makes of them."""

    def __init__(self):
        super().__init__()
        line = torch.exp(-((torch.arange(11) - 5.0) ** 2) / 4.5)
        self.register_buffer("window", (line[:, None] * line / line.sum() ** 2).repeat(3, 1, 1, 1))
        self.convolution = nn.Conv2d(3, 3, 3, padding=1)

    def blurred(self, x):
        return F.conv2d(x, self.window, groups=3)

    def forward(self, x):
        y = x + self.convolution(x)
        mx, my = self.blurred(x), self.blurred(y)
        vx, vy, c = self.blurred(x * x) - mx * mx, self.blurred(y * y) - my * my, self.blurred(x * y) - mx * my
        return ((2 * mx * my + 6.5025) * (2 * c + 58.5225) / ((mx * mx + my * my + 6.5025) * (vx + vy + 58.5225))).mean((2, 3))


class Standardised(nn.Module):
    """Rows less their mean, over their deviation, by hand."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        return self.layer((x - mean) / torch.sqrt((x * x).mean(-1, keepdim=True) - mean * mean + 1e-5))


class AttentivePooling(nn.Module):
    """The weighted mean and deviation of frames, as speaker embeddings have them."""

    def __init__(self):
        super().__init__()
        self.frames, self.weights, self.last = nn.Conv1d(40, 64, 5), nn.Conv1d(64, 64, 1), nn.Linear(128, 32)

    def forward(self, x):
        h = F.relu(self.frames(torch.log(x.clamp(min=1e-10)))) * 50 + 200
        w = self.weights(h / 100).softmax(-1)
        mean = (w * h).sum(-1)
        deviation = ((w * h * h).sum(-1) - mean * mean).clamp(min=1e-9).sqrt()
        return F.normalize(self.last(torch.cat([mean, deviation], 1)))


class MaskedPooling(nn.Module):
    """Attention whose mask adds a sentinel, and a mean over what the mask leaves."""

    def __init__(self, sentinel):
        super().__init__()
        self.table, self.parts, self.sentinel = nn.Embedding(1000, 64), nn.ModuleList(nn.Linear(64, 64) for _ in range(3)), sentinel

    def forward(self, ids, mask):
        x = self.table(ids)
        q, k, v = (part(x) for part in self.parts)
        scores = q @ k.transpose(-1, -2) / 8 + (1 - mask[:, None, :].float()) * self.sentinel
        weight = mask[:, :, None].float()
        return F.normalize((scores.softmax(-1) @ v * weight).sum(1) / weight.sum(1).clamp(min=1e-9), eps=1e-12)


class Unsharp(nn.Module):
    """An image in 0 to 255 less its blur, and less itself made smaller."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        half = F.interpolate(x, scale_factor=0.5, mode="bilinear", align_corners=False)
        return self.layer(x - F.avg_pool2d(x, 5, 1, 2) + x - F.interpolate(half, scale_factor=2.0, mode="bilinear", align_corners=False))


def masked(sentinel):
    mask = torch.ones(2, 24, dtype=torch.long)
    mask[1, 10:] = 0
    return MaskedPooling(sentinel), {"ids": torch.randint(0, 1000, (2, 24)), "mask": mask}


def networks():
    return [
        Network("hazard_ssim", lambda: (Ssim(), {"x": torch.rand(1, 3, 64, 64) * 200 + 30}), scale=False, quantise=False),
        Network("hazard_standardised", lambda: (Standardised(), {"x": torch.randn(8, 16) * 0.5 + 60}), scale=False, quantise=False),
        Network("hazard_attentive", lambda: (AttentivePooling(), {"x": torch.rand(2, 40, 80) * 3}), scale=False, quantise=False),
        Network("hazard_mask_1e9", lambda: masked(-1e9), scale=False, quantise=False),
        Network("hazard_mask_least", lambda: masked(torch.finfo(torch.float32).min), scale=False, quantise=False),
        Network("hazard_unsharp", lambda: (Unsharp(), {"x": torch.rand(1, 3, 64, 64) * 255}), scale=False, quantise=False),
    ]
