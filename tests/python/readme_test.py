"""The newcomer's lines, as the package's page prints them."""

import re

import ampc
import numpy
import pytest
from conftest import TREE

LINES = re.search(r"```python\n(.*?)```", (TREE / "tools/python/README.md").read_text(), re.S).group(1)


def test_lines_run_as_printed_on_an_exported_model(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    layers = torch.nn
    net = layers.Sequential(layers.Conv2d(3, 32, 3, 2), layers.ReLU(), layers.Conv2d(32, 64, 3, 2), layers.AdaptiveAvgPool2d(1), layers.Flatten(),
                            layers.Linear(64, 10), layers.Softmax(-1)).eval()  # fmt: skip
    names = {"ampc": ampc, "torch": torch, "net": net, "x": torch.rand(1, 3, 64, 64)}
    exec(LINES, names)
    assert names["r"].summary["after"]["low_flops_share"] == 1
    for y in (names["y"][0], ampc.Session("model_fp16.onnx")(x=names["x"])):
        numpy.testing.assert_allclose(y, net(names["x"]).detach().numpy(), atol=1e-2)


def test_lines_run_as_printed_on_a_model_that_is_there(tmp_path, monkeypatch):
    """With the names of the page; not its first line, which makes one."""
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    weights = onnx.numpy_helper.from_array(numpy.full((8, 3, 3, 3), 0.1, numpy.float32), "w")
    graph = h.make_graph(
        [h.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2]), h.make_node("Relu", ["c"], ["y"])], "net",
        [h.make_tensor_value_info("x", 1, [1, 3, 224, 224])], [h.make_tensor_value_info("y", 1, None)], [weights])  # fmt: skip
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    first, rest = LINES.split("\n", 1)
    assert first.startswith("torch.onnx.export(")
    names = {"ampc": ampc, "x": numpy.ones((1, 3, 224, 224), numpy.float32)}
    exec(rest, names)
    assert names["r"].summary["after"]["low_ops"] == 2 and names["y"][0].shape == (1, 8, 111, 111)
