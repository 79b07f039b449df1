#!/usr/bin/env python3
"""Models of the operators that ONNX Runtime's optimizer and quantizers write (domain com.microsoft), and what ONNX Runtime gives for them; of
those that its CPU provider does not have, what their definition in its docs/ContribOperators.md says, by numpy.

    pip install onnx onnxruntime numpy; python3 generate_microsoft.py [NAME...]

writes more/test_ms_<name>/model.onnx and its data set next to this file, in the form of the standard's tests: a model has a node for each setting.
"""
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
MS = "com.microsoft"
CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


class Model:
    """Nodes with operands that are arrays (each becomes an input, or an initializer in `const`), names of results, or None."""

    def __init__(self, name, opset=21):
        self.rng = np.random.default_rng(sum(map(ord, name)))
        self.name, self.opset, self.nodes, self.feeds, self.constants, self.outputs, self.expected = name, opset, [], {}, {}, [], {}

    def values(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def ints(self, low, high, *shape, dtype=np.int32):
        return self.rng.integers(low, high, shape).astype(dtype)

    def const(self, array):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op, operands, results=1, domain=MS, expected=None, **attrs):
        """`results`: how many, or a list of True (wanted) and False. `expected`: what the definition says, where ONNX Runtime has no kernel."""
        names = []
        for x in operands:
            if isinstance(x, (np.ndarray, np.generic)):
                names.append(f"x{len(self.feeds)}")
                self.feeds[names[-1]] = np.asarray(x)
            else:
                names.append(x or "")
        wanted = [True] * results if isinstance(results, int) else results
        outs = [f"{op}_{len(self.nodes)}_{i}" if w else "" for i, w in enumerate(wanted)]
        self.nodes.append(helper.make_node(op, names, outs, domain=domain, name=f"node{len(self.nodes)}", **attrs))
        made = [o for o in outs if o]
        self.outputs += made
        if expected is not None:
            self.expected.update(zip(made, expected if isinstance(expected, (list, tuple)) else [expected]))
        return made[0] if len(made) == 1 else made

    def model(self, outputs):
        def info(n, a):
            return helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        graph = helper.make_graph(self.nodes, self.name, [info(n, a) for n, a in self.feeds.items()], outputs,
                                  [numpy_helper.from_array(a, n) for n, a in self.constants.items()])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid(MS, 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="generate_microsoft.py")

    def save(self, root):
        results = self.expected
        if not results:
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.intra_op_num_threads = 1
            text = self.model([onnx.ValueInfoProto(name=o) for o in self.outputs]).SerializeToString()
            session = onnxruntime.InferenceSession(text, options, providers=["CPUExecutionProvider"])
            results = dict(zip(self.outputs, session.run(self.outputs, self.feeds)))
        outputs = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(results[o].dtype), [None] * results[o].ndim) for o in self.outputs]
        folder = os.path.join(root, "test_ms_" + self.name)
        shutil.rmtree(folder, ignore_errors=True)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        onnx.save(self.model(outputs), os.path.join(folder, "model.onnx"))
        for kind, arrays in (("input", self.feeds.values()), ("output", [results[o] for o in self.outputs])):
            for i, a in enumerate(arrays):
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(np.array(a)).SerializeToString())


def erf(x):
    import math
    return np.vectorize(math.erf)(x).astype(np.float32)


