#!/usr/bin/env python3
"""Writes arithmetic.case: small inputs of ONNX operators and the results that the package onnx computes for them.

What the standard's own backend tests have is left to them: here are other versions, types, attributes and shapes. Usage: write_cases.py > arithmetic.case
"""
import math

import numpy as np
from onnx import AttributeProto, TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator

NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint8": "u8", "bool": "bool"}
rng = np.random.default_rng(7)


def f32(*shape):
    return (rng.integers(-16, 17, shape) / 4).astype(np.float32)


def f64(*shape):
    return f32(*shape).astype(np.float64)


def f16(*shape):
    return f32(*shape).astype(np.float16)


def ints(dtype, *shape, low=-9, high=10):
    return rng.integers(low, high, shape).astype(dtype)


def arr(values, dtype=np.float32):
    return np.array(values, dtype)


class Known:
    """An operand whose value the compiler knows."""

    def __init__(self, value):
        self.value = value


class Filled(Known):
    """A known operand of one number throughout, which is written once."""


class Type(str):
    """An attribute that names an element type."""


def number(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    if np.isnan(v):
        return "nan"
    if np.isinf(v):
        return "inf" if v > 0 else "-inf"
    return repr(float(v))


def literal(a):
    values = [number(v) for v in (a.astype(np.float64) if a.dtype == np.float16 else a).ravel().tolist()]
    return values[0] if a.ndim == 0 else "[" + ", ".join(values) + "]"


def typed(a):
    return f"{NAMES[a.dtype.name]} [{', '.join(map(str, a.shape))}]"


def shortest(a):
    """f32 values print as themselves, not as the double behind them."""
    if a.dtype == np.float32:
        return [float(str(v)) if np.isfinite(v) else float(v) for v in a.ravel()]
    return a.ravel().tolist()


def value(a):
    a = np.asarray(a)
    if a.dtype == np.float32:
        values = [number(v) for v in shortest(a)]
        return values[0] if a.ndim == 0 else "[" + ", ".join(values) + "]"
    return literal(a)


def attr_text(name, v):
    if isinstance(v, Type):
        return f"{name}={v}"
    if isinstance(v, str):
        return f'{name}="{v}"'
    if isinstance(v, float):
        return f"{name}={number(v)}"
    if isinstance(v, list):
        return f"{name}=[" + ", ".join(f"{i}l" for i in v) + "]"
    return f"{name}={v}l"


def groups(formals, names):
    out = []
    for i, formal in enumerate(formals):
        if formal.option == defs.OpSchema.FormalParameterOption.Variadic:
            out.append((formal.name, names[i:]))
            break
        if i < len(names) and names[i]:
            out.append((formal.name, [names[i]]))
    return out


def case(op, opset, inputs, title="", outputs=1, same=False, want=None, **attrs):
    schema = defs.get_schema(op, opset)
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    arrays = {n: np.asarray(a.value if isinstance(a, Known) else a) for n, a in zip(names, inputs) if n}
    results = [f"y{i}" for i in range(outputs)]
    if want is None:
        node = helper.make_node(op, names, results, **attrs)
        to_value = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        graph = helper.make_graph([node], "g", [to_value(n, a) for n, a in arrays.items()],
                                  [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in results])
        model = lambda version: helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
        with np.errstate(all="ignore"):
            try:
                want = ReferenceEvaluator(model(opset)).run(None, arrays)
            except RuntimeError:  # the reference has newer versions only, which mean the same
                want = ReferenceEvaluator(model(21)).run(None, arrays)
    print(f"=== {op} {schema.since_version}{': ' + title if title else ''}\nrun: evaluate\n--- in")
    for n, a in zip(names, inputs):
        if n:
            text = value(arrays[n].ravel()[:1])[1:-1] if isinstance(a, Filled) else value(arrays[n])
            print(f"{'const' if isinstance(a, Known) else 'feed'} {n} : {typed(arrays[n])} = {text}")
    text = " ".join(attr_text(k, v) for k, v in attrs.items() if v is not None)
    if same:
        print(f"{', '.join(results)} = onnx.{op}.{schema.since_version}({', '.join(n for n in names if n)}) {text}".rstrip())
    else:
        ins = ", ".join(f"{k}=[{', '.join(v)}]" for k, v in groups(schema.inputs, names))
        outs = ", ".join(f"{k}=[{', '.join(v)}]" for k, v in groups(schema.outputs, results))
        print(f"onnx.{op}.{schema.since_version}({ins}) -> {outs} {text}".rstrip())
    print("--- out")
    for n, a in zip(results, want):
        print(f"{n} : {typed(np.asarray(a))} = {value(a)}")
    print()


def elementwise():
    halves = arr([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 3.3, -3.7, 8388609, 4194305.5])
    case("Round", 11, [halves])
    case("Round", 22, [halves[:9].astype(np.float16)], "f16")
    case("Div", 14, [arr([7, -7, 7, -7], np.int32), arr([2, 2, -2, -2], np.int32)], "toward zero", same=True)
    case("Add", 7, [f32(2, 3, 4), f32(3, 1)], "broadcast", same=True)
    case("Mod", 13, [ints(np.int64, 8), arr([3, -3, 4, -4, 5, -5, 2, -7], np.int64)])
    case("Mod", 13, [ints(np.int8, 6), arr([3, -3, 4, -4, 5, -5], np.int8)], "of C", fmod=1)
    case("Mod", 13, [arr([5.5, -5.5, 5.5, -5.5, 0.0, 7.0]), arr([2, 2, -2, -2, 3, np.inf])], "of C in f32", fmod=1)
    case("Pow", 7, [arr([1, 2, 3, 0.5]), Known(arr(2.0))], "a known exponent")
    case("Pow", 15, [arr([1, 2, 3, 4]), arr([0.5])], "an exponent of one element")
    case("Pow", 15, [arr([1, 2, 3, 4], np.int32), arr([2.5, 2.0, 1.5, -1.0])], "of integers by floats")
    case("Pow", 13, [arr([2, 3, -2], np.int32), arr([3, 2, 3], np.int64)], "of integers by others")
    case("CastLike", 15, [arr([1.75, -2.5, 300]), arr([1], np.int64)], "toward zero", want=[arr([1, -2, 300], np.int64)])
    case("CastLike", 21, [f32(3), f32(1)], "of one type", want=None)
    case("Neg", 13, [arr([1, -2, 0], np.int32)], "i32")
    case("Abs", 13, [arr([1, -2, -128], np.int16)], "i16", same=True)
    case("Sign", 13, [arr([-5, 0, 9], np.int64)], "i64", same=True)
    case("Max", 13, [f32(2, 3), f32(3), f32(2, 1)], "broadcast")
    case("Min", 13, [arr([3, -4], np.int64), arr([1, -1], np.int64)], "i64")
    case("Sum", 13, [f32(2, 3), f32(3), f32(2, 1)], "broadcast")
    case("Sum", 13, [f32(2, 3), f32(2, 3), f32(2, 3)], "of one shape")
    case("Mean", 13, [f32(2, 3), f32(3), f32(1)], "broadcast")
    case("Erf", 9, [arr([0.5, -1.0, 2.0], np.float64)], "f64", want=[arr([math.erf(v) for v in (0.5, -1.0, 2.0)], np.float64)])
    case("Clip", 6, [f32(6)], min=-1.5, max=2.0)
    case("Clip", 6, [f32(6)], "below", max=1.0)
    case("Clip", 12, [f32(6), Known(arr(-1.0)), Known(arr(1.5))], "known bounds")
    case("Clip", 13, [f32(6), Known(arr(2.0)), Known(arr(-1.0))], "bounds out of order", want=[arr([-1.0] * 6)])
    case("Clip", 13, [ints(np.int64, 6), None, arr(3, np.int64)], "i64, above only")
    case("Clip", 13, [f64(6), arr(0.1, np.float64)], "f64, below only")


def activations():
    case("PRelu", 16, [f32(2, 3, 2), arr([[0.25], [0.5], [2]])], "a slope for each channel")
    case("PRelu", 7, [f32(2, 3, 2), arr([[[0.25], [0.5], [2]]])], "a slope for each channel, with a dim before it")
    case("PRelu", 9, [f32(2, 3, 2), arr([0.25, 0.5])], "a slope for each column")
    case("PRelu", 16, [ints(np.int32, 2, 3), arr([2], np.int32)], "i32")
    case("PRelu", 16, [f16(2, 3, 2), arr([0.25], np.float16)], "f16, one slope")
    case("Shrink", 9, [f32(8)], "hard", lambd=1.5, bias=0.0)
    case("Shrink", 9, [f32(8)], "soft", lambd=1.5, bias=1.5)
    case("Shrink", 9, [f32(8)], "between", lambd=1.5, bias=0.5)
    case("Shrink", 9, [ints(np.int32, 8)], "i32", lambd=1.5, bias=1.0)
    case("Softplus", 1, [arr([-50, -1, 0, 1, 30, 90], np.float64)], "f64")
    case("Gelu", 20, [f32(6)])
    case("Gelu", 20, [f32(6)], "by tanh", approximate="tanh")
    case("Mish", 18, [f32(6)], same=True)
    case("Swish", 24, [f32(6)], alpha=1.5)
    case("Selu", 6, [f32(6)], alpha=2.0, gamma=3.0)
    case("HardSigmoid", 6, [f32(6)], alpha=0.5, beta=0.25)
    case("LeakyRelu", 6, [f32(6)])
    case("Elu", 6, [f64(6)], "f64", alpha=0.5)
    case("Celu", 12, [f32(6)], alpha=2.0)


def logic():
    case("Equal", 13, [arr([1, 1, np.nan, np.inf, 1e-9]), arr([1, 2, np.nan, np.inf, 2e-9])], "f32 to the last bit")
    case("Equal", 7, [np.array([True, False]), np.array([True, True])], "bool")
    case("Equal", 7, [ints(np.int64, 2, 3, high=-6), ints(np.int64, 3, high=-6)], "i64, broadcast")
    case("IsInf", 20, [arr([np.inf, -np.inf, np.nan, 1])], "neither", detect_negative=0, detect_positive=0)
    case("IsInf", 10, [arr([np.inf, -np.inf, np.nan, 1])], "negative", detect_positive=0)
    case("Where", 16, [np.array([True, False, True]), f32(2, 3), f32(2, 3)], "a condition for each column")
    case("Where", 9, [np.array([[True], [False]]), f32(3), arr(7.0)], "no operand has the whole shape")
    case("Where", 9, [np.array([[True], [False]]), ints(np.int64, 1, 3), ints(np.int64, 2, 1)], "i64")
    case("BitShift", 11, [arr([1, 200, 7], np.uint8), arr([3, 1, 8], np.uint8)], direction="LEFT", want=[arr([8, 144, 0], np.uint8)])
    case("BitwiseAnd", 18, [ints(np.int32, 2, 3), ints(np.int32, 3)], same=True)
    case("BitwiseNot", 18, [ints(np.int16, 4)], same=True)


def reductions():
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
               "ReduceSumSquare"):
        data = np.abs(f32(2, 3, 2)) + np.float32(0.25)
        case(op, 11, [data], "axes in an attribute", axes=[-2], keepdims=0)
        case(op, 18, [data, Known(arr([0, 2], np.int64))], "axes in an operand")
        case(op, 18, [data], "all", keepdims=0)
        case(op, 18, [data.astype(np.float64), Known(arr([], np.int64))], "nothing to do", noop_with_empty_axes=1)
    for op in ("ReduceSum", "ReduceMax", "ReduceL1", "ReduceProd"):
        case(op, 11, [ints(np.int32, 2, 3)], "i32", axes=[1])
    case("ReduceSumSquare", 11, [arr([[1, -2, 3], [40000, 50000, 0]], np.int32)], "i32, which wraps", axes=[1],
         want=[arr([[14], [40000 ** 2 + 50000 ** 2 - 2 ** 32]], np.int32)])
    case("ReduceL2", 13, [arr([[3, 4], [6, 8]], np.int64)], "i64", axes=[1])
    case("ReduceMax", 20, [np.array([[True, False], [False, False]]), Known(arr([1], np.int64))], "bool")
    case("ReduceMin", 20, [np.array([[True, False], [True, True]]), Known(arr([1], np.int64))], "bool")
    case("ReduceSumSquare", 13, [arr([300, -20, 1], np.float16)], "f16, its square beyond the type", axes=[0], want=[arr([np.inf], np.float16)])
    case("ReduceLogSum", 13, [arr([30000, 30000, 30000], np.float16)], "f16, the sum beyond the type", axes=[0],
         want=[arr([np.log(90000)], np.float16)])
    same = arr([[1, 3, 3], [2, 2, 1]])
    case("ArgMax", 12, [same], "the last", axis=1, select_last_index=1)
    case("ArgMin", 13, [same.astype(np.int32)], "the last, i32", axis=1, keepdims=0, select_last_index=1)
    case("ArgMax", 11, [f64(2, 3)], "f64", axis=-1)
    case("CumSum", 11, [f32(2, 3), Known(arr(1, np.int64))], exclusive=1, reverse=1)
    case("CumSum", 14, [ints(np.int32, 2, 3), Known(arr(0, np.int32))], "i32")


