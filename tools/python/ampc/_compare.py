"""compare: two models on the same feeds, value by value, and a verdict."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional

import numpy

from . import _lib
from ._errors import raise_for
from ._session import Session

_COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ampc")
# How far an output may lie from the original's, over its largest value, by the narrowest type that either model computes in: several times what is
# measured on models whose answers stay the same.
_OF_LARGEST = {"f16": 2**-5, "bf16": 2**-3}
_OF_FP32 = 1e-4


class Comparison:
    """The verdict of compare: `passed`, and `reason`, one sentence.

    `values` has a dict for each value that both models have, in the order in which they are computed, the outputs last: name, op, dtype_a, dtype_b, fetch,
    max_abs, max_rel (over the largest magnitude of the value in the first model), max_ulp, cosine, ...
    """

    def __init__(self, passed: bool, reason: str, values: List[Dict[str, Any]]):
        self.passed = passed
        self.reason = reason
        self.values = values

    def to_pandas(self) -> Any:
        """`values` as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.values)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return "<ampc.Comparison: %s: %s>" % ("PASS" if self.passed else "FAIL", self.reason)


def _path(model: _lib.ModelLike, folder: str) -> str:
    """The path of the model; one in memory is written to `folder`."""
    given = _lib.GivenModel(model)
    if not given.in_memory:
        return given.name
    os.mkdir(folder)
    for i in range(given.c.num_files):
        file = given.c.files[i]
        with open(os.path.join(folder, os.path.basename(file.name.decode())), "wb") as out:
            out.write(memoryview((_lib.ctypes.c_char * file.bytes).from_address(file.data)) if file.bytes else b"")
    return os.path.join(folder, os.path.basename(given.name))


def _element_wise(a: str, b: str, feeds: Mapping[str, Any], rtol: float, atol: float) -> Optional[str]:
    """Why |a - b| <= atol + rtol |a| does not hold for every element of every output; None where it does."""
    first, second = Session(a), Session(b)
    wanted = dict(zip([v.name for v in first.get_outputs()], first.run(None, feeds)))
    for value, found in zip(second.get_outputs(), second.run(None, feeds)):
        want = wanted[value.name]
        if want.shape != found.shape:
            return "output '%s' has dims %s in one and %s in the other" % (value.name, list(want.shape), list(found.shape))
        x, y = want.astype(numpy.float64), found.astype(numpy.float64)
        if not numpy.allclose(y, x, rtol=rtol, atol=atol, equal_nan=True):
            return "output '%s' differs by up to %.3g, rtol is %g and atol %g" % (value.name, numpy.nanmax(numpy.abs(x - y)), rtol, atol)
    return None


def _of_largest(values: List[Dict[str, Any]]) -> Optional[str]:
    types = {v[key] for v in values for key in ("dtype_a", "dtype_b")}
    bound = max([_OF_FP32, *(_OF_LARGEST[t] for t in types if t in _OF_LARGEST)])
    for v in values:
        rel = v.get("max_rel")
        rel = math.inf if rel is None else float(rel)
        if v["fetch"] and not (v["same_dims"] and v["mismatched_non_finite"] == 0 and rel <= bound):
            return "output '%s' differs by %.3g of its largest value, %.3g is allowed" % (v["name"], rel, bound)
    return None


def compare(
    a: _lib.ModelLike, b: _lib.ModelLike, feeds: Mapping[str, Any], rtol: Optional[float] = None, atol: Optional[float] = None
) -> Comparison:
    """Runs two models on the same feeds, every operator rounding its result to its type, and compares all values that both have.

    Args:
      a, b: the reference and the model to judge: paths, bytes, protos or dicts, as Session takes them.
      feeds: arrays by name; floats are converted to each model's own type.
      rtol, atol: with either, every element of every output has to be within atol + rtol * |a|; without, outputs are judged by a tolerance that the types
        of the models bring with them.

    Raises UsageError where feeds do not fit or b has an output that a does not have.
    """
    with tempfile.TemporaryDirectory(prefix="ampc-") as folder:
        feed_file = os.path.join(folder, "feeds.npz")
        numpy.savez(feed_file, **{name: numpy.asarray(value) for name, value in feeds.items()})
        path_a, path_b = _path(a, os.path.join(folder, "a")), _path(b, os.path.join(folder, "b"))
        ran = subprocess.run([_COMMAND, "compare", path_a, path_b, "--input", feed_file, "--json"], capture_output=True, text=True)
        if ran.returncode not in (0, 1) or not ran.stdout:
            raise_for(ran.returncode, ran.stderr.strip().split("\n")[-1].replace("ampc compare: ", ""))
        found = json.loads(ran.stdout)
        values = found["values"]
        if rtol is not None or atol is not None:
            reason = _element_wise(path_a, path_b, feeds, rtol or 0.0, atol or 0.0)
        elif "passed" in found:
            return Comparison(bool(found["passed"]), str(found.get("reason", "")), values)
        else:
            reason = _of_largest(values)
        return Comparison(reason is None, reason or "every output is within the tolerance", values)