@case
def fused_conv(m):
    x, w, b = m.values(1, 2, 6, 5), m.const(m.values(4, 2, 3, 3)), m.const(m.values(4))
    m.node("FusedConv", [x, w, b], activation="Relu", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    m.node("FusedConv", [x, w, b, m.values(1, 4, 6, 5)], activation="Relu", pads=[1, 1, 1, 1])
    m.node("FusedConv", [x, w], activation="LeakyRelu", activation_params=[0.2], strides=[2, 2])
    m.node("FusedConv", [x, w, b], activation="Clip", activation_params=[-0.5, 1.5])
    m.node("FusedConv", [x, w, b], activation="HardSigmoid", activation_params=[0.3, 0.4], auto_pad="SAME_UPPER")
    m.node("FusedConv", [x, m.const(m.values(4, 1, 3, 3)), b], activation="Tanh", group=2)
    m.node("FusedConv", [x, w, b], activation="Sigmoid", dilations=[2, 2])


@case
def fused_matmul(m):
    a, b = m.values(2, 3, 4), m.values(2, 4, 5)
    m.node("FusedMatMul", [a, b], alpha=0.125)
    m.node("FusedMatMul", [m.values(2, 4, 3), m.values(2, 5, 4)], alpha=-2.0, transA=1, transB=1)
    m.node("FusedMatMul", [m.values(3, 2, 4), b], transBatchA=1)
    m.node("FusedMatMul", [a, m.values(4, 2, 5)], transBatchB=1)
    m.node("FusedMatMul", [a, m.values(5, 2, 4)], transBatchB=1, transB=1, alpha=0.5)
    m.node("FusedMatMul", [m.values(3, 4), m.values(4, 5)])
    m.node("TransposeMatMul", [a, m.values(2, 5, 4)], transB=1)


@case
def fused_gemm(m):
    a, b, c = m.values(3, 4), m.values(4, 5), m.values(5)
    m.node("FusedGemm", [a, b, c], activation="Relu")
    m.node("FusedGemm", [a, m.values(5, 4), c], activation="LeakyRelu", activation_alpha=0.1, transB=1, alpha=0.5, beta=2.0)
    m.node("FusedGemm", [a, b], activation="Tanh")
    m.node("FusedGemm", [a, b, c], activation="Sigmoid")
    m.node("FusedGemm", [a, b, c], activation="Elu", activation_alpha=0.7)
    m.node("FusedGemm", [a, b, c], activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.2)
    m.node("FusedGemm", [a, b, c], activation="Softplus")


@case
def gelu(m):
    x, b = m.values(2, 3, 8), m.values(8, scale=0.5)
    m.node("Gelu", [x])
    m.node("BiasGelu", [x, b])
    m.node("FastGelu", [x])
    m.node("FastGelu", [x, b])
    m.node("QuickGelu", [x])
    m.node("QuickGelu", [x], alpha=1.0)


@case
def layer_norm(m):
    x, skip, gamma, beta, bias = m.values(2, 3, 8), m.values(2, 3, 8), m.values(8), m.values(8), m.values(8)
    m.node("SkipLayerNormalization", [x, skip, gamma, beta], epsilon=1e-5)
    m.node("SkipLayerNormalization", [x, skip, gamma, beta, bias], [True, False, False, True], epsilon=1e-3)
    m.node("SkipLayerNormalization", [x, m.values(3, 8), gamma])
    m.node("SkipLayerNormalization", [x, m.values(1, 3, 8), gamma, None, bias], [True, False, False, True])
    m.node("SkipSimplifiedLayerNormalization", [x, skip, gamma], epsilon=1e-5)
    m.node("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], [True, False, False, True], epsilon=1e-2)
    m.node("SkipSimplifiedLayerNormalization", [m.values(6, 8), m.values(6, 8), gamma])
    m.node("SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-2)
    m.node("SimplifiedLayerNormalization", [x, m.values(3, 8)], 2, domain="", axis=1)


@case
def embed_layer_norm(m):
    ids, segments = m.ints(0, 10, 2, 4), m.ints(0, 2, 2, 4)
    words, positions, kinds, gamma, beta = (m.const(m.values(*s)) for s in ((10, 8), (6, 8), (2, 8), (8,), (8,)))
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    m.node("EmbedLayerNormalization", [ids, segments, words, positions, kinds, gamma, beta], 2, epsilon=1e-5)
    m.node("EmbedLayerNormalization", [ids, segments, words, positions, kinds, gamma, beta, mask], 3)
    m.node("EmbedLayerNormalization", [ids, None, words, positions, None, gamma, beta, None, m.ints(0, 6, 2, 4)], 2, epsilon=1e-3)
    m.node("EmbedLayerNormalization", [ids, None, words, positions, None, gamma, beta, mask, m.ints(0, 6, 1, 4)], 2)


def numpy_group_norm(x, gamma, beta, groups, epsilon, silu, skip=None, bias=None, last=True):
    if skip is not None:
        x = x + (skip[:, None, None, :] if skip.ndim == 2 else skip)
    if bias is not None:
        x = x + bias
    s = x
    if last:
        x = x.transpose(0, 3, 1, 2)
    n, c = x.shape[:2]
    rows = x.reshape(n, groups, -1).astype(np.float64)
    y = ((rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + epsilon)).reshape(x.shape)
    y = y * gamma.reshape(1, c, 1, 1) + beta.reshape(1, c, 1, 1)
    if silu:
        y = y / (1 + np.exp(-y))
    return [(y.transpose(0, 2, 3, 1) if last else y).astype(np.float32), s.astype(np.float32)]


@case
def group_norm(m):
    x, gamma, beta = m.values(2, 3, 4, 6), m.values(6), m.values(6)
    m.node("GroupNorm", [x, gamma, beta], groups=3, activation=1, expected=numpy_group_norm(x, gamma, beta, 3, 1e-5, True)[:1])
    first = m.values(2, 6, 3, 4)
    m.node("GroupNorm", [first, gamma, beta], groups=2, activation=0, epsilon=1e-2, channels_last=0,
           expected=numpy_group_norm(first, gamma, beta, 2, 1e-2, False, last=False)[:1])
    skip, bias = m.values(2, 3, 4, 6), m.values(6)
    m.node("SkipGroupNorm", [x, gamma, beta, skip, bias], 2, groups=2, activation=1, expected=numpy_group_norm(x, gamma, beta, 2, 1e-5, True, skip, bias))
    small = m.values(2, 6)
    m.node("SkipGroupNorm", [x, gamma, beta, small], 1, groups=6, activation=0, expected=numpy_group_norm(x, gamma, beta, 6, 1e-5, False, small)[:1])


@case
def diffusion(m):
    x, bias, skip = m.values(2, 3, 8), m.values(8), m.values(2, 3, 8)
    m.node("BiasAdd", [x, bias, skip], expected=x + bias + skip)
    s = x + bias
    left, right = s[..., :4], s[..., 4:]
    m.node("BiasSplitGelu", [x, bias], expected=left * 0.5 * right * (1 + erf(right / np.sqrt(2))))
    w, b = m.values(8, 4), m.values(4)
    y = x @ w + b
    m.node("GemmFastGelu", [x, w, b], expected=(0.5 * y * (1 + np.tanh(0.7978845608 * (y + 0.044715 * y ** 3)))).astype(np.float32))


@case
def bias_softmax(m):
    def softmax(x, axis):
        rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
        e = np.exp(rows - rows.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True)).reshape(x.shape).astype(np.float32)
    x, b = m.values(2, 3, 4, 5), m.values(2, 1, 1, 5)
    m.node("BiasSoftmax", [x, b], axis=3, is_inner_broadcast=1, expected=softmax(x + b, 3))
    b = m.values(4, 5)
    m.node("BiasSoftmax", [x, b], axis=2, is_inner_broadcast=0, expected=softmax(x + b, 2))


@case
def nhwc_conv(m):
    def conv(x, w, b, z, act):
        import torch
        y = torch.nn.functional.conv2d(torch.tensor(x.transpose(0, 3, 1, 2)), torch.tensor(w), torch.tensor(b), padding=1).numpy()
        y = y.transpose(0, 2, 3, 1) + (0 if z is None else z)
        return np.maximum(y, 0) if act else y
    x, w, b, z = m.values(1, 5, 4, 2), m.values(3, 2, 3, 3), m.values(3), m.values(1, 5, 4, 3)
    m.node("NhwcFusedConv", [x, w, b, z], activation="Relu", pads=[1, 1, 1, 1], expected=conv(x, w, b, z, True))
    m.node("NhwcConv", [x, w, b], pads=[1, 1, 1, 1], expected=conv(x, w, b, None, False))


# Attention.

@case
def attention(m):
    x, w, b = m.values(2, 3, 8), m.const(m.values(8, 24, scale=0.5)), m.const(m.values(24))
    m.node("Attention", [x, w, b], num_heads=2)
    m.node("Attention", [x, w], num_heads=4, unidirectional=1, scale=0.7)
    m.node("Attention", [x, w, b, np.array([3, 2], np.int32)], num_heads=2)
    m.node("Attention", [x, w, b, np.array([3, 3, 0, 1], np.int32)], num_heads=2)
    m.node("Attention", [x, w, b, np.array([[1, 1, 1], [1, 0, 1]], np.int32)], num_heads=2, mask_filter_value=-100.0)
    m.node("Attention", [x, w, b, m.ints(0, 2, 2, 3, 3)], num_heads=2, unidirectional=1, mask_filter_value=-5.0)
    m.node("Attention", [x, w, b, None, m.values(2, 2, 2, 4, 4)], 2, num_heads=2)
    m.node("Attention", [x, w, b, np.ones((2, 7), np.int32), m.values(2, 2, 2, 4, 4)], 2, num_heads=2, unidirectional=1)
    m.node("Attention", [x, w, b, None, None, m.values(1, 2, 3, 3)], num_heads=2)
    m.node("Attention", [x, m.const(m.values(8, 28)), m.const(m.values(28))], num_heads=2, qkv_hidden_sizes=[8, 8, 12])


@case
def multi_head_attention(m):
    q, k, v = m.values(2, 3, 8), m.values(2, 5, 8), m.values(2, 5, 12)
    bias = m.const(m.values(28))
    op = "MultiHeadAttention"
    m.node(op, [q, k, v], num_heads=2)
    m.node(op, [q, k, v, bias], num_heads=2, scale=0.3)
    m.node(op, [q, k, v, bias, np.array([5, 3], np.int32)], num_heads=2)
    m.node(op, [q, k, v, None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)], num_heads=2, mask_filter_value=-50.0)
    m.node(op, [q, k, v, None, m.ints(0, 2, 2, 3, 5)], num_heads=2, mask_filter_value=-2.0)
    m.node(op, [q, k, v, None, None, m.values(2, 1, 3, 5)], num_heads=2)
    s = m.values(2, 3, 8)
    m.node(op, [s, m.values(2, 3, 8), m.values(2, 3, 8)], num_heads=4, unidirectional=1)
    past = m.values(2, 2, 4, 4), m.values(2, 2, 4, 4)
    m.node(op, [s, m.values(2, 3, 8), m.values(2, 3, 8), None, None, None, *past], 3, num_heads=2)
    m.node(op, [s, m.values(2, 3, 8), m.values(2, 3, 8), m.const(m.values(24)), np.ones((2, 7), np.int32), None, *past], 3, num_heads=2, unidirectional=1)
    m.node(op, [q, m.values(2, 2, 5, 4), m.values(2, 2, 5, 4)], num_heads=2)


@case
def multi_head_attention_packed(m):
    """Forms that the CPU provider does not have: the same by the operands apart."""
    def attend(q, k, v):
        s = np.einsum("bsnh,btnh->bnst", q, k) / np.sqrt(q.shape[3])
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("bnst,btnh->bsnh", e / e.sum(-1, keepdims=True), v).reshape(q.shape[0], q.shape[1], -1).astype(np.float32)
    qkv = m.values(2, 3, 2, 3, 4)
    m.node("MultiHeadAttention", [qkv], num_heads=2, expected=attend(*(qkv[:, :, :, i] for i in range(3))))
    q, kv = m.values(2, 3, 8), m.values(2, 5, 2, 2, 4)
    m.node("MultiHeadAttention", [q, kv], num_heads=2, expected=attend(q.reshape(2, 3, 2, 4), kv[:, :, :, 0], kv[:, :, :, 1]))


@case
def rotary_embedding(m):
    cos, sin = m.const(m.values(10, 2)), m.const(m.values(10, 2))
    x = m.values(2, 3, 8)
    m.node("RotaryEmbedding", [x, np.array([4], np.int64), cos, sin])
    m.node("RotaryEmbedding", [x, m.ints(0, 10, 2, 3, dtype=np.int64), cos, sin], interleaved=1)
    m.node("RotaryEmbedding", [m.values(2, 2, 3, 4), m.ints(0, 10, 2, 3, dtype=np.int64), cos, sin])
    m.node("RotaryEmbedding", [m.values(2, 2, 3, 6), np.array([1], np.int64), cos, sin], num_heads=2, rotary_embedding_dim=4)
    m.node("RotaryEmbedding", [m.values(2, 3, 12), m.ints(0, 10, 2, 3, dtype=np.int64), cos, sin], num_heads=2, rotary_embedding_dim=4, interleaved=1)


def group_query(m, batch, length, past, seqlens, total, packed=False, rotary=False, bias=None, room=None, position_ids=None, norm=False, sink=False, **attrs):
    heads, shared, size = 4, 2, 16
    room = past if room is None else room
    qkv = [m.values(batch, length, heads * size), m.values(batch, length, shared * size), m.values(batch, length, shared * size)]
    operands = [np.concatenate(qkv, 2), None, None] if packed else qkv
    operands += [m.values(batch, shared, room, size), m.values(batch, shared, room, size)] if room else [None, None]
    operands += [np.array(seqlens, np.int32) - 1, m.const(np.array(total, np.int32)) if total > 0 else np.array(-total, np.int32)]
    operands += [m.const(m.values(16, size // 2)), m.const(m.values(16, size // 2))] if rotary else [None, None]
    operands += [position_ids, bias, m.values(heads) if sink else None]
    while operands[-1] is None:
        operands.pop()
    m.node("GroupQueryAttention", operands, 3, num_heads=heads, kv_num_heads=shared, do_rotary=int(rotary), **attrs)


@case
def group_query_attention(m):
    group_query(m, 2, 3, 0, [3, 3], 3)
    group_query(m, 2, 3, 0, [3, 3], 3, packed=True, rotary=True)
    group_query(m, 1, 1, 4, [5], 5, rotary=True)
    group_query(m, 1, 1, 4, [5], -5, packed=True, rotary=True, rotary_interleaved=1)
    group_query(m, 2, 1, 4, [5, 3], 5, rotary=True)
    group_query(m, 2, 1, 4, [4, 2], -4, room=8)
    group_query(m, 1, 3, 4, [7], 7, room=8, softcap=2.0)
    group_query(m, 1, 6, 0, [6], 6, local_window_size=2)
    group_query(m, 1, 1, 7, [8], 8, local_window_size=3, scale=0.2)
    group_query(m, 2, 3, 0, [3, 3], 3, smooth_softmax=1)
    group_query(m, 2, 3, 0, [3, 3], 3, sink=True)
    group_query(m, 1, 3, 2, [5], 5, bias=m.values(1, 4, 3, 5))
    group_query(m, 1, 3, 0, [3], 3, rotary=True, position_ids=np.array([[2, 3, 4]], np.int64))


# Quantised.

def grid(m, low, high, *shape, dtype=np.uint8):
    return m.ints(low, high, *shape, dtype=dtype)


@case
def qlinear(m):
    a, b = grid(m, 0, 256, 2, 3, 4), grid(m, 0, 256, 3, 4)
    f, u = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v)))
    i = lambda v: m.const(np.int8(v))
    m.node("QLinearAdd", [a, f(0.02), u(120), b, f(0.031), u(100), f(0.0413), u(128)])
    m.node("QLinearMul", [a, f(0.02), u(120), b, f(0.03), u(100), f(0.05), u(128)])
    s = grid(m, -128, 128, 2, 3, 4, dtype=np.int8)
    m.node("QLinearMul", [s, f(0.02), i(-3), grid(m, -128, 128, 4, dtype=np.int8), f(0.011), i(5), f(0.03), i(1)])
    m.node("QLinearSigmoid", [a, f(0.05), u(128), f(1 / 256), u(0)])
    m.node("QLinearSigmoid", [s, f(0.04), i(3), f(1 / 256), i(-128)])
    m.node("QLinearLeakyRelu", [a, f(0.05), u(100), f(0.04), u(90)], alpha=0.2)
    m.node("QLinearConcat", [f(0.03), u(110), a, f(0.02), u(120), grid(m, 0, 256, 2, 1, 4), f(0.05), u(100)], axis=1)
    m.node("QLinearWhere", [m.ints(0, 2, 3, 4).astype(bool), a, f(0.02), u(120), b, f(0.03), u(100), f(0.04), u(90)])


@case
def qlinear_pool(m):
    f, u = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v)))
    x = grid(m, 0, 256, 1, 2, 6, 5)
    m.node("QLinearAveragePool", [x, f(0.02), u(120), f(0.015), u(110)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    m.node("QLinearAveragePool", [x, f(0.02), u(120), f(0.017), u(115)], kernel_shape=[2, 3], count_include_pad=1, pads=[0, 1, 0, 1])
    m.node("QLinearAveragePool", [grid(m, 0, 256, 1, 6, 5, 2), f(0.02), u(120), f(0.015), u(110)], kernel_shape=[2, 2], channels_last=1)
    m.node("QLinearGlobalAveragePool", [x, f(0.02), u(120), f(0.005), u(128)])
    m.node("QLinearGlobalAveragePool", [grid(m, 0, 256, 1, 6, 5, 2), f(0.02), u(120), f(0.005), u(128)], channels_last=1)
    m.node("NhwcMaxPool", [grid(m, 0, 256, 1, 6, 5, 2)], kernel_shape=[3, 2], pads=[1, 0, 1, 0], strides=[2, 1])
    m.node("NhwcMaxPool", [grid(m, -128, 128, 1, 6, 5, 2, dtype=np.int8)], kernel_shape=[2, 2])


@case
def qlinear_softmax(m):
    f, u = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v)))
    x = grid(m, 0, 256, 2, 3, 8)
    m.node("QLinearSoftmax", [x, f(0.02), u(120), f(1 / 256), u(0)], axis=-1, opset=13)
    m.node("QLinearSoftmax", [x, f(0.01), u(120), f(1 / 256), u(0)], axis=1, opset=12)


