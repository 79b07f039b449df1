"""convert: a model in mixed precision; strip: the fp32 model back."""

from __future__ import annotations

import ctypes
import html
import json
import os
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _lib
from ._errors import UsageError

class _Made:
    """A model that a call made: in a file, or in memory."""

    def __init__(self, output: _lib.Output, out: Optional[str], given: _lib.GivenModel, *kept: Any):
        self._output = output
        self._out = out
        self._given = given
        self._kept = kept  # what `output` reads, too
        self._files: Optional[Dict[str, bytes]] = None
        self.notes: List[str] = output.notes()

    @property
    def files(self) -> Dict[str, bytes]:
        """The model's files by name, the program first; empty where they were written to the disk."""
        if self._files is None:
            self._files = self._output.files()
        return self._files

    @property
    def model(self) -> Any:
        """The model for Session, compare and the others: the path where `out` was given; an onnx.ModelProto where one was converted; else bytes, or a dict
        {name: bytes} where the model has several files."""
        if self._out is not None:
            return self._out
        files = self.files
        if len(files) > 1:
            return files
        (data,) = files.values()
        if not self._given.is_proto:
            return data
        import onnx

        return onnx.ModelProto.FromString(data)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model to `path`, whose extension chooses the format; where it has several files, all of them get their names from it.

        The model that this one was made of still has to be there, and is not written over. Raises UsageError for its name or an unknown extension.
        """
        self._output.save(os.fspath(path))


class ConvertResult(_Made):
    """The result of convert: `model`, `files`, `save(path)`; `notes`, sentences that the user should read; `summary` and `report` as dicts."""

    @property
    def summary(self) -> Dict[str, Any]:
        """Names, sizes, seconds, and counts of operators, casts and weights."""
        return json.loads(self._output.text("json"))

    @property
    def report(self) -> Dict[str, Any]:
        """Every decision with its rule and reason, every cast and every weight."""
        return json.loads(self._output.text("report"))

    def html(self) -> str:
        """The report as a page that needs no other file."""
        return self._output.text("page")

    def _repr_html_(self) -> str:
        return '<iframe srcdoc="%s" style="width:100%%;height:640px;border:0"></iframe>' % html.escape(self.html(), quote=True)

    def __repr__(self) -> str:
        after = self.summary["after"]
        low = after["low_ops"]
        return "<ampc.ConvertResult: %d operators %s, %d fp32, %d casts>" % (
            low, self.summary["dtype"], after["float_ops"] - low, after["inserted_casts"])  # fmt: skip


class StripResult(_Made):
    """The result of strip: `model`, `files`, `save(path)`, `notes`."""

    def __repr__(self) -> str:
        return "<ampc.StripResult: %s>" % (self._out or ", ".join("%s, %d bytes" % (name, len(data)) for name, data in self.files.items()))


def _words(value: Union[str, Iterable[str]]) -> List[str]:
    return [value] if isinstance(value, str) else [str(word) for word in value]


def _exactly(name: str) -> str:
    """A selector for this name and no other."""
    plain = "".join("[%s]" % c if c in "*?[,;&" else c for c in name)
    return "name:" + plain


def _dtype(dtype: Any) -> str:
    if isinstance(dtype, str):
        return {"float16": "fp16", "bfloat16": "bf16"}.get(dtype.lower(), dtype.lower())
    name = getattr(dtype, "__name__", None) or str(dtype)
    return {"float16": "fp16", "bfloat16": "bf16"}.get(name.rsplit(".", 1)[-1], str(dtype))


def _feeds_files(data: Any, folder: str) -> List[str]:
    """Files of feeds: as they are named, or written to `folder`."""
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    files = []
    for i, run in enumerate([data] if isinstance(data, Mapping) else data):
        if isinstance(run, (str, os.PathLike)):
            files.append(os.fspath(run))
            continue
        files.append(os.path.join(folder, "%d.npz" % i))
        numpy.savez(files[-1], **{name: numpy.asarray(value) for name, value in run.items()})
    return files


def _default_name(given: _lib.GivenModel) -> str:
    """The name of a model in memory, in the format of the one that it is made of."""
    name = os.path.basename(given.name.rstrip("/"))
    if os.path.isdir(given.name):
        names = os.listdir(given.name)
        return "inference.json" if "inference.json" in names and not any(n.endswith(".pdmodel") for n in names) else "inference.pdmodel"
    return name if os.path.splitext(name)[1] else name + ".onnx"


def _decision(
    dtype: Any = "fp16",
    level: Optional[str] = "O2",
    keep_io_types: Union[bool, Sequence[str]] = True,
    nodes_to_exclude: Sequence[str] = (),
    op_types_to_exclude: Sequence[str] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    **options: Any,
) -> List[Tuple[str, str]]:
    """The options of the command that say the same, names of onnxconverter-common among them."""
    dtype = options.pop("low_precision_type", dtype)
    nodes = [*_words(nodes_to_exclude), *_words(options.pop("node_block_list", None) or ())]
    types = [*_words(op_types_to_exclude), *_words(options.pop("op_block_list", None) or ())]
    words: List[Tuple[str, str]] = [("dtype", _dtype(dtype))]
    if level is not None and not ("compat" in options and level == "O2"):
        words.append(("level", level))
    if keep_io_types is False:
        words.append(("low-io", "true"))
    elif keep_io_types is not True:
        words.append(("keep-io", ",".join(_words(keep_io_types))))
    words += [("exclude", _exactly(name)) for name in nodes]
    words += [("exclude", "type:" + name) for name in types]
    words += [("include", selector) for selector in _words(include)]
    words += [("exclude", selector) for selector in _words(exclude)]
    return words + _lib.words_of(options)


def convert(
    model: _lib.ModelLike,
    out: Union[str, "os.PathLike[str]", None] = None,
    *,
    dtype: Any = "fp16",
    level: Optional[str] = "O2",
    keep_io_types: Union[bool, Sequence[str]] = True,
    nodes_to_exclude: Sequence[str] = (),
    op_types_to_exclude: Sequence[str] = (),
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    calibration_data: Any = None,
    runtime: Optional[str] = None,
    progress: Optional[_lib.Progress] = None,
    **options: Any,
) -> ConvertResult:
    """Converts a trained model to mixed precision.

    Args:
      model: a path, the bytes of an ONNX model, an onnx.ModelProto, or a dict {name: bytes}.
      out: where the result is written, its extension chooses the format; None: it stays in memory.
      dtype: "fp16" or "bf16".
      level: "O2": all that is safe; "O1": matrix products and what follows them; "O0": nothing.
      keep_io_types: feeds and fetches keep their types; False: they become low; names: only these keep theirs.
      nodes_to_exclude: names of nodes, or of values that they define, that stay fp32.
      op_types_to_exclude: operator types that stay fp32.
      include, exclude: selectors of operators that become low or stay fp32 (`ampc convert --help`).
      runtime: what executes the converted model, "ort-cpu", "openvino", ...: operators that it cannot compute in that type stay fp32.
      calibration_data: feeds of runs that decide, too: a dict of arrays, several of them, or paths of .npz files.
      progress: called with (stage, done, total) now and then; returns False to stop, which raises Cancelled.
      options: all others of `ampc convert`, with `_` for `-`: on_overflow="keep", guard=True, report="r.html", white_list=["softmax"], plan=tune(...).plan, ...

    Names of onnxconverter-common are taken as well: op_block_list, node_block_list.

    Raises UsageError for options that contradict, BadInput for a bad model, Unsupported for what cannot be converted. A failed conversion leaves no
    output.
    """
    out = options.pop("output", out)
    if runtime is not None:
        options["runtime"] = runtime
    words = _decision(dtype, level, keep_io_types, nodes_to_exclude, op_types_to_exclude, include, exclude, **options)
    given = _lib.GivenModel(model)
    path = None if out is None else os.fspath(out)
    handle = ctypes.c_void_p()
    with tempfile.TemporaryDirectory(prefix="ampc-") as folder:
        if isinstance(options.get("plan"), Mapping):
            plan = os.path.join(folder, "plan.json")
            with open(plan, "w", encoding="utf-8") as file:
                json.dump(options["plan"], file)
            words = [(key, plan if key == "plan" else value) for key, value in words]
        if calibration_data is not None:
            words += [("calibrate", file) for file in _feeds_files(calibration_data, folder)]
        with _lib.callbacks_of(progress) as callbacks:
            name = os.fsencode(path or _default_name(given))
            _lib.check(_lib.convert_model(ctypes.byref(given.c), name, path is None, *_lib.options_of(words), callbacks, ctypes.byref(handle)))
    return ConvertResult(_lib.Output(handle), path, given)


def explain(
    model: _lib.ModelLike,
    *,
    op: Union[str, Sequence[str]] = (),
    why_cast: Optional[str] = None,
    progress: Optional[_lib.Progress] = None,
    **options: Any,
) -> Dict[str, Any]:
    """Why each operator of a conversion would compute in its type: the rule, and what led to it, as `ampc explain --json` prints it.

    Args:
      model: as convert's; also a converted one.
      op: selectors: only these operators. The dict has "ops", each with its type, precision, rule, reason and causes, and "casts".
      why_cast: a value: only its casts.
      progress: as convert's.
      options: those of convert that decide: dtype, level, nodes_to_exclude, include, white_list, ...

    Raises what convert raises. Nothing is written.
    """
    words = _decision(**options) + _lib.words_of({"op": list(_words(op)), "why_cast": why_cast})
    given = _lib.GivenModel(model)
    handle = ctypes.c_void_p()
    with _lib.callbacks_of(progress) as callbacks:
        _lib.check(_lib.explain_model(ctypes.byref(given.c), *_lib.options_of(words), callbacks, ctypes.byref(handle)))
    return json.loads(_lib.Output(handle).text("json"))


def strip(
    model: _lib.ModelLike,
    out: Union[str, "os.PathLike[str]", None] = None,
    *,
    weights: Optional[_lib.ModelLike] = None,
    progress: Optional[_lib.Progress] = None,
) -> StripResult:
    """Takes a conversion back. The weights are widened from what is stored, or, byte for byte, those of the model `weights`, the original."""
    given = _lib.GivenModel(model)
    original = None if weights is None else _lib.GivenModel(weights, "original.onnx")
    path = None if out is None else os.fspath(out)
    handle = ctypes.c_void_p()
    with _lib.callbacks_of(progress) as callbacks:
        source = None if original is None else ctypes.byref(original.c)
        name = os.fsencode(path or _default_name(given))
        _lib.check(_lib.strip_model(ctypes.byref(given.c), source, name, path is None, callbacks, ctypes.byref(handle)))
    return StripResult(_lib.Output(handle), path, given, original)
