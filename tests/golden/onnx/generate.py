#!/usr/bin/env python3
"""Models of one op with options that the standard's own tests leave out, and what ONNX Runtime gives for them (of
Fourier transforms: what the standard's reference implementation gives).

    pip install onnx onnxruntime numpy; python3 generate.py

writes more/test_<name>/model.onnx and its data set next to this file, in the form of the standard's tests.
"""
import os
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
RNG = np.random.default_rng(7)


def values(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def save(name, node, inputs, outputs, opset, constants=(), reference=False):
    """`inputs`: arrays by name; those in `constants` become initializers. `outputs`: names."""
    def info(n, a):
        return helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    feeds = {n: a for n, a in inputs.items() if n not in constants}
    initializers = [numpy_helper.from_array(inputs[n], n) for n in constants]
    nodes = node if isinstance(node, list) else [node]
    out = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    graph = helper.make_graph(nodes, name, [info(n, a) for n, a in feeds.items()], out, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    results = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(outputs, feeds)
    if reference:  # where single precision leaves noise instead of zeros
        results = ReferenceEvaluator(model).run(outputs, feeds)
    for o, r in zip(out, results):
        o.CopyFrom(helper.make_tensor_value_info(o.name, helper.np_dtype_to_tensor_dtype(r.dtype), [None] * r.ndim))
    del graph.output[:]
    graph.output.extend(out)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="generate.py")
    onnx.checker.check_model(model, full_check=True)
    folder = os.path.join(HERE, "more", "test_" + name)
    shutil.rmtree(folder, ignore_errors=True)
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, arrays in (("input", feeds.values()), ("output", results)):
        for i, a in enumerate(arrays):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())


def recurrent(name, op, direction="forward", time=4, batch=3, features=2, hidden=3, bias=True, initial=True, lens=None, peepholes=False, opset=14,
              weights_fed=False, **attrs):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    d = 2 if direction == "bidirectional" else 1
    inputs = {"X": values(time, batch, features), "W": values(d, gates * hidden, features), "R": values(d, gates * hidden, hidden, scale=0.7)}
    names = ["X", "W", "R"]

    def add(n, a):
        names.append(n if a is not None else "")
        if a is not None:
            inputs[n] = a
    add("B", values(d, 2 * gates * hidden, scale=0.5) if bias else None)
    add("lens", np.array(lens, np.int32) if lens else None)
    add("h", values(d, batch, hidden) if initial else None)
    if op == "LSTM":
        add("c", values(d, batch, hidden) if initial else None)
        add("P", values(d, 3 * hidden, scale=0.5) if peepholes else None)
    outputs = ["Y", "Y_h"] + (["Y_c"] if op == "LSTM" else [])
    node = helper.make_node(op, names, outputs, hidden_size=hidden, direction=direction, **attrs)
    constants = () if weights_fed else [n for n in ("W", "R", "B", "P") if n in inputs]
    save(name, node, inputs, outputs, opset, constants)


def loops():
    """A loop whose state grows, in which a branch reads values of both blocks around it."""
    branch = lambda name, op: helper.make_graph([helper.make_node(op, ["last", "x"], [name + "_out"])], name, [], [
        helper.make_tensor_value_info(name + "_out", TensorProto.FLOAT, None)])
    body = helper.make_graph([
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("Gather", ["state", "minus_one"], ["last"]),
        helper.make_node("ReduceMax", ["last"], ["largest"], keepdims=0),
        helper.make_node("Less", ["largest", "most"], ["small"]),
        helper.make_node("If", ["small"], ["next"], then_branch=branch("yes", "Add"), else_branch=branch("no", "Sub")),
        helper.make_node("Concat", ["state", "next"], ["longer"], axis=0),
    ], "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                helper.make_tensor_value_info("state", TensorProto.FLOAT, None)], [
        helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), helper.make_tensor_value_info("longer", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("next", TensorProto.FLOAT, None)])
    inputs = {"n": np.array(5, np.int64), "x": np.array([2.5], np.float32), "start": np.array([1.0], np.float32),
              "most": np.array(6.0, np.float32), "minus_one": np.array([-1], np.int64)}
    save("loop_growing", helper.make_node("Loop", ["n", "", "start"], ["all", "each"], body=body), inputs, ["all", "each"], 16,
         ["most", "minus_one"])


