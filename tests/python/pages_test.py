"""The lines of Python that pages print run as printed, on models with the names and shapes that they use."""

import re

import numpy
import pytest
from conftest import TREE


def lines_of(page):
    return "".join(re.findall(r"```python\n(.*?)```", (TREE / "tools/docs" / page).read_text(), re.S))


@pytest.fixture
def model(tmp_path, monkeypatch):
    """model.onnx in the working folder: a convolution, and a head of two nodes."""
    onnx = pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    h = onnx.helper
    random = numpy.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(0.1 * random.standard_normal(dims).astype(numpy.float32), name) for name, dims in (("w", (8, 3, 3, 3)), ("v", (8, 4)))]
    nodes = [
        h.make_node("Conv", ["image", "w"], ["c"], "conv"), h.make_node("GlobalAveragePool", ["c"], ["p"], "pool"), h.make_node("Flatten", ["p"], ["f"], "flat"),
        h.make_node("MatMul", ["f", "v"], ["y"], "head"), h.make_node("Softmax", ["y"], ["share"], "softmax"),
    ]  # fmt: skip
    graph = h.make_graph(nodes, "net", [h.make_tensor_value_info("image", 1, ["batch", 3, 16, 16])], [h.make_tensor_value_info("share", 1, None)], weights)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), "model.onnx")
    numpy.savez("in.npz", image=random.standard_normal((2, 3, 16, 16)).astype(numpy.float32))


@pytest.mark.parametrize("page", ["from_onnxconverter_common.md", "from_modelopt_and_polygraphy.md"])
def test_on_a_model(page, model):
    import ampc

    exec(lines_of(page), {})
    types = {op["op"]: op["precision"] for op in ampc.explain("model_fp16.onnx")["ops"]}
    assert types["Softmax"] == "fp32" and types["Conv"] == "low"
    assert ampc.compare("model.onnx", "model_fp16.onnx", dict(numpy.load("in.npz"))).passed


def test_on_a_module(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    monkeypatch.chdir(tmp_path)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Softmax(-1)).eval()
    names = {"net": net, "image": torch.rand(1, 3, 16, 16)}
    exec(lines_of("from_pytorch.md"), names)
    numpy.testing.assert_allclose(names["share"], net(names["image"]).detach().numpy(), atol=1e-2)