@case
def qlinear_numpy(m):
    x = grid(m, 0, 256, 2, 3, 4)
    y = np.clip(np.rint((x.astype(np.float64) - 120).mean(1, keepdims=True) * 0.02 / 0.01) + 128, 0, 255).astype(np.uint8)
    f, u = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v)))
    m.node("QLinearReduceMean", [x, f(0.02), u(120), f(0.01), u(128)], axes=[1], keepdims=1, expected=y)
    b = grid(m, 0, 256, 3, 4)
    m.node("MulInteger", [x, u(7), b, u(250)], expected=(x.astype(np.int32) - 7) * (b.astype(np.int32) - 250))


@case
def quantized_products(m):
    a, b = grid(m, 0, 256, 2, 3, 4), grid(m, -128, 128, 4, 5, dtype=np.int8)
    f, u, i = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v))), (lambda v: m.const(np.array(v, np.int8)))
    scales, zeros = m.const(np.float32([0.01, 0.02, 0.03, 0.04, 0.05])), i([1, -2, 3, 0, 5])
    m.node("MatMulIntegerToFloat", [a, b, f(0.02), f(0.03)])
    m.node("MatMulIntegerToFloat", [a, b, f(0.02), scales, u(120), zeros, m.values(5)])
    x = m.values(2, 3, 4)
    m.node("DynamicQuantizeMatMul", [x, b, f(0.03)])
    m.node("DynamicQuantizeMatMul", [x, b, scales, zeros, m.values(5)])
    c, a2 = m.ints(-1000, 1000, 5), grid(m, 0, 256, 3, 4)
    m.node("QGemm", [a2, f(0.02), u(120), b, f(0.03), i(4), c])
    m.node("QGemm", [a2, f(0.02), u(120), b, scales, zeros, c, f(0.7), u(100)], alpha=0.5)
    m.node("QGemm", [grid(m, 0, 256, 4, 3), f(0.02), u(120), grid(m, 0, 256, 5, 4), f(0.03), u(128), None, f(0.5), u(100)], transA=1, transB=1)


