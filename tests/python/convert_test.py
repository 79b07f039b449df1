"""convert, strip, inspect, verify."""

import json
import os
import shutil
import subprocess
import sys

import ampc
import numpy
import pytest
from conftest import TREE


def test_in_memory_and_run(small):
    path, feeds, outputs = small
    r = ampc.convert(path, dtype="fp16")
    assert isinstance(r.model, bytes) and len(r.model) < os.path.getsize(path)
    for value, found in zip(ampc.Session(path).get_outputs(), ampc.Session(r.model).run(None, feeds)):
        numpy.testing.assert_allclose(found, outputs[value.name], rtol=2e-2, atol=2e-2)
    assert r.summary["dtype"] == "fp16" and r.summary["after"]["low_ops"] > 0
    assert r.report["config"]["dtype"] == "fp16"
    assert all(isinstance(note, str) for note in r.notes)
    assert "operators fp16" in repr(r)


def test_in_memory_is_what_the_command_writes(small, tmp_path):
    path, _, _ = small
    out = str(tmp_path / "low.onnx")
    subprocess.run([sys.executable, "-m", "ampc", "convert", path, "-o", out], check=True, capture_output=True)
    with open(out, "rb") as file:
        assert file.read() == ampc.convert(path).model
    r = ampc.convert(path, tmp_path / "low2.onnx", dtype="fp16")
    assert r.model == str(tmp_path / "low2.onnx")
    with open(r.model, "rb") as file, open(out, "rb") as other:
        assert file.read() == other.read()
    with open(path, "rb") as file:
        assert ampc.convert(file.read()).model == ampc.convert(path).model


def test_models_of_several_files(tmp_path):
    folder = TREE / "tests/golden/models"
    r = ampc.convert(folder / "recogniser.pdmodel", dtype="bf16")
    assert list(r.files) == ["recogniser.pdmodel", "recogniser.pdiparams"]
    assert r.model == r.files
    s = ampc.Session(r.model)
    r.save(tmp_path / "low.pdmodel")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["low.pdiparams", "low.pdmodel"]
    assert (tmp_path / "low.pdiparams").read_bytes() == r.files["recogniser.pdiparams"]
    assert s.get_inputs() == ampc.Session(tmp_path / "low.pdmodel").get_inputs()
    stripped = ampc.strip(r.model)
    with open(folder / "recogniser.pdmodel", "rb") as file:
        assert stripped.files["recogniser.pdmodel"] == file.read()


def test_external_data(tmp_path):
    path = str(TREE / "tests/golden/onnx/external.onnx")
    r = ampc.convert(path)
    assert list(r.files)[0] == "external.onnx"
    assert ampc.Session(r.model).get_inputs() == ampc.Session(path).get_inputs()


