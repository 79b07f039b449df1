"""Models for the tests: programs as text, and what ampc makes of them; those of tests/golden in the tree that $AMPC_TREE names."""

import os
import pathlib

import ampc
import numpy
import pytest

TREE = pathlib.Path(os.environ.get("AMPC_TREE", pathlib.Path(__file__).resolve().parents[2]))

MLP = """program mlp version=1

block main {
  feed  x : f32 [?, 4]
  param w : f32 [4, 3] = [0.5, -0.25, 0.125, 1.5, 2.0, -1.0, 0.75, 0.5, 0.25, -0.5, 1.0, 0.5]
  h = matmul_v2(x, w) : f32 [?, 3]
  y = relu(h) : f32 [?, 3]
  fetch y
}
"""
MLP_W = numpy.array([[0.5, -0.25, 0.125], [1.5, 2.0, -1.0], [0.75, 0.5, 0.25], [-0.5, 1.0, 0.5]], numpy.float32)


@pytest.fixture
def mlp(tmp_path):
    """relu(x @ w) as a file."""
    path = tmp_path / "mlp.prog"
    path.write_text(MLP)
    return str(path)


@pytest.fixture
def x():
    return numpy.linspace(-1, 1, 8, dtype=numpy.float32).reshape(2, 4)


@pytest.fixture
def answer(x):
    return numpy.maximum(x @ MLP_W, 0)


@pytest.fixture
def small():
    """A model of the golden ones: its path, feeds, and what ONNX Runtime made of them."""
    folder = TREE / "tests/golden/onnx"
    return str(folder / "small.onnx"), dict(numpy.load(folder / "small_inputs_0.npz")), dict(numpy.load(folder / "small_outputs_0.npz"))


def program(text, **options):
    """A session of a program that is text: `text` stands in its block main."""
    return ampc.Session({"p.prog": ("program p version=1\n\nblock main {\n%s\n}\n" % text).encode()}, **options)


@pytest.fixture
def page_of_text(tmp_path):
    """The path of a picture of three lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("RGB", (640, 240), "white")
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(size=36)
    for i, line in enumerate(["Mixed precision 2026", "No. 65504", "static graph"]):
        draw.text((40, 30 + 60 * i), line, "black", font=font)
    page.save(tmp_path / "page.png")
    return str(tmp_path / "page.png")
