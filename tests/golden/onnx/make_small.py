#!/usr/bin/env python3
"""Writes the small ONNX models beside this script: small.onnx, and external.onnx, the same with its weights in external.data. By hand, with
a Python that has onnx and numpy; small_inputs_K.npz and small_outputs_K.npz come from onnx's reference evaluator.

A convolution, a matrix product and a softmax; an If whose branches read values and a weight of the graph around them. No weight is a half, so
that narrowing shows.
"""
import os
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))


def values(*dims):
    count = int(np.prod(dims))
    return (np.sin(np.arange(count) * 0.7 + len(dims)) * 0.5).astype(np.float32).reshape(dims)


def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", 5])])


def small():
    weights = {"conv.weight": values(4, 1, 3, 3), "conv.bias": values(4), "fc.weight": values(64, 5), "scale": values(5), "table": values(5, 5)}
    yes = branch("yes", [helper.make_node("MatMul", ["logits", "table"], ["turned"], name="yes_matmul"),
                         helper.make_node("Relu", ["turned"], ["yes_out"], name="yes_relu")], "yes_out")
    no = branch("no", [helper.make_node("Mul", ["logits", "scale"], ["no_out"], name="no_mul")], "no_out")
    nodes = [
        helper.make_node("Conv", ["image", "conv.weight", "conv.bias"], ["features"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["features"], ["active"], name="relu"),
        helper.make_node("Flatten", ["active"], ["flat"], name="flatten"),
        helper.make_node("MatMul", ["flat", "fc.weight"], ["logits"], name="fc"),
        helper.make_node("If", ["flag"], ["chosen"], name="if", then_branch=yes, else_branch=no),
        helper.make_node("Softmax", ["chosen"], ["shares"], name="softmax", axis=-1),
    ]
    feeds = [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8]), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])]
    fetches = [helper.make_tensor_value_info("shares", TensorProto.FLOAT, ["n", 5])]
    graph = helper.make_graph(nodes, "small", feeds, fetches, [numpy_helper.from_array(v, k) for k, v in weights.items()])
    model = helper.make_model(graph, producer_name="make_small", opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def archive(name, tensors):
    with zipfile.ZipFile(os.path.join(HERE, name), "w") as z:
        for key, tensor in tensors.items():
            with z.open(zipfile.ZipInfo(key + ".npy", (2020, 1, 1, 0, 0, 0)), "w") as f:
                np.lib.format.write_array(f, np.asarray(tensor))


def main():
    model = small()
    onnx.save(model, os.path.join(HERE, "small.onnx"))
    for k, flag in enumerate([True, False]):
        feeds = {"image": values(k + 1, 1, 8, 8), "flag": np.array(flag)}
        archive(f"small_inputs_{k}.npz", feeds)
        archive(f"small_outputs_{k}.npz", {"shares": ReferenceEvaluator(model).run(None, feeds)[0]})
    data = os.path.join(HERE, "external.data")
    if os.path.exists(data):
        os.remove(data)
    onnx.save(model, os.path.join(HERE, "external.onnx"), save_as_external_data=True, location="external.data", size_threshold=64)


if __name__ == "__main__":
    main()
