"""ampc: automatic mixed precision for trained models, and a runtime for them.

    import ampc

    r = ampc.convert("model.onnx", dtype="fp16")    # r.model, r.report, r.notes; a page in Jupyter
    y = ampc.Session(r.model).run(None, {"x": x})   # in the shape of ONNX Runtime
    assert ampc.compare("model.onnx", r.model, {"x": x}).passed
"""

from ._compare import Comparison, compare
from ._convert import ConvertResult, StripResult, convert, explain, strip
from ._errors import BadInput, Cancelled, Error, Unsupported, UsageError
from ._inspect import inspect, verify
from ._lib import version as _version
from ._session import NodeArg, Session
from ._tune import TuneResult, tune

__version__ = _version().decode()
__all__ = [
    "BadInput", "Cancelled", "Comparison", "ConvertResult", "Error", "NodeArg", "Session", "StripResult", "TuneResult", "Unsupported", "UsageError", "compare",
    "convert", "explain", "inspect", "strip", "tune", "verify",
]  # fmt: skip
