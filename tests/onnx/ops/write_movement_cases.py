#!/usr/bin/env python3
"""Writes movement.case: windows, shapes, slices, indices and resizing, as write_cases.py does. Usage: write_movement_cases.py > movement.case

The results are ONNX Runtime's (package onnxruntime) where it runs the node, else those of the package onnx; on standard error stands where the two
differ. `reference`: the package onnx is right.
"""
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import write_cases
from write_cases import Known, arr, f32, f64, ints

onnxruntime.set_default_logger_severity(4)
plain_text = write_cases.attr_text
write_cases.attr_text = lambda name, v: f"{name}={write_cases.NAMES[helper.tensor_dtype_to_np_dtype(v).name]}" if name == "dtype" else plain_text(name, v)


def model_of(op, opset, arrays, names, results, attrs):
    node = helper.make_node(op, names, results, **attrs)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()]
    outputs = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in results]
    for output in outputs:
        output.ClearField("type")
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def case(op, opset, inputs, title="", outputs=1, want=None, reference=False, **attrs):
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    arrays = {n: np.asarray(a.value if isinstance(a, Known) else a) for n, a in zip(names, inputs) if n}
    model = model_of(op, opset, arrays, names, [f"y{i}" for i in range(outputs)], attrs)
    answers = []
    for run in (lambda: onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, arrays),
                lambda: ReferenceEvaluator(model).run(None, arrays)):
        try:
            with np.errstate(all="ignore"):
                answers.append(run())
        except Exception as error:  # one of the two may lack the node's version, type or attributes
            answers.append(None)
            print(f"{op} {opset} {title}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
    if want is not None:
        answers.append(want)
    if reference:
        answers[0] = None
    known = [a for a in answers if a is not None]
    for a in known[1:]:
        for x, y in zip(known[0], a):
            if x.shape != y.shape or x.dtype != y.dtype or not np.allclose(x, y, 1e-4, 1e-5, equal_nan=True):
                print(f"{op} {opset} {title}: {x.tolist()} and {y.tolist()}", file=sys.stderr)
    write_cases.case(op, opset, inputs, title, outputs, want=want if want is not None else known[0], **attrs)


def known(values, dtype=np.int64):
    return Known(arr(values, dtype))


def counting(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def convolution():
    case("Conv", 11, [f32(1, 2, 5), f32(3, 2, 2), f32(3)], "a line, dilated", dilations=[2], pads=[1, 2])
    case("Conv", 11, [f32(1, 4, 5, 4), f32(4, 1, 3, 2)], "one filter per channel", group=4, pads=[1, 0, 2, 1], strides=[2, 1])
    case("Conv", 11, [f32(1, 4, 4, 4), f32(6, 2, 2, 2)], "two groups, the same size from below", group=2, auto_pad="SAME_LOWER")
    case("Conv", 11, [f32(1, 1, 5, 5), f32(1, 1, 2, 3)], "the same size, strided", auto_pad="SAME_UPPER", strides=[2, 2])
    case("Conv", 11, [f32(1, 1, 5, 5), f32(1, 1, 2, 3)], "no padding", auto_pad="VALID")
    case("Conv", 1, [f32(1, 2, 3, 3, 3), f32(2, 2, 2, 2, 2)], "a volume")
    case("ConvTranspose", 11, [f32(1, 2, 3), f32(2, 2, 3)], "a line", strides=[2], output_padding=[1], pads=[1, 1])
    case("ConvTranspose", 11, [f32(1, 4, 3, 3), f32(4, 1, 2, 2)], "two groups", group=2, strides=[2, 2])
    case("ConvTranspose", 11, [f32(1, 1, 3, 3), f32(1, 2, 3, 3)], "of a given shape", strides=[3, 2], output_shape=[10, 8], output_padding=[1, 1])
    case("ConvTranspose", 11, [f32(1, 1, 3, 3), f32(1, 1, 2, 2)], "dilated, uneven padding", dilations=[2, 1], pads=[0, 1, 1, 0])


def pooling():
    case("MaxPool", 12, [f32(1, 2, 7)], "a line, rounded up", kernel_shape=[3], strides=[3], ceil_mode=1)
    case("MaxPool", 12, [f32(1, 1, 5, 5)], "indices, dilated", outputs=2, kernel_shape=[2, 2], dilations=[2, 1])
    case("MaxPool", 12, [ints(np.int8, 1, 2, 4, 4)], "i8", kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    case("MaxPool", 12, [f64(1, 1, 4, 4)], "f64", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    case("MaxPool", 8, [f32(1, 1, 4, 4, 4)], "a volume", kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    case("AveragePool", 11, [f32(1, 1, 6)], "a line, padding counted", kernel_shape=[3], pads=[1, 1], count_include_pad=1)
    case("AveragePool", 19, [f32(1, 1, 7, 7)], "dilated", kernel_shape=[2, 2], dilations=[2, 2])
    case("AveragePool", 7, [f32(1, 1, 4, 5)], "uneven padding", kernel_shape=[2, 3], pads=[0, 1, 1, 2])
    case("LpPool", 18, [f32(1, 1, 5, 5)], "p 3", kernel_shape=[2, 2], p=3)
    case("GlobalAveragePool", 1, [f32(2, 3, 4)], "a line")
    case("GlobalMaxPool", 1, [f32(2, 2, 2, 3, 2)], "a volume")
    x = f32(1, 2, 2, 3)
    case("GlobalLpPool", 2, [x], "p 3", p=3, want=[((np.abs(x.astype(np.float64)) ** 3).sum((2, 3), keepdims=True) ** (1 / 3)).astype(np.float32)])


def shapes():
    x = f32(2, 3, 4)
    case("Reshape", 1, [x], "by an attribute", shape=[4, -1], want=[x.reshape(4, 6)])
    case("Reshape", 5, [x, arr([0, -1], np.int64)], "a shape given at run time")
    case("Reshape", 14, [f32(0, 3), known([3, 0, 5])], "zeros are sizes", allowzero=1)
    case("Squeeze", 13, [f32(1, 3, 1, 2), arr([-2, 0], np.int64)], "axes given at run time")
    case("Squeeze", 11, [f32(1, 3, 1)], "every 1")
    case("Unsqueeze", 11, [f32(3, 2)], "axes out of order", axes=[3, 0])
    case("Unsqueeze", 13, [f32(3), known([-1, 0])])
    case("Flatten", 13, [f32(2, 3, 4)], "from the end", axis=-1)
    case("Transpose", 1, [ints(np.int64, 2, 3, 2)], "i64")
    case("Shape", 15, [f32(2, 3, 4)], "a part", start=-2, end=5)
    case("Size", 1, [f32(2, 0)], "nothing")
    case("Expand", 8, [f32(3, 1), arr([2, 1, 4], np.int64)], "a shape given at run time")
    case("Expand", 13, [f32(2, 3, 1), known([1, 4])], "a short shape")
    case("Expand", 13, [f32(2, 3), arr([1, 1, 3], np.int64)], "ones that keep a dim")
    case("Tile", 6, [ints(np.int32, 2, 2), arr([1, 3], np.int64)], "i32, counts given at run time")
    case("Tile", 13, [f32(2, 2), known([2, 0])], "nothing")
    case("Concat", 4, [np.array([[True]]), np.array([[False, True]])], "bool", axis=-1)
    x = f32(5, 2)
    case("Split", 2, [x], "sizes in an attribute", outputs=2, split=[2, 3], want=[x[:2], x[2:]])
    case("Split", 13, [x, arr([1, 4], np.int64)], "sizes given at run time", outputs=2)
    case("Split", 18, [f32(2, 7)], "the last is smaller", outputs=3, axis=1, num_outputs=3)
    case("DepthToSpace", 13, [f32(1, 8, 2, 3)], "columns first", blocksize=2, mode="CRD")
    case("SpaceToDepth", 13, [ints(np.uint8, 1, 2, 4, 2, low=0)], "u8", blocksize=2)


def slices():
    x = f32(4, 5)
    at = lambda *v: arr(v, np.int64)
    case("Slice", 1, [x], "by attributes", starts=[1, -3], ends=[3, 100], axes=[0, 1], want=[x[1:3, -3:]])
    case("Slice", 13, [x, at(1), at(4), at(-1)], "bounds given at run time")
    case("Slice", 10, [x, at(-1), at(-100), at(1), at(-2)], "backwards")
    case("Slice", 13, [x, known([3]), known([0]), known([0]), known([-1])], "backwards to the first")
    case("Slice", 13, [ints(np.int32, 6), known([0], np.int32), known([2 ** 31 - 1], np.int32), None, known([4], np.int32)], "i32 bounds, a step")
    case("Slice", 13, [x, known([3]), known([1])], "nothing")
    case("Pad", 2, [x], "by attributes", pads=[1, 0, 0, 2], value=2.5, want=[np.pad(x, ((1, 0), (0, 2)), constant_values=2.5)])
    case("Pad", 13, [ints(np.int32, 2, 2), arr([0, 1, 1, 0], np.int64), arr(7, np.int32)], "i32, given at run time")
    case("Pad", 13, [x, known([-1, 1, 0, -2])], "negative", want=[np.pad(x[1:, :-2], ((0, 0), (1, 0)))])
    case("Pad", 18, [f32(2, 3, 4), known([1, 2]), None, known([-1])], "one axis, reflected", mode="reflect")
    case("Pad", 19, [f32(2, 3), known([1, 2, 2, 1])], "wrapped", mode="wrap")
    case("Pad", 13, [f32(2, 3, 2, 2, 2), known([1, 0, 1, 0, 0, 0, 2, 0, 0, 1])], "edges in five dims", mode="edge")
    case("Pad", 13, [np.array([[True, False]]), known([0, 1, 1, 0])], "bool")


def indices():
    x = f32(3, 4)
    case("Gather", 1, [x, arr([[0, -1], [1, 1]], np.int32)], "a matrix of columns", axis=1)
    case("Gather", 13, [f32(2, 3, 2), arr(-1, np.int64)], "one slice", axis=-2)
    case("Gather", 13, [ints(np.int64, 5), known([[4, -5]])], "i64, known positions")
    case("GatherElements", 11, [x, arr([[0, -1], [1, 2]], np.int64)], "fewer columns", axis=0)
    case("GatherND", 12, [f32(2, 2, 3), arr([[[-1], [0]], [[1], [1]]], np.int64)], "a batch", batch_dims=1)
    case("GatherND", 12, [f32(2, 2, 3), arr([[-1, 0], [0, 1]], np.int64)], "negative positions")
    base, at, new = f32(3, 3), arr([[0, -1, 1], [0, 2, 1]], np.int64), f32(2, 3)
    for how in ("none", "add", "mul"):
        case("ScatterElements", 16, [base, at, new], how, axis=0, reduction=how)
    for how in ("max", "min"):
        case("ScatterElements", 18, [base, at, new], how, axis=1, reduction=how)
    case("ScatterElements", 13, [ints(np.int32, 3), arr([1, 0], np.int32), ints(np.int32, 2)], "i32")
    for how in ("none", "add", "mul", "max", "min"):
        case("ScatterND", 18, [ints(np.int64, 3, 2), arr([[2], [-3], [2]], np.int64), ints(np.int64, 3, 2)], f"i64, {how}", reduction=how)
    case("TopK", 1, [x], "k in an attribute", outputs=2, k=2, want=[-np.sort(-x, 1, "stable")[:, :2], np.argsort(-x, 1, "stable")[:, :2]])
    case("TopK", 11, [ints(np.int64, 5), arr([3], np.int64)], "i64, the smallest", outputs=2, axis=0, largest=0)
    case("OneHot", 11, [arr([0, -1, 7], np.int64), arr(3, np.int64), arr([2, 5], np.int32)], "i32, out of range", axis=0,
         want=[arr([[5, 2, 2], [2, 2, 2], [2, 5, 2]], np.int32)])
    case("OneHot", 9, [arr(1, np.float32), known(3, np.float32), arr([0, 1])], "one index")
    case("NonZero", 9, [arr([[0, 2], [np.nan, 0]])], "NaN")
    case("Compress", 9, [x, np.array([True, False, True])], "some rows", axis=0)
    case("Unique", 11, [ints(np.int64, 8, low=0, high=4)], "i64, in their order", outputs=4, sorted=0)
    case("ReverseSequence", 10, [f32(3, 2, 2), arr([2, 3], np.int64)], "steps first")


def generated():
    case("Trilu", 14, [ints(np.int32, 3, 4), known(1)], "i32")
    case("Trilu", 14, [np.ones((2, 2), bool)], "bool, below", upper=0)
    case("EyeLike", 9, [f32(3, 4)], "below the diagonal", k=-1)
    case("EyeLike", 9, [ints(np.int32, 2, 4)], "f64, above the diagonal", k=2, dtype=11)
    case("Range", 11, [arr(5, np.int16), arr(-4, np.int16), arr(-3, np.int16)], "i16")
    case("Range", 11, [arr(0, np.float64), arr(1, np.float64), arr(0.3, np.float64)], "f64")
    case("ConstantOfShape", 9, [arr([2, 3], np.int64)], "zeros", want=[np.zeros((2, 3), np.float32)])


def resizing():
    x = f32(1, 1, 3, 4)
    scales = known([1, 1, 1.5, 2], np.float32)
    for mode in ("nearest", "linear", "cubic"):
        for where in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
            case("Resize", 19, [x, None, scales], f"{mode}, {where}", mode=mode, coordinate_transformation_mode=where)
    for how in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        case("Resize", 13, [f32(1, 1, 4, 6), None, None, known([1, 1, 3, 4])], f"nearest, {how}", nearest_mode=how)
    case("Resize", 19, [f32(2, 5), None, None, arr([3, 4], np.int64)], "two dims, sizes given at run time", mode="linear")
    case("Resize", 18, [f32(1, 1, 6, 6), None, known([0.5, 0.7], np.float32)], "without aliases", mode="linear", antialias=1, axes=[2, 3])
    case("Resize", 18, [f32(1, 1, 6, 6), None, known([0.5, 0.7], np.float32)], "cubic, without aliases", mode="cubic", antialias=1, axes=[2, 3])
    case("Resize", 18, [x, None, None, known([6, 6])], "proportions are kept", mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger")
    case("Resize", 19, [x, None, known([1, 1, 0.8, 0.7], np.float32)], "half pixels of the real size", mode="linear",
         coordinate_transformation_mode="half_pixel_symmetric")
    case("Resize", 13, [x, known([0, 0, 0.2, 0.3, 1, 1, 0.8, 1.2], np.float32), None, known([1, 1, 3, 3])], "a region", reference=True, mode="linear",
         coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)
    case("Resize", 13, [f32(1, 1, 2, 4), None, known([1, 1, 0.6, 0.6], np.float32)], "to one row", mode="linear")
    case("Resize", 19, [ints(np.uint8, 1, 1, 2, 2, low=0), None, known([1, 1, 2, 2], np.float32)], "u8, nearest")
    case("Resize", 10, [counting(1, 1, 2, 2), known([1, 1, 2, 2], np.float32)], "the first version", want=[counting(1, 1, 2, 2).repeat(2, 2).repeat(2, 3)])
    case("Upsample", 9, [counting(1, 1, 2, 2), known([1, 1, 2, 3], np.float32)], "nearest", want=[counting(1, 1, 2, 2).repeat(2, 2).repeat(3, 3)])
    grid = (np.random.default_rng(3).random((1, 3, 4, 2)).astype(np.float32) * np.float32(2.6) - np.float32(1.3)).round(3)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            case("GridSample", 20, [x, grid], f"{mode}, {padding}", mode=mode, padding_mode=padding, align_corners=int(mode == "cubic"))
    case("AffineGrid", 20, [f32(1, 2, 3), known([1, 1, 2, 3])])
    case("CenterCropPad", 18, [f32(3, 4), known([5, 2])])
    case("Col2Im", 18, [f32(1, 8, 4), known([4, 3]), known([2, 2])], "overlapping", strides=[2, 1], pads=[0, 0, 0, 0])
    case("RoiAlign", 16, [f32(2, 2, 5, 5), arr([[0, 0, 3, 3], [1, 1, 4, 4], [0.5, 1, 2, 4]]), arr([1, 0, 1], np.int64)], "images out of order",
         output_height=2, output_width=2, sampling_ratio=2)


def as_onnx_runtime():
    """Cases that the standard leaves open, or its reference does not compute."""
    case("LSTM", 14, [f32(2, 1, 2), known(f32(1, 8, 2), np.float32), known(f32(1, 8, 2), np.float32), None, None, None, arr([[[4, -3]]])],
         "clipped gates, not a clipped cell", outputs=3, hidden_size=2, clip=0.5)
    for how in ("SAME_UPPER", "SAME_LOWER"):
        case("ConvTranspose", 11, [f32(1, 1, 5), f32(1, 1, 2)], f"windows apart, {how}", auto_pad=how, strides=[3])
    case("LpPool", 22, [f32(1, 1, 4)], "one window beyond the end", kernel_shape=[3], dilations=[2], strides=[3], ceil_mode=1)
    case("MaxPool", 12, [f32(1, 1, 4)], "one window beyond the end", kernel_shape=[3], dilations=[2], strides=[3], ceil_mode=1)
    case("AveragePool", 19, [f32(1, 1, 2, 3)], "one window beyond the end", kernel_shape=[3, 2], strides=[2, 1], ceil_mode=1)
    case("Tile", 13, [f32(2, 2), arr([1, 0], np.int64)], "nothing, known when it runs")
    case("Resize", 13, [f32(1, 1, 5, 5), None, known([1, 1, 0.6, 1.5], np.float32)], "between two positions, down", mode="nearest", nearest_mode="floor")
    for opset in (10, 16):
        case("RoiAlign", opset, [f32(2, 1, 4, 5), arr([[0, 0, 3, 3], [2, 1, 9, 9]]), arr([1, 0], np.int64)], "the largest", mode="max", output_height=2,
             output_width=1, sampling_ratio=2)


if __name__ == "__main__":
    print("# Written by write_movement_cases.py: inputs of ONNX operators and the results that ONNX Runtime gives.\n")
    for write in (convolution, pooling, shapes, slices, indices, generated, resizing, as_onnx_runtime):
        write()
