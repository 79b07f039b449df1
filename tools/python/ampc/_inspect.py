"""The contents of a model, and whether it is well formed."""

from __future__ import annotations

import ctypes
import json
from typing import Any, Dict

from . import _lib


def inspect(model: _lib.ModelLike) -> Dict[str, Any]:
    """Signature, operators, types, weights and casts of a model, as `ampc inspect --json` prints them.

    Raises BadInput for a file that is absent or malformed.
    """
    given = _lib.GivenModel(model)
    handle = ctypes.c_void_p()
    _lib.check(_lib.inspect_model(ctypes.byref(given.c), ctypes.byref(handle)))
    return json.loads(_lib.Output(handle).text("json"))


def verify(model: _lib.ModelLike) -> Dict[str, Any]:
    """Checks that a model is well formed: types, order, names, signature, weights. The dict has `ok`, and `problem`, the first one.

    Raises BadInput for a file that cannot be read at all.
    """
    given = _lib.GivenModel(model)
    handle = ctypes.c_void_p()
    code = _lib.verify_model(ctypes.byref(given.c), ctypes.byref(handle))
    if code not in (0, 1):
        _lib.check(code)
    return json.loads(_lib.Output(handle).text("json"))
