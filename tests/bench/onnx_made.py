"""Generated ONNX models of any size."""
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def layered(path, layers, external):
    """Products of 1024 x 1024 with a bias and an activation; the file is written piece by piece."""
    weights, nodes, x, offset = [], [], "x", 0
    rng = np.random.default_rng(0)
    block = (rng.standard_normal((1024, 1024)) * 0.03).astype(np.float32)
    data = open(path + ".data", "wb") if external else None
    for k in range(layers):
        values = np.roll(block, k)
        if external:
            w = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=values.shape, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", os.path.basename(path) + ".data"), ("offset", offset), ("length", values.nbytes)):
                w.external_data.add(key=key, value=str(value))
            data.write(values.tobytes())
            offset += values.nbytes
        else:
            w = numpy_helper.from_array(values, f"w{k}")
        weights += [w, numpy_helper.from_array(values[0], f"b{k}")]
        nodes += [helper.make_node("MatMul", [x, f"w{k}"], [f"m{k}"], name=f"matmul{k}"), helper.make_node("Add", [f"m{k}", f"b{k}"], [f"a{k}"], name=f"add{k}"),
                  helper.make_node("Relu", [f"a{k}"], [f"r{k}"], name=f"relu{k}")]
        x = f"r{k}"
    if external:
        data.close()
    save_graph(path, nodes, x, weights, ["n", 1024])


def chain(path, length):
    kinds = ["Relu", "Add", "Sigmoid", "Mul"]
    nodes = []
    for k in range(length):
        kind = kinds[k % 4]
        nodes.append(helper.make_node(kind, [f"v{k}", "w"] if kind in ("Add", "Mul") else [f"v{k}"], [f"v{k + 1}"], name=f"n{k}"))
    save_graph(path, nodes, f"v{length}", [numpy_helper.from_array(np.full(4, 0.3, np.float32), "w")], ["n", 4], "v0")


def relus(path, length):
    nodes = [helper.make_node("Relu", [f"v{k}" if k else "x"], [f"v{k + 1}"], name=f"n{k}") for k in range(length)]
    save_graph(path, nodes, f"v{length}", [], [1])


def save_graph(path, nodes, output, weights, dims, feed="x"):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in (feed, output)]
    model = helper.make_model(helper.make_graph(nodes, "made", ends[:1], ends[1:], weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())
