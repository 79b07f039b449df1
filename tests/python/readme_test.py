"""The newcomer's lines, as the package's page prints them."""

import re

import numpy
import pytest
from conftest import TREE


def test_lines_run_as_printed(tmp_path, monkeypatch):
    """On a model that has the names and the shape of the page."""
    onnx = pytest.importorskip("onnx")
    page = (TREE / "tools/python/README.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.S).group(1)
    h = onnx.helper
    weights = onnx.numpy_helper.from_array(numpy.full((8, 3, 3, 3), 0.1, numpy.float32), "w")
    graph = h.make_graph(
        [h.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2]), h.make_node("Relu", ["c"], ["y"])], "net",
        [h.make_tensor_value_info("x", 1, [1, 3, 224, 224])], [h.make_tensor_value_info("y", 1, None)], [weights])  # fmt: skip
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    assert names["r"].summary["after"]["low_ops"] == 2 and names["y"][0].shape == (1, 8, 111, 111)
