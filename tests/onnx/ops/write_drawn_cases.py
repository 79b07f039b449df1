#!/usr/bin/env python3
"""Writes drawn.case: nodes whose attributes, ranks and optional operands are drawn at random, as write_cases.py writes them, and what ONNX Runtime
gives. Usage: write_drawn_cases.py [SEED [CASES OF EACH OPERATOR]] > drawn.case

A node that ONNX Runtime refuses is drawn again. Known differences from the standard in ONNX Runtime are not drawn: padding for the same size of a
dilated pool or one whose strides are larger than its window, ends of INT64_MAX for backward slices, negative axes with kept proportions or a
region, regions of axes that keep their size.
"""
import random
import sys

import numpy as np
import onnxruntime
from onnx import helper

import write_cases
from write_cases import Known
from write_movement_cases import model_of

onnxruntime.set_default_logger_severity(4)
FAMILIES = []
written = write_cases.attr_text


def attr_text(name, v):
    if name == "to":
        return f"{name}={write_cases.NAMES[helper.tensor_dtype_to_np_dtype(v).name]}"
    if isinstance(v, list) and v and isinstance(v[0], str):
        return f"{name}=[" + ", ".join(f'"{s}"' for s in v) + "]"
    if isinstance(v, list) and v and isinstance(v[0], float):
        return f"{name}=[" + ", ".join(write_cases.number(f) for f in v) + "]"
    return written(name, v)


write_cases.attr_text = attr_text


def family(draw):
    FAMILIES.append(draw)
    return draw