def test_saving_writes_over_nothing_that_was_read(tmp_path):
    for file in (TREE / "tests/golden/onnx").glob("external*"):
        shutil.copy(file, tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    r = ampc.convert(tmp_path / "external.onnx")
    r.save(tmp_path / "low.onnx")
    assert {file.name for file in tmp_path.iterdir()} - set(before) == {"low.onnx", "low.onnx.data"}
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    feeds = {v.name: numpy.ones([d or 1 for d in v.shape], v.dtype) for v in ampc.Session(r.model).get_inputs()}
    for a, b in zip(ampc.Session(tmp_path / "low.onnx").run(None, feeds), ampc.Session(r.model).run(None, feeds)):
        numpy.testing.assert_array_equal(a, b)
    with pytest.raises(ampc.UsageError, match="is the input; another name is needed"):
        r.save(tmp_path / "external.onnx")
    with pytest.raises(ampc.UsageError, match="known format"):
        r.save(tmp_path / "low.txt")
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_strip_gives_the_original_back(small):
    path, _, _ = small
    r = ampc.convert(path)
    with open(path, "rb") as file:
        original = file.read()
    assert ampc.strip(r.model, weights=path).model == original
    assert ampc.strip(r.model, weights=original).model == original


def test_selections_and_aliases(small):
    path, _, _ = small
    kind = sorted(op for op, count in ampc.convert(path).summary["after"]["ops_by_type"].items() if count["low"] and op != "cast")[0]

    def low(**options):
        return ampc.convert(path, **options).summary["after"]["ops_by_type"][kind]["low"]

    assert low() > 0
    assert low(op_types_to_exclude=[kind]) == 0
    assert low(op_block_list=[kind]) == 0
    assert low(exclude="type:" + kind) == 0
    assert ampc.convert(path, exclude="*", include="type:" + kind).summary["after"]["low_ops"] == low(exclude="*", include="type:" + kind) > 0


def test_feeds_and_fetches(small):
    path, _, _ = small
    assert all(v.dtype == numpy.float32 for v in ampc.Session(ampc.convert(path).model).get_inputs() if v.dtype.kind == "f")
    low = ampc.Session(ampc.convert(path, keep_io_types=False).model)
    assert any(v.dtype == numpy.float16 for v in (*low.get_inputs(), *low.get_outputs()))


def test_calibration(small, tmp_path):
    path, feeds, _ = small
    large = {name: value * numpy.float32(1e4) if value.dtype == numpy.float32 else value for name, value in feeds.items()}
    r = ampc.convert(path, calibration_data=[feeds, large], save_ranges=str(tmp_path / "r.json"))
    assert "measure{" in r.report["pipeline"]
    assert json.loads((tmp_path / "r.json").read_text())["values"]


def test_progress_and_cancelling(small, tmp_path):
    path, _, _ = small
    stages = []
    ampc.convert(path, progress=lambda stage, done, total: stages.append(stage))
    assert stages[0] == "loading" and stages[-1] == "saving" and "amp-decide" in stages
    for stop in ("loading", "protect", "saving"):
        out = tmp_path / "stopped.onnx"
        with pytest.raises(ampc.Cancelled):
            ampc.convert(path, out, progress=lambda stage, done, total, stop=stop: stage != stop)
        assert not out.exists() and not list(tmp_path.iterdir())

    def interrupt(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ampc.convert(path, progress=interrupt)


def test_report_in_jupyter(small, tmp_path):
    page = ampc.convert(small[0])._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "&lt;!doctype html&gt;" in page
    ampc.convert(small[0], report=str(tmp_path / "r.html"))
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_wrong_options_are_one_sentence(small, mlp):
    path, _, _ = small
    for options, error, sentence in (
        ({"dtype": "fp8"}, ampc.UsageError, "--dtype is 'fp8', fp16 or bf16 is needed"),
        ({"exlude": "x"}, ampc.UsageError, "there is no option 'exlude', did you mean 'exclude'?"),
        ({"fp16": True}, ampc.UsageError, "there is no option 'fp16'; here it is dtype fp16"),
        ({"exclude": "type:NoSuch"}, ampc.UsageError, "NoSuch"),
        ({"runtime": "ort-gpu"}, ampc.UsageError, "--runtime: ort-gpu not in {ampc,ort-cpu,"),
        ({"out": "x.unknown"}, ampc.UsageError, "the name says no known format"),
    ):
        with pytest.raises(error) as raised:
            ampc.convert(path, **options)
        assert sentence in str(raised.value)
    with pytest.raises(ampc.BadInput):
        ampc.convert(b"damaged")


def test_protos():
    onnx = pytest.importorskip("onnx")
    proto = onnx.load(str(TREE / "tests/golden/onnx/small.onnx"))
    r = ampc.convert(proto, op_block_list=["Softmax"])
    assert isinstance(r.model, onnx.ModelProto)
    onnx.checker.check_model(r.model)
    assert ampc.Session(r.model).get_inputs() == ampc.Session(proto).get_inputs()


def test_explain(small):
    path, _, _ = small
    e = ampc.explain(path)
    r = ampc.convert(path)
    assert (e["low_ops"], e["dtype"], e["level"]) == (r.summary["after"]["low_ops"], "fp16", "O2")
    assert len(e["casts"]) == r.summary["after"]["inserted_casts"]
    assert all(op["rule"] for op in e["ops"])
    (softmax,) = (op for op in ampc.explain(r.model, op="type:Softmax", dtype="fp16")["ops"] if op["precision"] == "fp32")
    assert "Softmax" in softmax["op"] and softmax["reason"]
    assert ampc.explain(path, op_block_list=["Conv"])["low_ops"] < e["low_ops"]
    with pytest.raises(ampc.UsageError, match="type:NoSuch"):
        ampc.explain(path, op="type:NoSuch")
    with pytest.raises(ampc.UsageError, match="the model has no value 'nothing'"):
        ampc.explain(path, why_cast="nothing")


def test_inspect_and_verify(small, tmp_path):
    facts = ampc.inspect(small[0])
    assert facts["ops"] > 0 and [f["name"] for f in facts["feeds"]] == [v.name for v in ampc.Session(small[0]).get_inputs()]
    assert ampc.verify(small[0]) == {"model": small[0], "ok": True, "problem": ""}
    bad = b"program p version=1\n\nblock main {\n  feed x : f32 [2]\n  y = relu(x) : f32 [3]\n  fetch y\n}\n"
    verdict = ampc.verify({"bad.prog": bad})
    assert not verdict["ok"] and "relu" in verdict["problem"]
    with pytest.raises(ampc.BadInput):
        ampc.verify(b"damaged")