@case
def quantize_linear(m):
    x = m.values(2, 3, 4, scale=3)
    f, u, i = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v))), (lambda v: m.const(np.int8(v)))
    m.node("QuantizeLinear", [x, f(0.05), u(100)])
    m.node("QuantizeLinear", [x, m.const(np.float32([0.05, 0.1, 0.02])), m.const(np.int8([1, -5, 7]))], axis=1)
    m.node("QuantizeLinear", [x, f(0.001), m.const(np.int16(-300))])
    q = grid(m, 0, 256, 2, 3, 4)
    m.node("DequantizeLinear", [q, f(0.05), u(100)])
    m.node("DequantizeLinear", [q, m.const(np.float32([0.05, 0.1, 0.02, 0.3])), m.const(np.uint8([1, 5, 7, 200]))], axis=2)
    m.node("DequantizeLinear", [m.ints(-30000, 30000, 2, 3, dtype=np.int16), f(0.001), m.const(np.int16(-300))])
    m.node("DequantizeLinear", [m.ints(-30000, 30000, 2, 3), f(0.001)])


@case
def qlinear_conv_last(m):
    f, u = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v)))
    w, b = m.const(grid(m, -128, 128, 3, 2, 3, 3, dtype=np.int8)), m.const(m.ints(-500, 500, 3))
    zeros = m.const(np.zeros(3, np.int8))
    m.node("QLinearConv", [grid(m, 0, 256, 1, 6, 5, 2), f(0.02), u(120), w, m.const(np.float32([0.01, 0.02, 0.03])), zeros, f(0.2), u(100), b],
           channels_last=1, pads=[1, 1, 1, 1])
    m.node("QLinearConv", [grid(m, 0, 256, 1, 2, 6, 5), f(0.02), u(120), w, f(0.01), m.const(np.int8(0)), f(0.2), u(100)], strides=[2, 2])


