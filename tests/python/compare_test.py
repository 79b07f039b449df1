"""compare: what is the same passes, what is not does not."""

import ampc
import numpy
import pytest


def test_a_conversion_passes(small):
    path, feeds, _ = small
    for dtype in ("fp16", "bf16"):
        c = ampc.compare(path, ampc.convert(path, dtype=dtype).model, feeds)
        assert c.passed, c.reason
        assert repr(c).startswith("<ampc.Comparison: PASS")
        assert {v["name"] for v in c if v["fetch"]} == {v.name for v in ampc.Session(path).get_outputs()}
        assert len(c) > 1


def test_a_wrong_model_fails(mlp, x):
    with open(mlp) as file:
        text = file.read()
    wrong = {"mlp.prog": text.replace("relu(h)", "tanh(h)").encode()}
    c = ampc.compare(mlp, wrong, {"x": x})
    assert not c.passed and "y" in c.reason
    assert ampc.compare(mlp, mlp, {"x": x}).passed


def test_tolerances(mlp, x):
    with open(mlp) as file:
        near = {"mlp.prog": file.read().replace("0.5, -0.25", "0.5001, -0.25").encode()}
    assert ampc.compare(mlp, near, {"x": x}, rtol=1e-2).passed
    assert not ampc.compare(mlp, near, {"x": x}, rtol=1e-6).passed
    assert ampc.compare(mlp, near, {"x": x}, atol=1e-2).passed
    assert not ampc.compare(mlp, near, {"x": x}, atol=1e-7).passed


def test_errors(mlp, x):
    with pytest.raises(ampc.UsageError, match="feed 'x' is missing"):
        ampc.compare(mlp, mlp, {"z": x})
    with pytest.raises(ampc.BadInput):
        ampc.compare(mlp, b"damaged", {"x": x})


def test_pandas(mlp, x):
    pandas = pytest.importorskip("pandas")
    assert isinstance(ampc.compare(mlp, mlp, {"x": x}).to_pandas(), pandas.DataFrame)
