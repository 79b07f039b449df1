#!/usr/bin/env python3
"""ResNet-50 and MobileNetV3-small with random weights, the same each time: one description, written as an ONNX model and as a Paddle model.

  PYTHON tests/bench/networks.py --child make resnet50 DIRECTORY     writes model.onnx, inference.pdmodel and inference.pdiparams there

A back end has input, conv (without a bias), norm (inference form), act, pool, add, multiply and linear; values have .channels.
"""
import os

import common
import numpy as np

SIZE, CLASSES, EPSILON = 224, 1000, 1e-5


class Weights:
    """Values in the order in which a description asks for them; scales keep activations of the order of one through any depth."""

    def __init__(self):
        self.rng, self.count = np.random.default_rng(0), 0

    def name(self):
        self.count += 1
        return f"w{self.count}"

    def normal(self, dims, fan_in):
        return self.name(), self.rng.standard_normal(dims, dtype=np.float32) * np.float32((2 / fan_in) ** 0.5)

    def near(self, dims, middle):
        return self.name(), (middle + self.rng.uniform(-0.2, 0.2, dims)).astype(np.float32)

    def statistics(self, channels, scale):
        """Scale, shift, mean and variance of a normalisation."""
        return [self.near([channels], middle) for middle in (scale, 0, 0, 1)]


# Descriptions.


def unit(b, x, filters, kernel, stride=1, groups=1, act="", scale=1.0):
    return b.act(b.norm(b.conv(x, filters, kernel, stride, groups), scale), act)


def bottleneck(b, x, filters, stride, first):
    h = unit(b, x, filters, 1, act="relu")
    h = unit(b, h, filters, 3, stride, act="relu")
    h = unit(b, h, 4 * filters, 1, scale=0.5)
    return b.act(b.add(h, unit(b, x, 4 * filters, 1, stride) if first else x), "relu")


def resnet50(b):
    """He et al. 2015; the stride is in the 3 x 3."""
    h = b.pool(unit(b, b.input(), 64, 7, 2, act="relu"))
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for k in range(blocks):
            h = bottleneck(b, h, 64 << stage, 2 if stage > 0 and k == 0 else 1, k == 0)
    return b.linear(b.mean(h), CLASSES)


# Kernel, channels inside, channels behind, squeeze, activation, stride: Howard et al. 2019, table 2.
MOBILE = [
    (3, 16, 16, True, "relu", 2), (3, 72, 24, False, "relu", 2), (3, 88, 24, False, "relu", 1), (5, 96, 40, True, "hard_swish", 2),
    (5, 240, 40, True, "hard_swish", 1), (5, 240, 40, True, "hard_swish", 1), (5, 120, 48, True, "hard_swish", 1), (5, 144, 48, True, "hard_swish", 1),
    (5, 288, 96, True, "hard_swish", 2), (5, 576, 96, True, "hard_swish", 1), (5, 576, 96, True, "hard_swish", 1),
]  # fmt: skip


