"""A network as the exporters see it: positional tensors in, a flat tuple of tensors out; its weights scaled so that no output is degenerate."""
import torch
from torch import nn


def flatten(value):
    """Tensors of any nest of lists, dicts and caches, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for v in value.values() for t in flatten(v)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flatten(v)]
    if hasattr(value, "layers"):  # a key-value cache
        return [t for layer in value.layers for t in flatten([getattr(layer, "keys", None), getattr(layer, "values", None)])]
    if hasattr(value, "self_attention_cache"):
        return flatten(value.self_attention_cache) + flatten(value.cross_attention_cache)
    return []


class Flat(nn.Module):
    def __init__(self, inner, names):
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, *values):
        return tuple(flatten(self.inner(**dict(zip(self.names, values)))))


LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def spread(module, generator):
    """Weights that initialisation leaves constant (biases, scales of norms and of layers, tokens) get values of their own."""
    for parameter in module.parameters():
        if not parameter.is_floating_point() or parameter.numel() < 2 or parameter.min() != parameter.max():
            continue
        level = parameter.flatten()[0].abs().item()
        noise = 0.1 * torch.randn(parameter.shape, generator=generator)
        parameter.copy_(noise + (parameter if level == 0 or level > 1e-2 else 0.5))


def scale_layer(gain):
    """After its first call a layer's results have the standard deviation `gain`."""
    def hook(layer, inputs, output):
        handle.remove()
        deviation = output.float().std().item() if output.numel() > 1 else 0
        if not 1e-12 < deviation < 1e12:
            return output
        layer.weight.mul_(gain / deviation)
        return layer.forward(*inputs)

    def attach(layer):
        nonlocal handle
        handle = layer.register_forward_hook(hook)

    handle = None
    return attach


def measure_norm(layer, inputs):
    """Statistics of a batch norm are those of what it gets."""
    x = inputs[0].float()
    axes = [d for d in range(x.dim()) if d != 1]
    if layer.running_mean is None or x.numel() < 8 * x.shape[1]:
        return
    layer.running_mean.copy_(x.mean(axes))
    layer.running_var.copy_(x.var(axes) + 0.01)


def settle(network, seed):
    """The network's module in evaluation mode, scaled, and its inputs."""
    torch.manual_seed(seed)
    inner, inputs = network.build()
    for parameter in inner.parameters():
        parameter.requires_grad_(False)
    module = inner if isinstance(inner, torch.jit.ScriptModule) else Flat(inner, list(inputs))
    module.eval()
    generator = torch.Generator().manual_seed(seed)
    handles = []
    with torch.no_grad():
        spread(module, generator)
        for name, layer in module.named_modules():
            if isinstance(layer, LAYERS) and isinstance(getattr(layer, "weight", None), nn.Parameter):
                scale_layer(next((g for part, g in network.gain.items() if part in name), 1.0))(layer)
            elif "BatchNorm" in type(layer).__name__ and hasattr(layer, "running_mean"):
                handles.append(layer.register_forward_pre_hook(measure_norm))
        try:
            if network.scale:
                module(*inputs.values())
        finally:
            for handle in handles:
                handle.remove()
            for layer in module.modules():
                if isinstance(layer, LAYERS):
                    layer._forward_hooks.clear()
    return module, inputs