def softmax():
    x = f32(2, 3, 2)
    for op in ("Softmax", "LogSoftmax"):
        flat = {0: (1, 12), 1: (2, 6), 2: (6, 2)}
        for axis, shape in flat.items():
            rows = x.reshape(shape).astype(np.float64)
            e = np.exp(rows - rows.max(1, keepdims=True))
            soft = e / e.sum(1, keepdims=True)
            want = (soft if op == "Softmax" else np.log(soft)).reshape(x.shape).astype(np.float32)
            case(op, 11, [x], f"axis {axis}", axis=axis, want=[want])
        case(op, 13, [x.astype(np.float64)], "f64", axis=1)
    hot = np.zeros((2, 6), np.float32)
    hot[np.arange(2), x.reshape(2, 6).argmax(1)] = 1
    case("Hardmax", 11, [x], want=[hot.reshape(x.shape)])
    case("Hardmax", 13, [x.astype(np.float64)], "f64", axis=0)


def norms():
    def batch(x, channels):
        return [x, f32(channels), f32(channels), f32(channels), np.abs(f32(channels)) + np.float32(0.5)]

    for opset in (7, 9, 14, 15):
        x = f32(2, 3, 2)
        ins = batch(x, 3)
        want = ReferenceEvaluator(helper.make_model(
            helper.make_graph([helper.make_node("BatchNormalization", ["a", "b", "c", "d", "e"], ["y"])], "g",
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "abcde"],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 15)])).run(None, dict(zip("abcde", ins)))
        case("BatchNormalization", opset, ins, want=want)
    case("BatchNormalization", 15, [a.astype(np.float64) for a in batch(f32(2, 3, 2), 3)], "f64")
    ins = batch(f32(2, 3, 2), 3)
    case("BatchNormalization", 15, [ins[0].astype(np.float16)] + ins[1:], "f16, statistics in f32")
    case("BatchNormalization", 15, batch(f32(4, 3), 3), "of rows")
    ins = batch(f32(2, 3, 2), 3)
    case("BatchNormalization", 14, ins, "training", outputs=3, training_mode=1, momentum=0.75)
    # Operator sets up to 13 give for training: the running statistics, then the batch's own.
    x, scale, bias, mean, var = [a.astype(np.float64) for a in ins]
    m, v = x.mean((0, 2)), x.var((0, 2))
    column = lambda a: a.reshape(1, 3, 1)
    y = column(scale) * (x - column(m)) / np.sqrt(column(v) + 1e-5) + column(bias)
    want = [y, mean * 0.75 + m * 0.25, var * 0.75 + v * 0.25, m, v]
    case("BatchNormalization", 9, ins, "training, with the batch's statistics", outputs=5, momentum=0.75,
         want=[a.astype(np.float32) for a in want])
    case("InstanceNormalization", 6, [f64(2, 3, 4), f64(3), f64(3)], "f64", epsilon=0.01)
    case("InstanceNormalization", 22, [f16(2, 3, 4), f16(3), f16(3)], "f16", epsilon=0.25)
    case("LayerNormalization", 17, [f32(2, 3, 4), f32(4), f32(4)], "with its statistics", outputs=3)
    case("LayerNormalization", 17, [f32(2, 3, 4), f32(1), f32(3, 1)], "broadcast", axis=1)
    case("LayerNormalization", 17, [f64(2, 3, 4), f64(2, 3, 4)], "f64, of everything", axis=0)
    case("LayerNormalization", 17, [f32(3, 4), f32(3, 4), f32(3, 4)], "of everything", axis=0)
    case("RMSNormalization", 23, [f32(2, 3, 4), f32(4)])
    case("GroupNormalization", 21, [f32(2, 4, 3), f32(4), f32(4)], num_groups=2)
    x, scale, bias = f64(2, 4, 3), f64(4), f64(4)
    rows = x.reshape(2, 2, 6)
    y = ((rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 0.25)).reshape(x.shape)
    case("GroupNormalization", 21, [x, scale, bias], "f64", num_groups=2, epsilon=0.25, want=[y * scale.reshape(4, 1) + bias.reshape(4, 1)])
    x = arr([[[1, 3], [1, 3], [4, 0], [0, 4]]])
    for dtype in (np.float32, np.float64, np.float16):
        want = arr([[[8, 12], [8, 12], [-0.5, -1.5], [-1.5, -0.5]]], dtype)
        case("GroupNormalization", 18, [x.astype(dtype), arr([2, 0.5], dtype), arr([10, -1], dtype)],
             f"scale and bias of a group, {NAMES[want.dtype.name]}", num_groups=2, epsilon=0.0, want=[want])
    case("LpNormalization", 1, [np.abs(f32(2, 3)) + np.float32(1)], "p 1", axis=0, p=1)
    case("LpNormalization", 22, [arr([[3, -4], [0, 0]])], "zeros")
    x = f64(2, 3, 2, 2)
    case("MeanVarianceNormalization", 13, [x], "f64", want=[(x - x.mean((0, 2, 3), keepdims=True)) / (x.std((0, 2, 3), keepdims=True) + 1e-9)])
    case("MeanVarianceNormalization", 9, [f32(2, 3, 2)], axes=[0, 2])
    x = f32(2, 4, 3)
    squares = np.zeros_like(x)
    for c in range(4):
        squares[:, c] = (x[:, c:c + 2] ** 2).sum(1)
    case("LRN", 13, [x], "an even size, 3 dims", size=2, alpha=0.5, beta=0.75, bias=2.0,
         want=[(x / (2 + 0.25 * squares.astype(np.float64)) ** 0.75).astype(np.float32)])