class Draw(random.Random):
    """Small decisions and small operands."""

    def f32(self, *shape):
        return (np.array([self.randint(-16, 16) for _ in range(int(np.prod(shape)))], np.float32) / 4).reshape(shape)

    def positive(self, *shape):
        return np.abs(self.f32(*shape)) + np.float32(0.25)

    def ints(self, low, high, *shape, dtype=np.int64):
        return np.array([self.randint(low, high) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)

    def dims(self, low, high, rank):
        return [self.randint(low, high) for _ in range(rank)]

    def one(self, *values):
        return self.choice(values)

    def maybe(self, value, percent=50):
        return value if self.random() * 100 < percent else None

    def known(self, value):
        """A constant, or a feed."""
        return self.one(Known, np.asarray)(np.asarray(value))

    def longs(self, *values):
        return self.known(np.array(values, np.int64))


@family
def windows(d):
    op, n = d.one("MaxPool", "AveragePool", "LpPool"), d.randint(1, 3)
    attrs = {"kernel_shape": d.dims(1, 3, n), "strides": d.maybe(d.dims(1, 3, n)), "dilations": d.maybe(d.dims(1, 2, n))}
    padding = d.one("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if padding == "NOTSET":
        attrs["pads"] = [d.randint(0, k - 1) for k in attrs["kernel_shape"] * 2]
        attrs["ceil_mode"] = d.one(0, 1)
    else:
        attrs.update(auto_pad=padding, dilations=None, strides=d.maybe([d.randint(1, k) for k in attrs["kernel_shape"]]))
    if op == "AveragePool":
        attrs["count_include_pad"] = d.one(0, 1)
    if op == "LpPool":
        attrs["p"] = d.randint(1, 3)
    outputs = 2 if op == "MaxPool" and d.random() < 0.4 else 1
    return op, 22, [d.f32(d.randint(1, 2), d.randint(1, 2), *d.dims(3, 6, n))], outputs, attrs


@family
def convolutions(d):
    n, group = d.randint(1, 2), d.randint(1, 2)
    few, more = group * d.randint(1, 2), group * d.randint(1, 2)
    back, kernel = d.one(False, True), d.dims(1, 3, n)
    attrs = {"group": group, "strides": d.dims(1, 3, n), "dilations": d.dims(1, 2, n), "kernel_shape": d.maybe(kernel)}
    padding = d.one("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    attrs.update({"pads": d.dims(0, 1, 2 * n)} if padding == "NOTSET" else {"auto_pad": padding})
    if back and padding == "NOTSET" and d.random() < 0.5:
        attrs["output_padding"] = [d.randint(0, s - 1) for s in attrs["strides"]]
    w = d.f32(*([few, more // group] if back else [more, few // group]), *kernel)
    inputs = [d.f32(1, few, *d.dims(4, 5, n)), d.known(w), d.maybe(d.known(d.f32(more)))]
    return "ConvTranspose" if back else "Conv", 11, inputs, 1, attrs


GATES = {"LSTM": (4, 3), "GRU": (3, 2), "RNN": (1, 1)}
ALPHA = {"HardSigmoid": 0.25, "Elu": 1.5, "LeakyRelu": 0.125, "Affine": 0.75, "ScaledTanh": 0.5, "ThresholdedRelu": 0.25}
BETA = {"HardSigmoid": 0.375, "Affine": 0.125, "ScaledTanh": 1.25}


@family
def recurrent(d):
    op, direction = d.one(*GATES), d.one("forward", "reverse", "bidirectional")
    (gates, functions), both = GATES[op], 2 if direction == "bidirectional" else 1
    hidden, batch, steps, size = d.randint(1, 2), d.randint(1, 2), d.randint(1, 3), d.randint(1, 2)
    inputs = [d.f32(steps, batch, size), d.known(d.f32(both, gates * hidden, size)), d.known(d.f32(both, gates * hidden, hidden)),
              d.maybe(d.known(d.f32(both, 2 * gates * hidden))), d.maybe(d.known(d.ints(1, steps, batch, dtype=np.int32))),
              d.maybe(d.known(d.f32(both, batch, hidden)))]
    attrs = {"hidden_size": hidden, "direction": direction, "clip": d.maybe(d.one(0.5, 1.5), 30)}
    if op == "LSTM":
        inputs += [d.maybe(d.known(d.f32(both, batch, hidden))), d.maybe(d.known(d.f32(both, 3 * hidden)), 30)]
        attrs["input_forget"] = d.one(None, None, 1)
    if op == "GRU":
        attrs["linear_before_reset"] = d.one(0, 1)
    if d.random() < 0.4:
        names = [d.one("Tanh", "Sigmoid", "Relu", "Softsign", "Softplus", *ALPHA) for _ in range(functions * both)]
        attrs.update(activations=names, activation_alpha=[ALPHA[n] for n in names if n in ALPHA] or None,
                     activation_beta=[BETA[n] for n in names if n in BETA] or None)
    return op, 14, inputs, 3 if op == "LSTM" else 2, attrs


@family
def resizing(d):
    mode = d.one("nearest", "linear", "cubic")
    rank = 4 if mode == "cubic" else d.randint(3, 4)
    where = d.one("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
    attrs = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        attrs["nearest_mode"] = d.one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attrs.update(cubic_coeff_a=d.one(-0.75, -0.5), exclude_outside=d.one(0, 1))
    some = list(range(2, rank)) if d.random() < 0.4 else None
    roi, region = None, where == "tf_crop_and_resize"
    if region:
        head = 0 if some else 2
        roi = Known(np.array([0] * head + [0.25] * (rank - 2) + [1] * head + [0.75] * (rank - 2), np.float32))
        attrs["extrapolation_value"] = d.one(0.0, 7.0)
    elif mode != "nearest":
        attrs["antialias"] = d.one(None, None, 1)
    attrs["axes"] = some if region else some and [a - d.one(0, rank) for a in some]
    x, sizes, scales = d.f32(1, 1, *d.dims(2, 5, rank - 2)), None, None
    if d.random() < 0.5 and not region:
        sizes = d.longs(*([] if some else [1, 1]), *d.dims(1, 6, rank - 2))
        if some and attrs["axes"] == some:
            attrs["keep_aspect_ratio_policy"] = d.one(None, "not_larger", "not_smaller")
    else:
        scales = d.known(np.array(([] if some else [1, 1]) + [d.one(0.5, 0.6, 1.5, 2, 2.5) for _ in range(rank - 2)], np.float32))
    return "Resize", 19, [x, roi, scales, sizes], 1, attrs


@family
def slices(d):
    dims = d.dims(1, 5, d.randint(1, 3))
    some = d.sample(range(len(dims)), d.randint(1, len(dims)))
    ends = (-(2**63), 2**63 - 1, -1, 0, 1, 2, -3, 5, 100, -100)
    steps = [d.one(1, 1, 2, -1, -2, 2**62, -(2**62)) for _ in some]
    stops = [d.one(*ends) if s > 0 else d.one(*[e for e in ends if e != 2**63 - 1]) for s in steps]
    axes = [a - d.one(0, len(dims)) for a in some]
    return "Slice", 13, [d.f32(*dims), d.longs(*(d.one(*ends) for _ in some)), d.longs(*stops), d.longs(*axes), d.longs(*steps)], 1, {}


@family
def padding(d):
    dims, mode = d.dims(2, 4, d.randint(1, 3)), d.one("constant", "edge", "reflect", "wrap")
    some = d.sample(range(len(dims)), d.randint(1, len(dims)))
    low = 0 if mode == "wrap" else -1
    pads = [d.randint(low, dims[a] - 1) for a in some + some]
    axes = [a - d.one(0, len(dims)) for a in some]
    return "Pad", 21, [d.f32(*dims), d.longs(*pads), d.maybe(d.known(np.float32(2.5))) if mode == "constant" else None, d.longs(*axes)], 1, {"mode": mode}


@family
def reductions(d):
    op = d.one("Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    dims = d.dims(0 if d.random() < 0.1 else 1, 3, d.randint(1, 3))
    axes = [a - d.one(0, len(dims)) for a in d.sample(range(len(dims)), d.randint(0, len(dims)))]
    x = d.ints(-9, 9, *dims, dtype=d.one(np.int32, np.int64)) if op in ("Sum", "Max", "Min", "Prod") and d.random() < 0.3 else d.positive(*dims)
    return "Reduce" + op, 18, [x, d.maybe(d.longs(*axes), 80)], 1, {"keepdims": d.one(0, 1), "noop_with_empty_axes": d.one(0, 1)}


@family
def scattered(d):
    op, dims = d.one("ScatterElements", "GatherElements", "Gather", "GatherND", "ScatterND"), d.dims(2, 3, d.randint(1, 3))
    axis = d.randint(-len(dims), len(dims) - 1)
    size, how = dims[axis], d.one("none", "add", "mul", "max", "min")
    x, at = d.f32(*dims), [d.randint(1, n) for n in dims]
    if op == "Gather":
        return op, 13, [x, d.known(d.ints(-size, size - 1, *d.dims(1, 2, d.randint(0, 2))))], 1, {"axis": axis}
    if op.endswith("ND"):
        index = np.stack([d.ints(-dims[0], dims[0] - 1, 2, 2)] + [d.ints(-n, n - 1, 2, 2) for n in dims[1 : d.randint(1, len(dims))]], -1)
        if op == "GatherND":
            return op, 13, [x, d.known(index)], 1, {}
        return op, 18, [x, d.known(index), d.f32(2, 2, *dims[index.shape[-1] :])], 1, {"reduction": d.one("add", "mul", "max", "min")}
    index = d.known(d.ints(-size, size - 1, *at, dtype=d.one(np.int32, np.int64)))
    if op == "GatherElements":
        return op, 13, [x, index], 1, {"axis": axis}
    return op, 18, [x, index, d.f32(*at)], 1, {"axis": axis, "reduction": how if how != "none" else "add"}


@family
def regions(d):
    corner, size = d.f32(2, 2), d.positive(2, 2)
    boxes = np.concatenate([np.abs(corner), np.abs(corner) + size], 1).astype(np.float32)
    attrs = {"mode": d.one("avg", "max"), "output_height": d.randint(1, 2), "output_width": d.randint(1, 2), "sampling_ratio": d.randint(0, 2),
             "spatial_scale": d.one(1.0, 0.5), "coordinate_transformation_mode": d.one("half_pixel", "output_half_pixel")}
    return "RoiAlign", 16, [d.f32(2, 1, 4, 5), d.known(boxes), d.known(d.ints(0, 1, 2))], 1, attrs


@family
def signals(d):
    op = d.one("DFT", "DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix")
    if op == "DFT":
        half, n = d.one(0, 1), d.randint(2, 5)
        return op, 20, [d.f32(2, n, 2, 1 if half else d.one(1, 2)), d.maybe(d.known(np.array(n + d.randint(-1, 2), np.int64))), Known(np.array(d.one(1, -3, 2), np.int64))], 1, {
            "onesided": half, "inverse": 0 if half else d.one(0, 1)}
    if op == "STFT":
        n = d.randint(3, 4)
        return op, 17, [d.f32(1, 9, 1), d.known(np.array(d.randint(1, 3), np.int64)), d.maybe(Known(d.positive(n))), Known(np.array(n, np.int64))], 1, {"onesided": d.one(0, 1)}
    if op == "MelWeightMatrix":
        numbers = [np.array(v, np.int64) for v in (d.randint(2, 5), d.one(8, 16), 8000)] + [np.float32(v) for v in (d.one(0, 300), d.one(3000, 4000))]
        return op, 17, [Known(v) for v in numbers], 1, {}
    return op, 17, [d.known(np.array(d.randint(3, 6), np.int64))], 1, {"periodic": d.one(0, 1)}


@family
def grids(d):
    if d.random() < 0.3:
        flat = d.one(True, False)
        return "AffineGrid", 20, [d.f32(1, 2, 3) if flat else d.f32(1, 3, 4), d.longs(1, 1, 2, 3, *([] if flat else [2]))], 1, {"align_corners": d.one(0, 1)}
    flat = d.random() < 0.7
    grid = (d.f32(1, 2, 2, 2) if flat else d.f32(1, 2, 1, 2, 3)) / np.float32(3.7)  # no sample lies between two positions
    attrs = {"mode": d.one("linear", "nearest", *(["cubic"] if flat else [])), "padding_mode": d.one("zeros", "border", "reflection"), "align_corners": d.one(0, 1)}
    return "GridSample", 20, [d.f32(1, 2, 3, 4) if flat else d.f32(1, 1, 2, 3, 3), d.known(grid)], 1, attrs


@family
def norms(d):
    op, x = d.one("LayerNormalization", "GroupNormalization", "LRN", "MeanVarianceNormalization", "LpNormalization", "InstanceNormalization"), d.f32(2, 4, 2, 3)
    if op == "LayerNormalization":
        axis = d.one(-1, 1, 2, -2)
        shape = x.shape[axis:]
        return op, 17, [x, d.known(d.f32(*shape)), d.maybe(d.known(d.f32(*shape)))], d.one(1, 3), {"axis": axis, "epsilon": d.one(1e-5, 0.125)}
    if op == "GroupNormalization":
        return op, 21, [x, d.known(d.f32(4)), d.known(d.f32(4))], 1, {"num_groups": d.one(1, 2, 4), "epsilon": 0.125}
    if op == "InstanceNormalization":
        return op, 6, [x, d.known(d.f32(4)), d.known(d.f32(4))], 1, {"epsilon": 0.125}
    if op == "LRN":
        return op, 13, [x], 1, {"size": d.one(1, 3, 5), "alpha": d.one(0.25, 0.5), "beta": 0.75, "bias": d.one(1.0, 2.0)}
    if op == "MeanVarianceNormalization":
        return op, 13, [x], 1, {"axes": d.one([0, 2, 3], [1], [-1, 0])}
    return op, 1, [d.positive(2, 3, 2)], 1, {"axis": d.randint(-3, 2), "p": d.one(1, 2)}


@family
def quantised(d):
    op, small = d.one("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger", "DynamicQuantizeLinear"), d.one(np.uint8, np.int8)
    low, number = 0 if small == np.uint8 else -20, lambda v: np.array(v, small)
    some = lambda *shape: d.ints(low, 20, *shape, dtype=small)
    if op == "DynamicQuantizeLinear":
        return op, 11, [d.f32(2, 3) + np.float32(d.one(0, 5, -5))], 3, {}
    if op in ("QuantizeLinear", "DequantizeLinear"):
        dims, axis = [2, 3, 2], d.randint(-3, 2)
        n = [] if d.random() < 0.3 else [dims[axis]]
        x = d.f32(*dims) if op[0] == "Q" else some(*dims)
        return op, 13, [x, d.known(d.positive(*n)), d.maybe(d.known(some(*n)), 70)], 1, {"axis": axis}
    per = d.one([], [3])
    scale, zero = d.positive(*per) / 8, np.zeros(per, np.int8)
    w = d.ints(-20, 20, 3, 2, 2, 2, dtype=np.int8)
    attrs = {"strides": d.dims(1, 2, 2), "pads": d.dims(0, 1, 4)}
    if op == "QLinearConv":
        bias = d.maybe(Known(d.ints(-50, 50, 3, dtype=np.int32)))
        return op, 10, [some(1, 2, 4, 4), np.float32(0.125), number(3), Known(w), Known(scale), Known(zero), np.float32(0.5), number(2), bias], 1, attrs
    if op == "ConvInteger":
        return op, 10, [d.ints(0, 20, 1, 2, 4, 4, dtype=np.uint8), Known(d.ints(0, 20, 3, 2, 2, 2, dtype=np.uint8)), d.maybe(Known(np.array(3, np.uint8))), None], 1, attrs
    b = d.ints(-20, 20, 3, 2, dtype=np.int8)
    if op == "MatMulInteger":
        return op, 10, [some(d.randint(1, 2), 2, 3), d.known(b), d.maybe(Known(number(2))), d.maybe(Known(np.array(1, np.int8)))], 1, {}
    return op, 10, [some(2, 3), np.float32(0.125), number(2), Known(b), Known(np.float32(0.25)), Known(np.array(0, np.int8)), np.float32(0.5), number(1)], 1, {}


@family
def losses(d):
    x, spatial = None, d.one([], [2], [2, 2])
    labels = d.ints(0, 2, 2, *spatial)
    op = d.one("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
    x = d.f32(2, 3, *spatial)
    return op, 13, [x, labels, d.maybe(d.known(d.positive(3)))], 1, {"reduction": d.one("none", "mean", "sum"), "ignore_index": d.one(None, None, 1)}


@family
def products(d):
    op = d.one("MatMul", "Gemm", "Gemm", "Einsum")
    if op == "MatMul":
        a, b = d.one(([3], [3]), ([3], [2, 3, 2]), ([2, 1, 2, 3], [3]), ([1, 2, 3], [2, 3, 2]), ([2, 0], [0, 3]))
        return op, 13, [d.f32(*a), d.known(d.f32(*b))], 1, {}
    if op == "Gemm":
        left, right = d.one(0, 1), d.one(0, 1)
        a, b = d.f32(*([3, 2] if left else [2, 3])), d.f32(*([4, 3] if right else [3, 4]))
        c = d.maybe(d.known(d.f32(*d.one([4], [1, 4], [2, 1], [], [1], [2, 4]))), 80)
        return op, 13, [a, d.known(b), c], 1, {"transA": left, "transB": right, "alpha": d.one(1.0, 0.5), "beta": d.one(1.0, 2.0, 0.0)}
    equation, *dims = d.one(("ij,jk->ik", [2, 3], [3, 2]), ("ii->i", [3, 3]), ("...ij,...jk->...ik", [2, 1, 2, 3], [2, 3, 2]), ("i,j", [3], [2]), ("ij->", [2, 3]),
                            ("bij,bkj->bik", [2, 2, 3], [2, 2, 3]), ("abc,cd,d->ab", [2, 2, 3], [3, 2], [2]), ("iij->j", [2, 2, 3]), ("ij,kl->jl", [2, 3], [2, 2]))
    return op, 12, [d.known(d.f32(*n)) if i else d.f32(*n) for i, n in enumerate(dims)], 1, {"equation": equation}


@family
def positions(d):
    op = d.one("TopK", "CumSum", "ArgMax", "ArgMin", "OneHot", "EyeLike", "Trilu", "ReverseSequence", "Compress", "Unique")
    dims = d.dims(1, 4, d.randint(1, 3))
    axis, x = d.randint(-len(dims), len(dims) - 1), d.one(d.f32(*dims), d.ints(-3, 3, *dims, dtype=np.int32))
    if op == "TopK":
        return op, 11, [d.f32(*dims), d.longs(d.randint(0, dims[axis]))], 2, {"axis": axis, "largest": d.one(0, 1)}
    if op == "CumSum":
        return op, 14, [x, d.known(np.array(axis, np.int64))], 1, {"exclusive": d.one(0, 1), "reverse": d.one(0, 1)}
    if op.startswith("Arg"):
        return op, 13, [x], 1, {"axis": axis, "keepdims": d.one(0, 1), "select_last_index": d.one(0, 1)}
    if op == "OneHot":
        return op, 11, [d.known(d.ints(-4, 4, 2, 2)), d.known(np.array(4, np.int64)), d.known(np.array([0.5, 2], np.float32))], 1, {"axis": d.randint(-3, 2)}
    if op == "EyeLike":
        return op, 9, [d.f32(3, 4)], 1, {"k": d.randint(-4, 4)}
    if op == "Trilu":
        return op, 14, [d.f32(2, 3, 4), d.maybe(d.known(np.array(d.randint(-4, 4), np.int64)))], 1, {"upper": d.one(0, 1)}
    if op == "ReverseSequence":
        first = d.one(0, 1)
        return op, 10, [d.f32(3, 3, 2), d.known(d.ints(1, 3, 3))], 1, {"time_axis": first, "batch_axis": 1 - first}
    if op == "Compress":
        return op, 11, [x, d.known(np.array([d.random() < 0.5 for _ in range(d.randint(1, dims[axis]))]))], 1, {"axis": axis}
    return op, 11, [d.ints(0, 2, *d.dims(2, 3, 2)).astype(np.float32)], 4, {"axis": d.one(None, 0, 1), "sorted": d.one(0, 1)}


@family
def views(d):
    op = d.one("Reshape", "Flatten", "Shape", "Unsqueeze", "Squeeze", "Tile", "Expand", "DepthToSpace", "CenterCropPad", "Col2Im", "Split", "Concat", "Transpose")
    x = d.f32(2, 4, 3)
    if op == "Reshape":
        return op, 14, [x, d.longs(*d.one([0, -1], [-1], [0, 0, 3], [1, -1, 3], [4, 0, -1]))], 1, {}
    if op == "Flatten":
        return op, 13, [x], 1, {"axis": d.randint(-3, 3)}
    if op == "Shape":
        return op, 15, [x], 1, {"start": d.one(-2, 0, 1, -9), "end": d.one(None, 2, -1, 9)}
    if op == "Unsqueeze":
        return op, 13, [x, d.longs(*d.one([0, -1], [2, 1], [-5, 1], [3]))], 1, {}
    if op == "Squeeze":
        return op, 13, [d.f32(1, 3, 1, 2), d.maybe(d.longs(*d.one([0], [-2], [2, 0])))], 1, {}
    if op == "Tile":
        return op, 13, [x, d.longs(d.randint(0, 2), 1, 2)], 1, {}
    if op == "Expand":
        return op, 13, [d.f32(4, 1), d.longs(*d.one([2, 1, 3], [4, 5], [1], [3, 1, 1]))], 1, {}
    if op == "DepthToSpace":
        return op, 13, [d.f32(1, 8, 1, 2)], 1, {"blocksize": 2, "mode": d.one("DCR", "CRD")}
    if op == "CenterCropPad":
        return op, 18, [x, d.longs(d.one(1, 3, 5), d.one(2, 4, 7))], 1, {"axes": d.one([0, 1], [-2, -1], [2, 0])}
    if op == "Col2Im":
        return op, 18, [d.f32(1, 4, 6), d.longs(3, 4), d.longs(2, 2)], 1, {}
    if op == "Split":
        axis = d.randint(-2, 1)
        n = [5, 4][axis]
        lengths = d.maybe(d.longs(1, n - 1))
        return op, 18, [d.f32(5, 4), lengths], 2, {"axis": axis, "num_outputs": None if lengths is not None else 2}
    if op == "Concat":
        return op, 13, [x, d.f32(2, 1, 3), d.f32(2, 0, 3)], 1, {"axis": d.one(1, -2)}
    return op, 13, [x], 1, {"perm": d.one(None, [2, 0, 1], [1, 0, 2], [2, 1, 0])}


@family
def deformable(d):
    group, parts, (kh, kw), n = d.randint(1, 2), d.randint(1, 2), d.dims(1, 3, 2), d.randint(1, 2)
    few, more, (h, w) = 2 * d.randint(1, 2), group * d.randint(1, 2), d.dims(3, 5, 2)
    attrs = {"group": group, "offset_group": parts, "pads": d.dims(0, 2, 4), "strides": d.maybe(d.dims(1, 2, 2)), "dilations": d.maybe(d.dims(1, 2, 2)),
             "kernel_shape": d.maybe([kh, kw])}
    (sh, sw), (dh, dw), pads = attrs["strides"] or [1, 1], attrs["dilations"] or [1, 1], attrs["pads"]
    rows = (h + pads[0] + pads[2] - (kh - 1) * dh - 1) // sh + 1
    columns = (w + pads[1] + pads[3] - (kw - 1) * dw - 1) // sw + 1
    if rows < 1 or columns < 1:
        return deformable(d)
    inputs = [d.f32(n, few, h, w), d.known(d.f32(more, few // group, kh, kw)), d.f32(n, 2 * parts * kh * kw, rows, columns) / 2,
              d.maybe(d.known(d.f32(more))), d.maybe(d.positive(n, parts * kh * kw, rows, columns))]
    return "DeformConv", d.one(19, 22), inputs, 1, attrs


@family
def pooled_regions(d):
    n, boxes, (h, w) = d.randint(1, 3), d.randint(1, 4), d.dims(2, 6, 2)
    corners = d.ints(-1, 2, boxes, 2) + d.f32(boxes, 2) / 4
    rois = np.concatenate([d.ints(0, n - 1, boxes, 1), corners, corners + d.ints(-1, 5, boxes, 2)], 1).astype(np.float32)
    return "MaxRoiPool", 1, [d.f32(n, 2, h, w), d.known(rois)], 1, {"pooled_shape": d.dims(1, 3, 2), "spatial_scale": d.one(None, None, 0.5)}


@family
def bits(d):
    number, whole = d.one(("float16", "int16"), ("float32", "int32"), ("float64", "int64"), ("uint8", "int8"))
    x, to = d.f32(*d.dims(1, 3, 2)).astype(np.int8 if whole == "int8" else number).view(number), whole
    if d.random() < 0.5:
        x, to = x.view(whole), number
    return "BitCast", 26, [d.known(x)], 1, {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))}


@family
def states(d):
    batch, steps = d.randint(1, 2), d.randint(1, 4)
    if d.random() < 0.4:
        channels, size = d.randint(1, 3), d.randint(1, 4)
        past = d.maybe(d.f32(batch, channels, size - 1)) if size > 1 else None
        return "CausalConvWithState", 27, [d.f32(batch, channels, steps), d.known(d.f32(channels, 1, size)), d.maybe(d.known(d.f32(channels))), past], 2, {
            "activation": d.one(None, "none", "silu", "swish")}
    heads, group, key, value = d.randint(1, 2), d.randint(1, 2), d.randint(1, 3), d.randint(1, 3)
    rule = d.one("linear", "gated", "delta", "gated_delta")
    inputs = [d.f32(batch, steps, heads * group * key), d.f32(batch, steps, heads * key), d.f32(batch, steps, heads * value),
              d.maybe(d.f32(batch, heads, key, value)), -d.positive(batch, steps, heads * d.one(1, key)) if "gated" in rule else None,
              d.positive(batch, steps, d.one(1, heads)) / 8 if "delta" in rule else None]
    return "LinearAttention", 27, inputs, 2, {"q_num_heads": heads * group, "kv_num_heads": heads, "update_rule": rule, "scale": d.one(None, 0.5)}


def answer(op, opset, inputs, outputs, attrs):
    """The results of ONNX Runtime, None if it refuses the node."""
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    arrays = {n: np.asarray(a.value if isinstance(a, Known) else a) for n, a in zip(names, inputs) if n}
    while names and not names[-1]:
        names.pop()
    given = {k: v for k, v in attrs.items() if v is not None}
    try:
        model = model_of(op, opset, arrays, names, [f"y{i}" for i in range(outputs)], given)
        # A constant may be asked for, a feed refused.
        constants = {n for n, a in zip(names, inputs) if isinstance(a, Known)}
        for n in constants:
            model.graph.initializer.append(helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(arrays[n].dtype), arrays[n].shape, arrays[n].tobytes(), raw=True))
        for i in reversed(range(len(model.graph.input))):
            if model.graph.input[i].name in constants:
                del model.graph.input[i]
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        results = session.run(None, {n: a for n, a in arrays.items() if n not in constants})
        return [np.where(np.abs(y) < 1e-5, 0, y).astype(y.dtype) if op.endswith("FT") else y for y in results]  # a sum that is 0 comes out near it
    except Exception as error:
        print(f"{op} {opset} {given}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
        return None


def main():
    seed, count = (sys.argv[1:] + ["1", "12"][len(sys.argv) - 1 :])[:2]
    print("# Written by write_drawn_cases.py: nodes with attributes, ranks and operands drawn at random, and the results that ONNX Runtime gives.\n")
    for draw in FAMILIES:
        d, done = Draw(f"{draw.__name__}-{seed}"), 0
        while done < int(count):
            op, opset, inputs, outputs, attrs = draw(d)
            want = answer(op, opset, inputs, outputs, attrs)
            if want is None:
                continue
            done += 1
            while inputs[-1] is None:
                inputs.pop()
            write_cases.case(op, opset, inputs, f"{draw.__name__} {done}", outputs, same=op == "MatMul", want=want, **attrs)


if __name__ == "__main__":
    main()
