#!/usr/bin/env python3
"""Section of run.py: networks of one kind each, generated, beside ONNX Runtime and OpenVINO; a ratio for each and the geometric mean of a kind."""
import os

import common
import engines
import numpy as np
import onnx
from common import table
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph with random weights that is written node by node; x is the last value."""

    def __init__(self, dims, opset=17, seed=0):
        self.rng, self.nodes, self.weights, self.x, self.dims, self.opset, self.channels = np.random.default_rng(seed), [], [], "x", dims, opset, dims[1]

    def weight(self, *dims):
        fan = int(np.prod(dims[1:])) if len(dims) > 1 else 1
        return self.constant((self.rng.standard_normal(dims) * (2.0 / fan) ** 0.5 if len(dims) > 1 else self.rng.standard_normal(dims) * 0.1).astype(np.float32))

    def constant(self, values):
        self.weights.append(numpy_helper.from_array(np.asarray(values), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, kind, *inputs, **attrs):
        """A node on self.x and `inputs`, or on `of` alone."""
        operands = attrs.pop("of", [self.x, *inputs])
        self.x = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [self.x], name=self.x, **attrs))
        return self.x

    def conv(self, out, k=3, s=1, group=1, spatial=2):
        w = self.weight(out, self.channels // group, *[k] * spatial)
        self.channels = out
        return self.add("Conv", w, self.weight(out), kernel_shape=[k] * spatial, strides=[s] * spatial, pads=[k // 2] * 2 * spatial, group=group)

    def clip(self):
        return self.add("Clip", self.constant(np.float32(0)), self.constant(np.float32(6)))

    def dense(self, n, out):
        return self.add("MatMul", self.weight(n, out)), self.add("Add", self.weight(out))

    def save(self, path, open_dims=False):
        feed = helper.make_tensor_value_info("x", TensorProto.FLOAT, [d if not open_dims or k < 2 else f"d{k}" for k, d in enumerate(self.dims)])
        graph = helper.make_graph(self.nodes, "net", [feed], [helper.make_tensor_value_info(self.x, TensorProto.FLOAT, None)], self.weights)
        imports = [helper.make_opsetid(d, 1 if d else self.opset) for d in sorted({"", *(node.domain for node in self.nodes)})]
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)


def residual(path):
    net = Net([1, 3, 128, 128])
    net.conv(32, 3, 2), net.add("Relu"), net.conv(64, 3, 2), net.add("Relu")
    for width, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        before, channels = net.x, net.channels
        net.conv(width, 3, stride), net.add("Relu")
        inner = net.conv(width)
        if stride > 1 or channels != width:
            net.x, net.channels = before, channels
            before = net.conv(width, 1, stride)
        net.add("Add", of=[inner, before]), net.add("Relu")
    net.add("GlobalAveragePool"), net.add("Flatten"), net.add("Gemm", net.weight(256, 100), net.weight(100))
    net.save(path)


def mobile(path, activation="Clip"):
    net = Net([1, 3, 160, 160])
    act = net.clip if activation == "Clip" else lambda: net.add("PRelu", net.weight(net.channels, 1, 1))
    net.conv(32, 3, 2), act()
    for width, stride in ((16, 1), (24, 2), (24, 1), (48, 2), (48, 1), (96, 2), (96, 1), (160, 2)):
        before, same = net.x, width == net.channels and stride == 1
        net.conv(4 * net.channels, 1), act()
        net.conv(net.channels, 3, stride, net.channels), act()
        net.conv(width, 1)
        if same:
            net.add("Add", before)
    net.conv(640, 1), act(), net.add("GlobalAveragePool"), net.add("Flatten"), net.add("Gemm", net.weight(640, 100), net.weight(100))
    net.save(path)


def encoder(path):
    net, n = Net([1, 64, 256]), 256
    for _ in range(3):
        before = net.x
        q, k, v = [(setattr(net, "x", before), net.dense(n, n), net.x)[-1] for _ in range(3)]
        net.add("Transpose", of=[k], perm=[0, 2, 1])
        net.add("MatMul", of=[q, net.x]), net.add("Mul", net.constant(np.float32(n ** -0.5))), net.add("Softmax", axis=-1)
        net.add("MatMul", of=[net.x, v]), net.dense(n, n), net.add("Add", before)
        net.add("LayerNormalization", net.weight(n), net.weight(n), axis=-1)
        before = net.x
        net.dense(n, 4 * n), net.add("Relu"), net.dense(4 * n, n), net.add("Add", before)
        net.add("LayerNormalization", net.weight(n), net.weight(n), axis=-1)
    net.save(path)


def pools(path, kind="MaxPool"):
    net = Net([1, 3, 128, 128])
    net.conv(32, 3, 2), net.add("Relu")
    for _ in range(6):
        net.add(kind, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]), net.conv(32, 1), net.add("Relu")
    net.save(path)


def ceil_pools(path):
    net = Net([1, 3, 224, 224])
    net.conv(64, 3, 2), net.add("Relu")
    for width in (64, 128, 256):
        net.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        net.conv(width, 1), net.add("Relu"), net.conv(width, 3), net.add("Relu")
    net.save(path, open_dims=True)


def volumes(path):
    net = Net([1, 3, 16, 56, 56])
    net.conv(32, 3, 1, spatial=3), net.add("Relu")
    for width in (32, 64):
        net.add("MaxPool", kernel_shape=[3, 3, 3], strides=[1, 1, 1], pads=[1] * 6), net.conv(width, 1, spatial=3), net.add("Relu")
        net.add("MaxPool", kernel_shape=[3, 3, 3], strides=[2, 2, 2], pads=[1] * 6), net.conv(width, 1, spatial=3), net.add("Relu")
    net.save(path)


def elements(path):
    net = Net([1, 64, 128, 128])
    first = net.x
    for k in range(4):
        net.add("Mul", net.weight(64, 1, 1)), net.add("Add", net.weight(64, 1, 1)), net.add("Sigmoid"), net.add("Mul", first), net.add("Sub", net.constant(np.float32(0.1 * k)))
        net.add("Relu"), net.add("Add", first)
    net.save(path)


def decoder(path, steps=64, layers=2, width=128, heads=4):
    """A Loop over a decoder's layers, whose keys and values grow by one position in every iteration; the result goes into the next one."""
    net, outer, each = Net([1, 1, width]), "x", width // heads
    net.x = "h"
    split, joined = net.constant(np.array([1, 1, heads, each])), net.constant(np.array([1, 1, width]))
    scale, caches, grown = net.constant(np.float32(each ** -0.5)), [], []
    for layer in range(layers):
        before = net.add("LayerNormalization", net.weight(width), net.weight(width), axis=-1)
        parts = []
        for _ in range(3):
            net.x = before
            net.dense(width, width), net.add("Reshape", split)
            parts.append(net.add("Transpose", perm=[0, 2, 1, 3]))
        for part in parts[1:]:
            caches.append(f"past{len(caches)}")
            grown.append(net.add("Concat", of=[caches[-1], part], axis=2))
        net.add("Transpose", of=[grown[-2]], perm=[0, 1, 3, 2])
        net.add("MatMul", of=[parts[0], net.x]), net.add("Mul", scale), net.add("Softmax", axis=-1), net.add("MatMul", grown[-1])
        net.add("Transpose", perm=[0, 2, 1, 3]), net.add("Reshape", joined), net.dense(width, width)
        before = net.add("Add", before)
        net.add("LayerNormalization", net.weight(width), net.weight(width), axis=-1)
        net.dense(width, 4 * width), net.add("Relu"), net.dense(4 * width, width), net.add("Add", before)
    net.add("LayerNormalization", net.weight(width), net.weight(width), axis=-1)
    net.nodes.append(helper.make_node("Identity", ["going"], ["goes"]))
    value = lambda name, kind, dims: helper.make_tensor_value_info(name, kind, dims)
    cache_dims, row = [1, heads, None, each], [1, 1, width]
    body = helper.make_graph(net.nodes, "body", [value("i", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, row)] +
                             [value(c, TensorProto.FLOAT, cache_dims) for c in caches],
                             [value("goes", TensorProto.BOOL, []), value(net.x, TensorProto.FLOAT, row)] + [value(g, TensorProto.FLOAT, cache_dims) for g in grown])
    count, yes, empty = net.constant(np.int64(steps)), net.constant(np.bool_(True)), net.constant(np.zeros([1, heads, 0, each], np.float32))
    last = ["y"] + [f"last{k}" for k in range(len(caches))]
    net.nodes = [helper.make_node("Loop", [count, yes, outer] + [empty] * len(caches), last, body=body)]
    net.x = "y"
    net.save(path)