def products():
    case("MatMul", 13, [f32(3), f32(3)], "two vectors", same=True)
    case("MatMul", 13, [f32(2, 4, 3), f32(3)], "by a vector", same=True)
    case("MatMul", 13, [f32(3), f32(2, 3, 2)], "a vector by a stack", same=True)
    case("MatMul", 9, [ints(np.int32, 2, 1, 2, 3), ints(np.int32, 3, 3, 2)], "i32, broadcast", same=True)
    case("MatMul", 13, [f64(2, 3), f64(3, 4)], "f64", same=True)
    case("Gemm", 7, [f32(3, 2), f32(4, 3), f32(4)], transA=1, transB=1, alpha=0.5, beta=2.0)
    case("Gemm", 13, [f64(2, 3), f64(3, 4), f64(2, 1)], "f64", alpha=0.5)
    case("Gemm", 11, [ints(np.int64, 2, 3), ints(np.int64, 4, 3)], "i64, nothing added", transB=1)
    case("Gemm", 13, [f32(2, 3), f32(3, 4), f32(4)], "beta 0", beta=0.0)
    case("Einsum", 12, [f32(2, 3), f32(3, 4), f32(4, 2)], "three operands", equation="ij,jk,kl->il")
    case("Einsum", 12, [ints(np.int64, 2, 3, 3)], "i64, a diagonal", equation="...ii->...i")
    case("Einsum", 12, [f32(2, 3), f32(2, 3)], "no arrow", equation="ij,ij")
    case("Det", 11, [arr([[0, 2, 1], [1, 0, 3], [4, 5, 0]])], "pivots of 0")
    case("Det", 11, [arr([[[1, 2], [2, 4]], [[0, 1], [1, 0]]], np.float64)], "f64")
    u8 = lambda *s: ints(np.uint8, *s, low=0, high=256)
    a, b = u8(2, 3), ints(np.int8, 3, 4, low=-128, high=128)
    za, zb = arr([3, 250], np.uint8), arr([1, -2, 3, -4], np.int8)
    case("MatMulInteger", 10, [a, b, za, zb], "a zero point for each row and each column",
         want=[(a.astype(np.int32) - za.astype(np.int32)[:, None]) @ (b.astype(np.int32) - zb.astype(np.int32))])