@case
def matmul_nbits(m):
    def packed(n, k, block, bits, zero, bias=False, as_float=False):
        blocks = -(-k // block)
        operands = [m.values(2, 3, k), m.const(grid(m, 0, 256, n, blocks, block * bits // 8)), m.const(m.values(n, blocks, scale=0.1))]
        if zero:
            operands.append(m.const(m.values(n, blocks, scale=3) + 8 if as_float else grid(m, 0, 256, n, -(-blocks * bits // 8))))
        elif bias:
            operands.append(None)
        if bias:
            operands += [None, m.values(n)]
        m.node("MatMulNBits", operands, K=k, N=n, bits=bits, block_size=block)
    packed(5, 32, 16, 4, False)
    packed(5, 48, 16, 4, True)
    packed(4, 40, 16, 4, True, bias=True)
    packed(4, 32, 16, 4, True, as_float=True)
    packed(3, 32, 16, 8, False)
    packed(3, 32, 16, 8, True, bias=True)


@case
def qattention(m):
    x, w = grid(m, 0, 256, 2, 3, 8), m.const(grid(m, -128, 128, 8, 24, dtype=np.int8))
    f, u, i = (lambda v: m.const(np.float32(v))), (lambda v: m.const(np.uint8(v))), (lambda v: m.const(np.int8(v)))
    bias = m.const(m.values(24))
    m.node("QAttention", [x, w, bias, f(0.02), f(0.01), None, u(120), i(3)], num_heads=2)
    m.node("QAttention", [x, w, bias, f(0.02), f(0.01), np.array([2, 3], np.int32), u(120), i(0)], num_heads=2)
    m.node("QAttention", [x, w, bias, f(0.02), f(0.01), None, u(120), i(0), m.values(2, 2, 2, 4, 4)], 2, num_heads=2, unidirectional=1)


@case
def dynamic_quantize_lstm(m):
    def lstm(direction, batch=2, time=4, features=3, hidden=4, per_channel=False, lens=None, initial=False):
        d = 2 if direction == "bidirectional" else 1
        scale = (lambda: m.const(np.abs(m.values(*((d, 4 * hidden) if per_channel else (d,)), scale=0.01)) + 0.002))
        zero = (lambda: m.const(np.zeros((d, 4 * hidden) if per_channel else (d,), np.int8)))
        w, r = m.const(grid(m, -128, 128, d, features, 4 * hidden, dtype=np.int8)), m.const(grid(m, -128, 128, d, hidden, 4 * hidden, dtype=np.int8))
        states = [m.values(d, batch, hidden, scale=0.5), m.values(d, batch, hidden)] if initial else [None, None]
        m.node("DynamicQuantizeLSTM", [m.values(time, batch, features), w, r, m.const(m.values(d, 8 * hidden)), lens, *states, None,
                                       scale(), zero(), scale(), zero()], 3, direction=direction, hidden_size=hidden)
    lstm("forward")
    lstm("reverse", per_channel=True, initial=True)
    lstm("bidirectional", initial=True)


# As the optimizer saves what its quantizer wrote in 16 bits: every attribute stands there, with 0 for a type that nothing says.
@case
def qdq16(m):
    x = m.values(2, 3, 4, scale=2.0)
    for dtype, zero in ((np.uint16, 30000), (np.int16, -7), (np.uint8, 3)):
        scale = m.const(np.float32(1e-4 if dtype != np.uint8 else 0.02))
        point = m.const(dtype(zero))
        q = m.node("QuantizeLinear", [x, scale, point], domain="", axis=1, saturate=1, output_dtype=0, block_size=0)
        m.node("DequantizeLinear", [q, scale, point], domain="", axis=1, block_size=0)
        q = m.node("QuantizeLinear", [x, scale, point])
        m.node("DequantizeLinear", [q, scale, point])
    m.node("QuantizeLinear", [x, m.const(np.float32(0.02))], domain="", axis=1, saturate=1, output_dtype=0, block_size=0)
    m.node("QuantizeLinear", [x, m.const(np.float32([0.02, 1e-4, 3.0])), m.const(np.uint16([1, 2, 3]))], domain="", axis=-2, output_dtype=0)


# The others.

@case
def misc(m):
    m.node("Inverse", [m.values(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)])
    m.node("Inverse", [m.values(4, 4) + 3 * np.eye(4, dtype=np.float32)])
    x = m.values(2, 4, 5)
    m.node("Trilu", [x])
    m.node("Trilu", [x, m.const(np.int64(-1))], upper=0)
    m.node("UnfoldTensor", [x], dim=1, size=2, step=1)
    m.node("UnfoldTensor", [m.ints(0, 9, 2, 7)], size=3, step=2)
    m.node("ExpandDims", [x, m.const(np.int32(-2))])
    m.node("Range", [np.float32(1), np.float32(4), np.float32(0.5)])
    m.node("Range", [np.int64(2), np.int64(7)])


@case
def crop_and_resize(m):
    x = m.values(2, 3, 6, 7)
    boxes = np.float32([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.8, 0.9, 0.2, 0.1], [-0.2, 0.1, 1.3, 0.5]])
    index = np.array([0, 1, 1, 0], np.int32)
    m.node("CropAndResize", [x, boxes, index, m.const(np.array([4, 5], np.int32))])
    m.node("CropAndResize", [x, boxes, index, m.const(np.array([3, 1], np.int32))], extrapolation_value=2.5)
    boxes = boxes + np.float32(0.013)
    m.node("CropAndResize", [x, boxes, index, m.const(np.array([4, 3], np.int32))], mode="nearest", extrapolation_value=-1.0)


@case
def conv_transpose_dynamic_pads(m):
    x, w = m.values(1, 2, 4, 5), m.const(m.values(2, 3, 3, 3))
    m.node("ConvTransposeWithDynamicPads", [x, w, m.const(np.array([1, 1, 1, 1], np.int64)), m.const(m.values(3))], strides=[2, 2], output_padding=[1, 1])
    m.node("ConvTransposeWithDynamicPads", [x, w, np.array([0, 1, 1, 0], np.int64)])


def main():
    names = sys.argv[1:] or list(CASES)
    root = os.environ.get("AMPC_NODES", os.path.join(HERE, "more"))
    for name in names:
        model = Model(name)
        CASES[name](model)
        model.save(root)


if __name__ == "__main__":
    main()
