"""Whether two sets of outputs are the same answer. Each function returns the measured numbers; what is good enough is decided in `verdict`."""
import numpy as np
import onnx

BAR = 1e-4     # of the largest value
LARGE = 1e30   # what masks are filled with does not count as a largest value
MOVES = ("Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Slice", "Gather", "MaxPool")


def finite_largest(values):
    values = np.abs(values[np.isfinite(values)])
    values = values[values < LARGE]
    return float(values.max()) if values.size else 0.0


def difference(found, wanted):
    """Largest difference over the largest wanted value; infinite where shape, type, NaNs or infinities differ."""
    if found.shape != wanted.shape:
        return np.inf
    if wanted.dtype.kind not in "fc":
        return 0.0 if np.array_equal(found, wanted) else np.inf
    found, wanted = found.astype(np.float64).ravel(), wanted.astype(np.float64).ravel()
    odd = ~np.isfinite(wanted)
    if not np.array_equal(odd, ~np.isfinite(found)) or not np.array_equal(found[odd], wanted[odd], equal_nan=True):
        return np.inf
    if not wanted.size or odd.all():
        return 0.0
    return float(np.abs(found[~odd] - wanted[~odd]).max() / max(finite_largest(wanted), 1e-30))


def worst(found, wanted):
    """The worst difference of all outputs, and its name."""
    lost = [name for name in wanted if name not in found]
    if lost:
        return np.inf, lost[0]
    return max(((difference(found[name], wanted[name]), name) for name in wanted), default=(0.0, ""))


def describe(found, wanted, name):
    """The number for an infinite difference."""
    if name not in found:
        return f"{name} is missing"
    a, b = found[name], wanted[name]
    if a.shape != b.shape:
        return f"{name} is {list(a.shape)}, not {list(b.shape)}"
    if b.dtype.kind not in "fc":
        return f"{name}: {int((a != b).sum())} of {b.size} integers differ"
    return f"{name}: {int((~np.isfinite(a)).sum())} values are not finite, {int((~np.isfinite(b)).sum())} of ONNX Runtime's"


def degenerate(outputs):
    """The first output that says nothing: not finite, or one value throughout."""
    for name, value in outputs.items():
        if value.dtype.kind != "f" or value.size < 2:
            continue
        values = value[np.isfinite(value) & (np.abs(value) < LARGE)]
        if np.isnan(value).any():
            return f"{name} has NaN"
        if values.size and values.max() - values.min() < 1e-6 * max(np.abs(values).max(), 1e-6):
            return f"{name} is one value throughout"
    return ""


def moved(values, generator):
    """Each value a rounding away, up or down."""
    return values * (1 + generator.choice([-1, 1], values.shape).astype(values.dtype) * np.asarray(2e-7, values.dtype))


def steps(path, outputs):
    """The quantisation step of each output: the scale of the DequantizeLinear that gives it, else a 127th of its largest value."""
    model = onnx.load(path)
    makers = {o: node for node in model.graph.node for o in node.output}
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    found = {}
    for name, value in outputs.items():
        node = makers.get(name)
        while node is not None and node.op_type in MOVES:
            node = makers.get(node.input[0])
        scale = weights.get(node.input[1]) if node is not None and node.op_type == "DequantizeLinear" else None
        found[name] = float(np.max(scale)) if scale is not None else (finite_largest(value) / 127 if value.dtype.kind == "f" else 0.0)
    return found


def in_steps(found, wanted, step):
    """The worst difference of all outputs in steps, and its name."""
    worst_steps, worst_name = 0.0, ""
    for name, value in wanted.items():
        d = difference(found[name], value) if name in found else np.inf
        if np.isfinite(d) and value.dtype.kind == "f":
            d = d * finite_largest(value) / max(step[name], 1e-30)
        if d > worst_steps:
            worst_steps, worst_name = d, name
    return worst_steps, worst_name