def losses():
    x, target, weight = f32(3, 4, 2), ints(np.int64, 3, 2, low=0, high=4), np.abs(f32(4)) + np.float32(0.5)
    target[0, 1] = 2
    for reduction in ("none", "sum", "mean"):
        case("NegativeLogLikelihoodLoss", 12, [x, target, weight], f"{reduction}, weights", reduction=reduction)
        case("NegativeLogLikelihoodLoss", 13, [x, target], f"{reduction}, label 2 ignored", reduction=reduction, ignore_index=2)
    odd = target.copy()
    odd[1, 1] = -7
    case("NegativeLogLikelihoodLoss", 13, [x, odd, weight], "an ignored label that is no class", ignore_index=-7)
    case("SoftmaxCrossEntropyLoss", 12, [x, target, weight], "with the logarithms", outputs=2)
    case("SoftmaxCrossEntropyLoss", 13, [x.astype(np.float64), target], "f64", outputs=2, reduction="sum")


def quantised():
    case("QuantizeLinear", 10, [arr([-1000, -0.5, 0.5, 1.5, 2.5, 1000]), arr(1.0), arr(128, np.uint8)])
    case("QuantizeLinear", 13, [f32(2, 3, 2), arr([0.5, 1, 2]), arr([0, 10, -10], np.int8)], "for each channel")
    case("QuantizeLinear", 13, [f32(4), arr(0.5)], "without a zero point")
    case("QuantizeLinear", 19, [f16(4), arr(0.5, np.float16), arr(3, np.uint8)], "f16")
    case("QuantizeLinear", 21, [f32(3, 4), arr([[0.5, 1], [2, 0.25], [1, 0.5]]), ints(np.int16, 3, 2)], "for each block", axis=1, block_size=2)
    case("DequantizeLinear", 10, [arr([0, 3, 128, 255], np.uint8), arr(2.0), arr(128, np.uint8)])
    case("DequantizeLinear", 13, [ints(np.int8, 2, 3, 2), arr([0.5, 1, 2]), arr([0, 10, -10], np.int8)], "for each channel")
    case("DequantizeLinear", 10, [ints(np.int32, 4), arr(0.5)], "i32")
    case("DequantizeLinear", 19, [ints(np.uint8, 4, low=0), arr(0.5, np.float16), arr(3, np.uint8)], "f16")
    case("DynamicQuantizeLinear", 11, [arr([0, 0, 0])], "zeros", outputs=3)
    case("DynamicQuantizeLinear", 11, [arr([-3, 1, 4, 0.7])], outputs=3)