def products_of_bits(path, rows=1, width=512, block=32):
    """Products whose weights have 4 bits, in blocks with a scale each."""
    net = Net([1, rows, width])
    for n, k in ((width, width), (4 * width, width), (width, 4 * width), (width, width)):
        blocks = k // block
        packed = net.constant(net.rng.integers(0, 256, [n, blocks, block // 2], dtype=np.uint8))
        scales = net.constant((net.rng.uniform(0.5, 1, n * blocks) * 0.3 * k ** -0.5).astype(np.float32))
        net.add("MatMulNBits", packed, scales, K=k, N=n, bits=4, block_size=block, domain="com.microsoft"), net.add("Relu")
    net.save(path)


def quantised(make, how):
    """`make`, quantised as ONNX Runtime's tools do: QDQ, QOperator or dynamic."""

    def write(path):
        from onnxruntime import quantization
        make(path + ".fp32")
        if how == "dynamic":
            return quantization.quantize_dynamic(path + ".fp32", path)

        class Reader(quantization.CalibrationDataReader):
            left = [feeds_of(path + ".fp32")]

            def get_next(self):
                return self.left.pop() if self.left else None

        quantization.quantize_static(path + ".fp32", path, Reader(), quant_format=getattr(quantization.QuantFormat, how), per_channel=how == "QDQ",
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)

    return write


# (kind, name, how it is written); in a fixed order.
NETWORKS = [
    ("quantised", "residual QDQ", quantised(residual, "QDQ")),
    ("quantised", "residual QOperator", quantised(residual, "QOperator")),
    ("quantised", "mobile QDQ", quantised(mobile, "QDQ")),
    ("quantised", "encoder QDQ", quantised(encoder, "QDQ")),
    ("quantised", "encoder dynamic", quantised(encoder, "dynamic")),
    ("quantised", "4-bit products, 1 row", products_of_bits),
    ("quantised", "4-bit products, 8 rows", lambda path: products_of_bits(path, 8)),
    ("quantised", "4-bit products, 64 rows", lambda path: products_of_bits(path, 64)),
    ("loops", "decoder, 64 positions", decoder),
    ("loops", "decoder, 256 positions", lambda path: decoder(path, 256)),
    ("pooling", "3 x 3 maxima", pools),
    ("pooling", "3 x 3 means", lambda path: pools(path, "AveragePool")),
    ("pooling", "ceil_mode, open sizes", ceil_pools),
    ("pooling", "volumes", volumes),
    ("activations", "Clip", mobile),
    ("activations", "PRelu", lambda path: mobile(path, "PRelu")),
    ("element-wise", "chains", elements),
]
SIZES = {"d2": 224, "d3": 224}


def feeds_of(path):
    """Of the only feed, x."""
    dims = [d.dim_value or SIZES[d.dim_param] for d in onnx.load(path).graph.input[0].type.tensor_type.shape.dim]
    return {"x": np.random.default_rng(1).standard_normal(dims).astype(np.float32)}


def section_kinds(args, work):
    results, rows = [], [["network", "threads", "ampc", "ONNX Runtime", "OpenVINO", "ampc / faster peer", "OpenVINO again / OpenVINO"]]
    for number, (kind, name, write) in enumerate(NETWORKS):
        path, feeds = os.path.join(work, f"{number}.onnx"), os.path.join(work, f"{number}.npz")
        write(path)
        np.savez(feeds, **feeds_of(path))
        for threads in args.threads:
            best = common.in_turn({"ampc": common.AmpcBench(args, path, feeds, threads), "ort": engines.ort(path, feeds, threads, 10),
                                   "openvino": engines.openvino(path, feeds, threads, 10, "f32"), "again": engines.openvino(path, feeds, threads, 10, "f32")}, args.rounds)
            peers = [best[who] for who in ("ort", "openvino") if "failed" not in best[who]]
            faster = min(peers, key=lambda r: r["best"], default={"failed": "no peer"})
            results.append({"kind": kind, "model": name, "threads": threads, **best})
            rows.append([f"{kind}: {name}", str(threads), common.ms(best["ampc"]), common.ms(best["ort"]), common.ms(best["openvino"]), common.quotient(best["ampc"], faster),
                         common.quotient(best["again"], best["openvino"])])
    table("kinds of networks", rows)
    return results
