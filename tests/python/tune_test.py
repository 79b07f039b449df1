"""tune: what it finds is a plan that convert takes."""

import ampc
import numpy
import pytest


def test_finds_what_convert_makes(mlp, x):
    stages = []
    found = ampc.tune(mlp, [{"x": x}, {"x": x + 1}], budget=0.01, target="cpu", progress=lambda stage, done, total: stages.append(stage))
    assert found.found and stages
    assert found.points[found.chosen]["error"] <= 0.01
    made = ampc.convert(mlp, plan=found.plan)
    assert ampc.compare(mlp, made.model, {"x": x}, tolerance=0.01).passed
    assert "operators low" in repr(found)


def test_makes_inputs_up_and_takes_memory(small):
    path, _, _ = small
    with open(path, "rb") as file:
        found = ampc.tune(file.read(), budget=0.5, seed=3, evaluations=20)
    assert found.summary["inputs"] >= 1


def test_nothing_is_good_enough(mlp, x):
    found = ampc.tune(mlp, {"x": x}, budget=1e-30)
    assert isinstance(found.found, bool)
    assert found.found == (found.plan is not None)


def test_errors(mlp, x):
    with pytest.raises(ampc.UsageError, match="there is no option"):
        ampc.tune(mlp, {"x": x}, nonsense=1)
    with pytest.raises(ampc.UsageError):
        ampc.tune(mlp, {"x": x}, judge="exit 0", budget=-1)
    with pytest.raises(ampc.BadInput):
        ampc.tune("none.onnx", {"x": x})
    with pytest.raises(ampc.Cancelled):
        ampc.tune(mlp, {"x": numpy.zeros((2, 4), numpy.float32)}, progress=lambda *_: False)