def convolved():
    """Sums of whole numbers, by the definition; the standard's tests have the small ones."""
    for terms, title in ((4, "few"), (300, "hundreds"), (5000, "thousands")):
        x, w = ints(np.uint8, 1, terms, 2, low=0, high=256), ints(np.int8, 2, terms, 1, low=-128, high=128)
        x[0, :, 0] = 255  # the largest sum that there can be
        w[1] = -128
        zx, zw = arr(0, np.uint8), arr([3, 127], np.int8)
        sums = np.einsum("nct,oc->not", x.astype(np.int64) - zx, (w.astype(np.int64) - zw.astype(np.int64)[:, None, None])[:, :, 0])
        if terms == 4:
            case("ConvInteger", 10, [x, w, zx, zw], f"{title} terms", want=[sums.astype(np.int32)])
        else:
            # Too long to be written: every number alike.
            x, w = np.full_like(x[:, :, :1], 255), np.full_like(w, -128)
            want = np.array([[[255 * terms * (-128 - 3)], [255 * terms * (-128 - 127)]]], np.int32)
            case("ConvInteger", 10, [Filled(x), Filled(w), zx, zw], f"{title} of terms", want=[want])
    x, w = ints(np.uint8, 1, 2, 4, low=0, high=256), ints(np.int8, 2, 1, 3, low=-128, high=128)
    case("QLinearConv", 10, [x, arr(0.5), arr(7, np.uint8), w, arr([0.25, 0.125]), arr([0, 3], np.int8), arr(16.0), arr(100, np.uint8),
                             arr([40, -7], np.int32)], "for each channel", group=2, pads=[1, 1],
         want=[qlinear(x, w)])


