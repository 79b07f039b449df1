"""The package itself: the command, import time, types, docstrings."""

import ast
import importlib.metadata
import inspect
import pathlib
import re
import subprocess
import sys

import ampc
import numpy
import pytest


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_the_command_comes_with_it():
    version = run(sys.executable, "-m", "ampc", "--version")
    assert version == "ampc %s\n" % ampc.__version__
    assert run(str(pathlib.Path(sys.executable).parent / "ampc"), "--version") == version
    assert importlib.metadata.version("ampc") == ampc.__version__


def test_imports_quickly():
    """Beyond NumPy; in seconds of the processor, which other work on the machine does not add to."""
    code = "import numpy, time\nstart = time.process_time()\nimport ampc\nprint(time.process_time() - start)"
    assert min(float(run(sys.executable, "-c", code)) for _ in range(7)) < 0.1


def test_types_and_docstrings():
    folder = pathlib.Path(ampc.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    for name in ampc.__all__:
        assert inspect.getdoc(getattr(ampc, name)), name
    for function in (ampc.convert, ampc.compare, ampc.explain, ampc.inspect, ampc.verify, ampc.strip, ampc.tune, ampc.Session.__init__, ampc.Session.run):
        signature = inspect.signature(function)
        assert all(p.annotation is not p.empty for n, p in signature.parameters.items() if n != "self"), function


def test_syntax_is_of_the_oldest_python():
    """test_wheel.sh --python runs all tests with another interpreter; that the oldest one can read the package is seen with any."""
    oldest = re.search(r">=3\.(\d+)", importlib.metadata.metadata("ampc")["Requires-Python"]).group(1)
    for file in sorted(pathlib.Path(ampc.__file__).parent.glob("*.py")):
        tree = ast.parse(file.read_text(), file.name, feature_version=(3, int(oldest)))
        # Types of annotations, whose syntax is newer, are not evaluated.
        annotated = any(isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None for node in ast.walk(tree))
        assert not annotated or "from __future__ import annotations" in file.read_text(), file


def test_shows_only_what_it_says():
    folder = pathlib.Path(ampc.__file__).parent
    try:
        symbols = run("nm", "-D", "--defined-only", str(folder / "_native.abi3.so"))
    except FileNotFoundError:
        pytest.skip("no nm")
    names = {line.split()[-1] for line in symbols.splitlines()}
    assert {n for n in names if not n.startswith("ampc_")} == {"PyInit__native"}


def test_licences_come_with_it():
    files = [str(f) for f in importlib.metadata.files("ampc")]
    notices = " ".join(f.split("licenses/")[1] for f in files if "licenses/" in f).lower()
    beside = [pathlib.Path(f).name.split("-")[0].split(".")[0].split("_")[0] for f in files if f.startswith("ampc.libs/")]
    assert beside
    for library in ("absl", "cli11", "dnnl", "hwy", "protobuf", "stb", "zlib", *beside):
        assert {"libz": "zlib"}.get(library, library.lower()) in notices, library
    assert any(f.endswith("licenses/LICENSE") for f in files)


def test_beside_other_packages(mlp, x, answer):
    """Beside any other package: both orders of import, in processes of their own."""
    others = [name for name in ("torch", "onnxruntime", "onnx", "ml_dtypes") if importlib.util.find_spec(name)]
    if not others:
        pytest.skip("no other package is installed")
    for order in (["ampc", *others], [*others, "ampc"]):
        code = "import %s, numpy\ny = ampc.Session(%r)(x=numpy.ones((2, 4), numpy.float32))\nprint(y.sum())" % (", ".join(order), mlp)
        assert float(run(sys.executable, "-c", code)) == pytest.approx(numpy.maximum(numpy.ones((2, 4)) @ _w(), 0).sum(), rel=1e-5)


def _w():
    from conftest import MLP_W

    return MLP_W
