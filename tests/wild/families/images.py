"""Images and clips as inputs."""
import torch


def image(side=64, batch=1, channels=3, name="x", width=None):
    return {name: torch.randn(batch, channels, side, width or side)}


def clip(frames=4, side=32, name="x"):
    return {name: torch.randn(1, 3, frames, side, side)}