def scans():
    body = helper.make_graph([helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["u"])], "body",
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("s", "a", "b")],
                             [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("t", "u")])
    node = helper.make_node("Scan", ["start", "p", "q"], ["last", "all"], body=body, num_scan_inputs=2, scan_input_axes=[1, 0], scan_input_directions=[1, 0],
                            scan_output_axes=[-1], scan_output_directions=[1])
    save("scan_axes", node, {"start": values(3), "p": values(3, 4), "q": values(4, 3)}, ["last", "all"], 16)


def spectra():
    def dft(name, shape, opset, length=None, axis=None, **attrs):
        inputs = {"x": values(*shape)}
        names = ["x"]
        if length is not None:
            inputs["length"] = np.array(length, np.int64)
        names.append("length" if length is not None else "")
        if opset >= 20 and axis is not None:
            inputs["axis"] = np.array(axis, np.int64)
            names.append("axis")
        elif axis is not None:
            attrs["axis"] = axis
        save(name, helper.make_node("DFT", names, ["y"], **attrs), inputs, ["y"], opset, [n for n in ("length", "axis") if n in inputs], True)
    dft("dft_padded", (2, 5, 1), 17, length=8, axis=1)
    dft("dft_cut_onesided", (2, 9, 1), 17, length=6, axis=1, onesided=1)
    dft("dft_complex_inverse", (2, 6, 3, 2), 17, axis=1, inverse=1)
    dft("dft_middle_axis_20", (2, 6, 3, 2), 20, axis=-3)
    stft = helper.make_node("STFT", ["x", "step", "window", "n"], ["y"], onesided=1)
    save("stft_window_length", stft, {"x": values(2, 50, 1), "step": np.array(7, np.int64), "window": values(16), "n": np.array(16, np.int64)}, ["y"], 17,
         ["step", "window", "n"], True)


if __name__ == "__main__":
    recurrent("lstm_bidirectional", "LSTM", "bidirectional")
    recurrent("lstm_lengths", "LSTM", lens=[4, 1, 2])
    recurrent("lstm_bidirectional_lengths", "LSTM", "bidirectional", lens=[4, 1, 2])
    recurrent("lstm_reverse", "LSTM", "reverse", bias=False)
    recurrent("lstm_reverse_lengths", "LSTM", "reverse", lens=[3, 4, 1])
    recurrent("lstm_peepholes_lengths", "LSTM", "bidirectional", lens=[2, 4, 3], peepholes=True)
    recurrent("lstm_coupled", "LSTM", input_forget=1)
    recurrent("lstm_activations", "LSTM", activations=["HardSigmoid", "Softsign", "LeakyRelu"], activation_alpha=[0.3, 0.05], activation_beta=[0.4])
    recurrent("lstm_weights_fed", "LSTM", "bidirectional", weights_fed=True, initial=False)
    recurrent("gru_reset_after", "GRU", linear_before_reset=1)
    recurrent("gru_reset_after_bidirectional", "GRU", "bidirectional", linear_before_reset=1, lens=[2, 3, 4])
    recurrent("gru_reset_before", "GRU", "bidirectional", linear_before_reset=0, lens=[2, 3, 4])
    recurrent("gru_reset_after_clip", "GRU", linear_before_reset=1, clip=0.5, initial=False)
    recurrent("gru_reverse", "GRU", "reverse", opset=7)
    recurrent("rnn_relu", "RNN", "bidirectional", activations=["Relu", "Relu"])
    recurrent("rnn_two_activations", "RNN", "bidirectional", activations=["Tanh", "Affine"], activation_alpha=[0.5], activation_beta=[0.1])
    recurrent("rnn_lengths", "RNN", "reverse", lens=[1, 4, 2])
    loops()
    scans()
    spectra()
