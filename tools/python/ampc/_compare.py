"""compare: two models on the same feeds, value by value, and a verdict."""

from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lib
from ._errors import UsageError


class Comparison:
    """The verdict of compare: `passed`, and `reason`, one sentence.

    `values` has a dict for each value that both models have, in the order in which they are computed, the outputs last: name, op, dtype_a, dtype_b, fetch,
    max_abs, max_rel (over the largest magnitude of the value in the first model), max_ulp, cosine, ... `lost_most` names the value at which the difference
    grew most, or is None. `runs` has a dict for each of several runs: source, passed, reason; the values are then those of the worst. `notes` are
    sentences about feeds that were made up.
    """

    def __init__(self, found: Dict[str, Any], notes: List[str]):
        self.passed: bool = found["passed"]
        self.reason: str = found["reason"]
        self.values: List[Dict[str, Any]] = found["values"]
        self.lost_most: Optional[Dict[str, Any]] = found["lost_most"]
        self.runs: List[Dict[str, Any]] = found.get("runs", [])
        self.notes = notes

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


def _items(feeds: Any) -> List[Tuple[str, Any]]:
    """The arrays of all runs, with their names."""
    if feeds is None:
        return []
    items: List[Tuple[str, Any]] = []
    for run in [feeds] if isinstance(feeds, (Mapping, str, os.PathLike)) else feeds:
        if isinstance(run, (str, os.PathLike)):
            run = _lib.read_npz(run)
        if not isinstance(run, Mapping):
            raise UsageError("feeds are a dict of arrays by name, or a list of such, not %s" % type(run).__name__)
        items += run.items()
    return items


def compare(
    a: _lib.ModelLike,
    b: _lib.ModelLike,
    feeds: Union[Mapping[str, Any], str, "os.PathLike[str]", Sequence[Any], None] = None,
    rtol: Optional[float] = None,
    atol: Optional[float] = None,
    *,
    dims: Optional[Mapping[str, Sequence[int]]] = None,
    seed: int = 0,
    progress: Optional[_lib.Progress] = None,
    **options: Any,
) -> Comparison:
    """Runs two models on the same feeds, every operator rounding its result to its type, and compares all values that both have.

    Args:
      a, b: the reference and the model to judge: paths, bytes, protos or dicts, as Session takes them.
      feeds: arrays by name; floats are converted to each model's own type. Several of them, or paths of .npz files: each run has to pass. None: they
        are made up.
      rtol, atol: with either, every element of every output has to be within atol + rtol * |a|; without, outputs are judged by a tolerance that the types
        of the models bring with them.
      dims, seed: of feeds that are made up: {"x": (1, 3, 224, 224)} where the model leaves dims open, and other values.
      progress: called with (stage, done, total); returns False to stop, which raises Cancelled.
      options: others of `ampc compare`, with `_` for `-`: tolerance=0.02, outputs_only=True, threads=1, device="cuda:0", ...

    Raises UsageError where feeds do not fit or b has an output that a does not have.
    """
    made_up = {} if feeds is not None else {"random": True, "seed": seed, "dims": ["%s=%s" % (k, ",".join(map(str, v))) for k, v in (dims or {}).items()]}
    words = _lib.words_of({"rtol": rtol, "atol": atol, **made_up, **options})
    first, second = _lib.GivenModel(a), _lib.GivenModel(b)
    tensors, count, _kept = _lib.tensors_of(_items(feeds))
    handle = ctypes.c_void_p()
    with _lib.callbacks_of(progress) as callbacks:
        code = _lib.compare_models(
            ctypes.byref(first.c), ctypes.byref(second.c), tensors, count, *_lib.options_of(words), callbacks, ctypes.byref(handle))  # fmt: skip
        if code not in (0, 1):
            _lib.check(code)
    output = _lib.Output(handle)
    return Comparison(json.loads(output.text("json")), output.notes())
