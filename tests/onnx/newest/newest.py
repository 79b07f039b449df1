"""The node models of the Python package onnx, run by ampc; see run.sh.

  newest.py AMPC LEFT_OUT ONLY
"""

import concurrent.futures
import fnmatch
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

NO_TENSORS = "strings, sequences or optionals as inputs or outputs"


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def is_tensor(value):
    return not isinstance(value, (list, dict, type(None))) and as_array(value).dtype.kind not in "OSU"


def is_own(dtype):
    """One of numpy's own types, not of ml_dtypes."""
    return dtype.type.__module__ == "numpy"


def as_feed(value):
    """Values of types that NumPy lacks: integers as those of 8 bits, bfloat16 as numpy saves it, smaller floats as their codes."""
    a = as_array(value)
    if is_own(a.dtype):
        return a
    if "int" in a.dtype.name:
        return a.astype(np.uint8 if a.dtype.name.startswith("u") else np.int8)
    return a.view(np.dtype("V2")) if a.dtype.itemsize == 2 else a.view(np.uint8)


def as_result(value):
    a = as_array(value)
    if is_own(a.dtype):
        return a
    return a.astype(np.float32) if "float" in a.dtype.name else a.astype(np.uint8 if a.dtype.name.startswith("u") else np.int8)


def difference(case, got, want):
    """The fault of one result; "" for none."""
    if got.shape != want.shape:
        return f"shape {got.shape}, needs {want.shape}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, needs {want.dtype}"
    if want.dtype.kind not in "fc":
        return "" if np.array_equal(got, want) else "other values"
    rounding = {2: 2e-3, 4: 1e-5}.get(want.dtype.itemsize, 0)
    close = np.isclose(got, want, rtol=max(case.rtol, rounding), atol=max(case.atol, 1e-6, rounding), equal_nan=True)
    return "" if close.all() else f"off by up to {np.nanmax(np.abs(got[~close] - want[~close]).astype(float))}"


def run(ampc, case, folder):
    """The fault of a model; "" for none."""
    if case.model is None or not case.data_sets:
        return "the package has no data for it"
    model = os.path.join(folder, case.name + ".onnx")
    onnx.save(case.model, model)
    for inputs, outputs in case.data_sets:
        if not all(is_tensor(v) for v in [*inputs, *outputs]):
            return NO_TENSORS
        feeds, results = model + ".in.npz", model + ".out.npz"
        np.savez(feeds, **{i.name: as_feed(v) for i, v in zip(case.model.graph.input, inputs)})
        try:
            done = subprocess.run([ampc, "run", model, "--input", feeds, "-o", results, "--threads", "1"], capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return "takes more than 120 s"
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.strip()}"
        got = np.load(results)
        for info, value in zip(case.model.graph.output, outputs):
            what = difference(case, got[info.name], as_result(value))
            if what:
                return f"'{info.name}': {what}"
    return ""


def read_list(path):
    rows = {}
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            pattern, reason = line.strip().split(": ", 1)
            rows[pattern] = reason
    return rows


def main():
    ampc, left_out, only = sys.argv[1:4]
    warnings.simplefilter("ignore")
    cases = [case for case in collect_testcases(None) if only in case.name]
    listed, used = read_list(left_out), set()
    passed = failed = known = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, what in zip(cases, pool.map(lambda case: run(ampc, case, folder), cases)):
            pattern = next((p for p in listed if fnmatch.fnmatchcase(case.name, p)), None)
            if not what:
                passed += 1
            elif what == NO_TENSORS or pattern is not None:
                used.add(pattern)
                known += 1
            else:
                failed += 1
                print(f"{case.name}: {what}")
    if not only:
        for pattern in listed.keys() - used:
            failed += 1
            print(f"left_out.txt: {pattern} names no model that fails")
    print(f"onnx {onnx.__version__}: {known} models are left out")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
