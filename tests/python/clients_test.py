"""Programs of others, as they are on PyPI, with ampc in the place of ONNX Runtime: the same answers, from their own models and from converted ones."""

import ampc
import numpy
import pytest

onnxruntime = pytest.importorskip("onnxruntime")


class InferenceSession(ampc.Session):
    """The calls of these programs, with ONNX Runtime's arguments."""

    convert = None  # or the dtype to which models are converted first

    def __init__(self, model, sess_options=None, providers=None, provider_options=None, **ignored):
        model = model if isinstance(model, bytes) else str(model)
        super().__init__(model if self.convert is None else ampc.convert(model, dtype=self.convert).model, threads=2)


@pytest.fixture(params=[None, "fp16"], ids=["fp32", "fp16"])
def on_ampc(request, monkeypatch):
    """A function that makes `module` use ampc."""
    monkeypatch.setattr(InferenceSession, "convert", request.param)

    def use(*modules):
        for module in modules:
            monkeypatch.setattr(module, "InferenceSession", InferenceSession)

    return use


def test_rapidocr(on_ampc, tmp_path):
    """A page with lines of text: found, turned the right way up and read."""
    rapidocr = pytest.importorskip("rapidocr_onnxruntime")
    from PIL import Image, ImageDraw, ImageFont
    from rapidocr_onnxruntime.utils import infer_engine

    page = Image.new("RGB", (640, 240), "white")
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(size=36)
    for i, line in enumerate(["Mixed precision 2026", "No. 65504", "static graph"]):
        draw.text((40, 30 + 60 * i), line, "black", font=font)
    page.save(tmp_path / "page.png")
    want, _ = rapidocr.RapidOCR()(str(tmp_path / "page.png"))
    on_ampc(infer_engine)
    found, _ = rapidocr.RapidOCR()(str(tmp_path / "page.png"))
    assert len(want) == 3
    assert [text for _, text, _ in found] == [text for _, text, _ in want]


def test_magika(on_ampc):
    """The kind of file of some bytes."""
    magika = pytest.importorskip("magika")
    files = [b"#include <stdio.h>\nint main(void) { return 0; }\n" * 8, b"def f(x):\n    return x + 1\n\nimport os\n" * 8, b"<html><body>hello</body></html>" * 8,
             b'{"a": [1, 2, 3], "b": null}' * 8, bytes(range(256)) * 8]  # fmt: skip
    first = magika.Magika()
    want = [first.identify_bytes(data) for data in files]
    on_ampc(onnxruntime)
    second = magika.Magika()
    found = [second.identify_bytes(data) for data in files]
    assert type(getattr(second, "_onnx_session")) is InferenceSession
    assert [f.output.label for f in found] == [w.output.label for w in want]
    numpy.testing.assert_allclose([f.score for f in found], [w.score for w in want], atol=2e-2)


def test_beside_torch(mlp, x, answer):
    """Tensors go in through DLPack, results come out the same way; bfloat16, too."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    from conftest import program

    y = ampc.Session(mlp)(x=torch.from_numpy(x))
    numpy.testing.assert_allclose(torch.from_dlpack(y).numpy(), answer, rtol=1e-6)
    s = program("  feed x : bf16 [2, 4]\n  y = assign(x) : bf16 [2, 4]\n  fetch y")
    t = torch.from_numpy(x).to(torch.bfloat16)
    numpy.testing.assert_array_equal(s(x=t).astype(numpy.float32), t.float().numpy())


def test_one_call_takes_no_longer_than_onnx_runtime(tmp_path):
    """A model that computes next to nothing: what is measured is the way in and out."""
    import time

    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    graph = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", [h.make_tensor_value_info("x", 1, [1, 4])], [h.make_tensor_value_info("y", 1, [1, 4])])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    feeds = {"x": numpy.ones((1, 4), numpy.float32)}
    runs = [onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run, ampc.Session(model, threads=1).run]
    best = [float("inf")] * 2
    for _ in range(200):  # in turns, so that both meet the same machine
        for i, run in enumerate(runs):
            start = time.perf_counter()
            for _ in range(50):
                run(None, feeds)
            best[i] = min(best[i], time.perf_counter() - start)
    assert best[1] <= 1.2 * best[0], "%.2f us, ONNX Runtime %.2f us" % (best[1] * 2e4, best[0] * 2e4)
