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


def test_feeds_are_made_up(mlp):
    c = ampc.compare(mlp, mlp)
    assert c.passed and c.notes == []
    assert ampc.compare(mlp, mlp, dims={"x": (7, 4)}, seed=3).passed
    with pytest.raises(ampc.UsageError, match="one of the two is needed"):
        ampc.compare(mlp, mlp, {"x": numpy.ones((2, 4), numpy.float32)}, random=True)
    with pytest.raises(ampc.UsageError, match="x"):
        ampc.compare(mlp, mlp, dims={"x": (7, 5)})


def test_options_of_the_command(mlp, x):
    assert len(ampc.compare(mlp, mlp, {"x": x}, outputs_only=True, threads=1)) == 1
    with pytest.raises(ampc.UsageError, match="there is no option 'tolerence', did you mean 'tolerance'?"):
        ampc.compare(mlp, mlp, {"x": x}, tolerence=1)
    with pytest.raises(ampc.UsageError, match="there is no option 'input'"):
        ampc.compare(mlp, mlp, {"x": x}, input="in.npz")


def test_progress_and_cancelling(mlp, x):
    stages = []
    ampc.compare(mlp, mlp, {"x": x}, progress=lambda stage, done, total: stages.append(stage))
    assert [s.split()[0] for s in stages] == ["running", "running"]
    with pytest.raises(ampc.Cancelled):
        ampc.compare(mlp, mlp, {"x": x}, progress=lambda stage, done, total: False)


def test_feeds_of_any_layout(mlp, x):
    assert ampc.compare(mlp, mlp, {"x": numpy.asfortranarray(x)}).passed
    assert ampc.compare(mlp, mlp, {"x": x.astype(numpy.float64)}).passed
    with pytest.raises(ampc.Unsupported, match="<U1"):
        ampc.compare(mlp, mlp, {"x": numpy.array([["a"] * 4])})


def test_several_runs(mlp, x, tmp_path):
    numpy.savez(tmp_path / "a.npz", x=-x)
    both = ampc.compare(mlp, mlp, [{"x": x}, str(tmp_path / "a.npz")])
    assert both.passed and [run["passed"] for run in both.runs] == [True, True]
    assert both.reason.endswith(" in each of 2 runs")
    assert ampc.compare(mlp, mlp, tmp_path / "a.npz").passed
    with pytest.raises(ampc.BadInput, match="no such file"):
        ampc.compare(mlp, mlp, str(tmp_path / "b.npz"))
    (tmp_path / "c.npz").write_bytes(b"text")
    with pytest.raises(ampc.BadInput, match="not an .npz file"):
        ampc.compare(mlp, mlp, str(tmp_path / "c.npz"))
    with pytest.raises(ampc.UsageError, match="a dict of arrays by name, or a list of such, not int"):
        ampc.compare(mlp, mlp, [3])


def test_errors(mlp, x):
    with pytest.raises(ampc.UsageError, match="--rtol: found '-1', needed 0 or more"):
        ampc.compare(mlp, mlp, {"x": x}, rtol=-1)
    with pytest.raises(ampc.UsageError, match="feed 'x' is missing"):
        ampc.compare(mlp, mlp, {"z": x})
    with pytest.raises(ampc.BadInput):
        ampc.compare(mlp, b"damaged", {"x": x})


def test_pandas(mlp, x):
    pandas = pytest.importorskip("pandas")
    assert isinstance(ampc.compare(mlp, mlp, {"x": x}).to_pandas(), pandas.DataFrame)