def inverted(b, x, kernel, inside, outside, squeeze, act, stride):
    h = unit(b, x, inside, 1, act=act) if inside != x.channels else x
    h = unit(b, h, inside, kernel, stride, inside, act)
    if squeeze:
        s = b.act(b.conv(b.mean(h, keep=True), max(8, (inside // 4 + 4) // 8 * 8), 1), "relu")
        h = b.multiply(h, b.act(b.conv(s, inside, 1), "hard_sigmoid"))
    h = unit(b, h, outside, 1, scale=0.5)
    return b.add(h, x) if stride == 1 and x.channels == outside else h


def mobilenetv3_small(b):
    h = unit(b, b.input(), 16, 3, 2, act="hard_swish")
    for row in MOBILE:
        h = inverted(b, h, *row)
    h = unit(b, h, 576, 1, act="hard_swish")
    return b.linear(b.act(b.linear(b.mean(h), 1024), "hard_swish"), CLASSES)


NETWORKS = {"resnet50": resnet50, "mobilenetv3_small": mobilenetv3_small}


# Back ends.


class Name(str):
    """The name of a value of an ONNX graph."""

    channels = 0


class OnnxGraph:
    def __init__(self):
        self.weights, self.nodes, self.initializers = Weights(), [], []

    def node(self, kind, inputs, channels, **attributes):
        from onnx import helper
        out = Name(f"v{len(self.nodes)}")
        out.channels = channels
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"{kind}_{len(self.nodes)}", **attributes))
        return out

    def keep(self, named):
        from onnx import numpy_helper
        self.initializers.append(numpy_helper.from_array(named[1], named[0]))
        return named[0]

    def input(self):
        x = Name("x")
        x.channels = 3
        return x

    def conv(self, x, filters, kernel, stride=1, groups=1):
        w = self.keep(self.weights.normal([filters, x.channels // groups, kernel, kernel], x.channels // groups * kernel * kernel))
        return self.node("Conv", [x, w], filters, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)

    def norm(self, x, scale):
        return self.node("BatchNormalization", [x, *map(self.keep, self.weights.statistics(x.channels, scale))], x.channels, epsilon=EPSILON)

    def act(self, x, kind):
        if kind == "hard_sigmoid":
            return self.node("HardSigmoid", [x], x.channels, alpha=1 / 6, beta=0.5)
        return self.node({"relu": "Relu", "hard_swish": "HardSwish"}[kind], [x], x.channels) if kind else x

    def pool(self, x):
        return self.node("MaxPool", [x], x.channels, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])

    def mean(self, x, keep=False):
        x = self.node("GlobalAveragePool", [x], x.channels)
        return x if keep else self.node("Flatten", [x], x.channels)

    def add(self, x, y):
        return self.node("Add", [x, y], x.channels)

    def multiply(self, x, y):
        return self.node("Mul", [x, y], x.channels)

    def linear(self, x, features):
        w = self.keep(self.weights.normal([x.channels, features], x.channels))
        return self.node("Gemm", [x, w, self.keep(self.weights.near([features], 0))], features)

    def save(self, folder, describe):
        from onnx import TensorProto, helper
        out = describe(self)
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", ["n", 3, SIZE, SIZE]), (out, ["n", CLASSES]))]
        graph = helper.make_graph(self.nodes, describe.__name__, ends[:1], ends[1:], self.initializers)
        with open(os.path.join(folder, "model.onnx"), "wb") as f:
            f.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())


class Value:
    """A variable of a Paddle program."""

    def __init__(self, var):
        self.var, self.channels = var, var.shape[1]


class PaddleGraph:
    def __init__(self):
        import paddle
        paddle.enable_static()
        self.paddle, self.nn, self.weights, self.values = paddle, paddle.static.nn, Weights(), {}

    def keep(self, named):
        self.values[named[0]] = named[1]
        return self.paddle.ParamAttr(name=named[0])

    def input(self):
        return Value(self.paddle.static.data("x", [-1, 3, SIZE, SIZE]))

    def conv(self, x, filters, kernel, stride=1, groups=1):
        w = self.keep(self.weights.normal([filters, x.channels // groups, kernel, kernel], x.channels // groups * kernel * kernel))
        return Value(self.nn.conv2d(x.var, filters, kernel, stride, kernel // 2, groups=groups, param_attr=w, bias_attr=False))

    def norm(self, x, scale):
        scale, shift, mean, variance = map(self.keep, self.weights.statistics(x.channels, scale))
        return Value(self.nn.batch_norm(x.var, epsilon=EPSILON, param_attr=scale, bias_attr=shift, moving_mean_name=mean.name, moving_variance_name=variance.name, is_test=True))

    def act(self, x, kind):
        functions = self.paddle.nn.functional
        return Value({"relu": functions.relu, "hard_swish": functions.hardswish, "hard_sigmoid": functions.hardsigmoid}[kind](x.var)) if kind else x

    def pool(self, x):
        return Value(self.paddle.nn.functional.max_pool2d(x.var, 3, 2, 1))

    def mean(self, x, keep=False):
        x = self.paddle.nn.functional.adaptive_avg_pool2d(x.var, 1)
        return Value(x if keep else self.paddle.flatten(x, 1))

    def add(self, x, y):
        return Value(self.paddle.add(x.var, y.var))

    def multiply(self, x, y):
        return Value(self.paddle.multiply(x.var, y.var))

    def linear(self, x, features):
        w = self.keep(self.weights.normal([x.channels, features], x.channels))
        return Value(self.nn.fc(x.var, features, weight_attr=w, bias_attr=self.keep(self.weights.near([features], 0))))

    def save(self, folder, describe):
        static = self.paddle.static
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = self.input()
            self.input = lambda: x
            out = describe(self)
        executor = static.Executor(self.paddle.CPUPlace())
        executor.run(startup)
        for name, values in self.values.items():
            static.global_scope().find_var(name).get_tensor().set(values, self.paddle.CPUPlace())
        static.save_inference_model(os.path.join(folder, "inference"), [x.var], [out.var], executor, program=main)


def make(name, folder):
    os.makedirs(folder, exist_ok=True)
    for backend in (OnnxGraph, PaddleGraph):
        backend().save(folder, NETWORKS[name])
    return {}


if __name__ == "__main__":
    common.serve_child({"make": make})