def qlinear(x, w):
    """The result of the case of QLinearConv: a filter of three for each of two channels, one zero point before and behind."""
    rows = np.pad(x.astype(np.int64) - 7, ((0, 0), (0, 0), (1, 1)))
    taps = w.astype(np.int64)[:, 0] - np.array([[0], [3]])
    sums = np.stack([sum(rows[:, c, k:k + 4] * taps[c, k] for k in range(3)) + (40, -7)[c] for c in range(2)], 1)
    return np.clip(np.rint(sums * (np.array([0.25, 0.125]) * 0.5 / 16)[:, None]) + 100, 0, 255).astype(np.uint8)


def drawn():
    x = f32(2, 3)
    case("Dropout", 7, [x], "not training", outputs=2, ratio=0.75, want=[x, np.ones_like(x)])
    case("Dropout", 10, [x], "not training", outputs=2, ratio=0.75, want=[x, np.ones(x.shape, bool)])
    case("Dropout", 13, [x, arr(0.0), np.array(True)], "training, nothing dropped", outputs=2, want=[x, np.ones(x.shape, bool)])
    case("Dropout", 12, [x, arr(0.5), np.array(False)], "not training", outputs=2, want=[x, np.ones(x.shape, bool)])
    case("Bernoulli", 15, [arr([0, 1, 0, 1])], "certain", want=[arr([0, 1, 0, 1])])
    case("Bernoulli", 15, [arr([0, 1, 0, 1])], "certain, as bool", dtype=Type("bool"), want=[np.array([False, True, False, True])])
    case("RandomUniform", 22, [], "of one value", low=2.0, high=2.0, shape=[2, 2], dtype=Type("f64"), want=[np.full((2, 2), 2.0)])
    case("RandomNormal", 1, [], "of one value", mean=1.5, scale=0.0, shape=[3], want=[arr([1.5, 1.5, 1.5])])
    case("RandomUniformLike", 1, [ints(np.int32, 2, 1)], "of one value", low=2.0, high=2.0, dtype=Type("f32"), want=[arr([[2], [2]])])
    case("RandomNormalLike", 22, [f16(3)], "of one value", mean=1.5, scale=0.0, seed=3.0, want=[arr([1.5, 1.5, 1.5], np.float16)])
    case("Multinomial", 7, [arr([[0, -np.inf, -np.inf], [-np.inf, -np.inf, 5]])], "certain", sample_size=3, want=[arr([[0] * 3, [2] * 3], np.int32)])


if __name__ == "__main__":
    print("# Written by write_cases.py: inputs of ONNX operators and the results that the standard's reference implementation gives.\n")
    for write in (elementwise, activations, logic, reductions, softmax, norms, products, losses, quantised, convolved, drawn):
        write()
