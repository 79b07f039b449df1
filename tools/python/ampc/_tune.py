"""tune: which operators may be low, found by running the model."""

from __future__ import annotations

import ctypes
import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _lib
from ._convert import _decision, _feeds_files


class TuneResult:
    """The result of tune: `found`, and `plan`, a dict for convert(plan=...), or None where nothing was found.

    `points` has a dict for each assignment that was run as a whole: predicted times, casts, low operators, error, whether it was good; `chosen` is the
    index of the one that is proposed, or None. `kept_fp32` names the results of the operators that stay fp32; `notes` are sentences for the user.
    """

    def __init__(self, found: Dict[str, Any], plan: Optional[Dict[str, Any]], notes: List[str]):
        self.found: bool = found["found"]
        self.points: List[Dict[str, Any]] = found["points"]
        self.chosen: Optional[int] = found["chosen"]
        self.kept_fp32: List[str] = found["kept_fp32"]
        self.summary = found
        self.plan = plan
        self.notes = notes

    def __repr__(self) -> str:
        candidates, kept = self.summary["candidates"], len(self.kept_fp32)
        if not self.found:
            return "<ampc.TuneResult: nothing found>"
        return "<ampc.TuneResult: %d of %d operators low>" % (candidates - kept, candidates)


def tune(
    model: _lib.ModelLike,
    inputs: Any = None,
    budget: Optional[float] = None,
    *,
    dtype: Any = "fp16",
    dims: Optional[Mapping[str, Sequence[int]]] = None,
    seed: int = 0,
    progress: Optional[_lib.Progress] = None,
    **options: Any,
) -> TuneResult:
    """Finds the fastest mixed precision whose outputs are good enough, by running the model.

    Args:
      model: a path, bytes, a proto or a dict, as Session takes them.
      inputs: feeds of runs: a dict of arrays, several of them, or paths of .npz files; the last fifth is held back and verifies what the others
        chose. None: they are made up.
      budget: the largest error of an output, over its largest value; None: what compare lets pass.
      dtype: "fp16" or "bf16".
      dims, seed: of inputs that are made up: {"x": (1, 3, 224, 224)} where the model leaves dims open, and other values.
      progress: called with (stage, evaluations, 0); returns False to stop, which raises Cancelled.
      options: others of `ampc tune`, with `_` for `-`: goal="flops", evaluations=50, judge="python3 judge.py", target="cpu", exclude=["softmax"], ...

    Raises UsageError for options that contradict, BadInput for a bad model.
    """
    made_up = {} if inputs is not None else {"random": True, "seed": seed, "dims": ["%s=%s" % (k, ",".join(map(str, v))) for k, v in (dims or {}).items()]}
    kept = options.pop("plan_out", None)
    words = _decision(dtype, None, **options) + _lib.words_of({"budget": budget, **made_up})
    given = _lib.GivenModel(model)
    handle = ctypes.c_void_p()
    with tempfile.TemporaryDirectory(prefix="ampc-") as folder:
        plan = os.path.join(folder, "plan.json") if kept is None else os.fspath(kept)
        words += [("plan-out", plan)] + [("input", file) for file in ([] if inputs is None else _feeds_files(inputs, folder))]
        with _lib.callbacks_of(progress) as callbacks:
            code = _lib.tune_model(ctypes.byref(given.c), *_lib.options_of(words), callbacks, ctypes.byref(handle))
            if code not in (0, 1):
                _lib.check(code)
        output = _lib.Output(handle)
        chosen = None
        if code == 0:
            with open(plan, encoding="utf-8") as file:
                chosen = json.load(file)
    return TuneResult(json.loads(output.text("json")), chosen, output.notes())
