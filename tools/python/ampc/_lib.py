"""The C interface through ctypes: tools/c_api/ampc.h says what everything means."""

from __future__ import annotations

import contextlib
import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _native
from ._errors import Cancelled, raise_for
from ._types import code_of

_C = ctypes.CDLL(_native.__file__)

Progress = Callable[[str, float, float], Any]
PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_double, c_double)
LOG = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class Option(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class Value(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("dims", POINTER(c_int64))]


class File(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("bytes", c_size_t)]


class Model(Structure):
    _fields_ = [("path", c_char_p), ("files", POINTER(File)), ("num_files", c_size_t)]


class Tensor(Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("dims", POINTER(c_int64)), ("data", c_void_p), ("bytes", c_size_t)]


class Callbacks(Structure):
    _fields_ = [("user", c_void_p), ("progress", PROGRESS), ("log", LOG)]


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(_C, name)
    function.restype, function.argtypes = result, arguments
    return function


_OPTIONS = (POINTER(Option), c_size_t)
error_text = _declare("ampc_error_text", c_char_p)
version = _declare("ampc_version", c_char_p)
load_model = _declare("ampc_load_model", c_int, POINTER(Model), *_OPTIONS, POINTER(c_void_p))
free_session = _declare("ampc_free_session", None, c_void_p)
num_inputs = _declare("ampc_num_inputs", c_size_t, c_void_p)
num_outputs = _declare("ampc_num_outputs", c_size_t, c_void_p)
input_at = _declare("ampc_input", c_int, c_void_p, c_size_t, POINTER(Value))
output_at = _declare("ampc_output", c_int, c_void_p, c_size_t, POINTER(Value))
_free_output = _declare("ampc_free_outcome", None, c_void_p)
_num_files = _declare("ampc_num_files", c_size_t, c_void_p)
_output_file = _declare("ampc_outcome_file", c_int, c_void_p, c_size_t, POINTER(File))
_num_notes = _declare("ampc_num_notes", c_size_t, c_void_p)
_note = _declare("ampc_note", c_char_p, c_void_p, c_size_t)
_save = _declare("ampc_outcome_save", c_int, c_void_p, c_char_p)
_TEXTS = {kind: _declare("ampc_outcome_" + kind, c_int, c_void_p, POINTER(c_char_p)) for kind in ("json", "report", "page")}
convert_model = _declare("ampc_convert_model", c_int, POINTER(Model), c_char_p, c_int, *_OPTIONS, POINTER(Callbacks), POINTER(c_void_p))
strip_model = _declare("ampc_strip_model", c_int, POINTER(Model), POINTER(Model), c_char_p, c_int, POINTER(Callbacks), POINTER(c_void_p))
compare_models = _declare(
    "ampc_compare_models", c_int, POINTER(Model), POINTER(Model), POINTER(Tensor), c_size_t, *_OPTIONS, POINTER(Callbacks), POINTER(c_void_p))  # fmt: skip
explain_model = _declare("ampc_explain_model", c_int, POINTER(Model), *_OPTIONS, POINTER(Callbacks), POINTER(c_void_p))
tune_model = _declare("ampc_tune_model", c_int, POINTER(Model), *_OPTIONS, POINTER(Callbacks), POINTER(c_void_p))
inspect_model = _declare("ampc_inspect_model", c_int, POINTER(Model), POINTER(c_void_p))
verify_model = _declare("ampc_verify_model", c_int, POINTER(Model), POINTER(c_void_p))


def check(code: int) -> None:
    if code != 0:
        raise_for(code, error_text().decode("utf-8", "replace"))


def options_of(options: Sequence[Tuple[str, str]]) -> Tuple[Any, int]:
    """An array of options and its length, as functions take it."""
    array = (Option * max(1, len(options)))()
    for slot, (key, value) in zip(array, options):
        slot.key, slot.value = key.encode(), os.fsencode(value)
    return array, len(options)


def words_of(options: Mapping[str, Any]) -> List[Tuple[str, str]]:
    """Keywords as options: `_` is `-`, a list gives an option several times, None leaves it out."""
    words = []
    for key, value in options.items():
        for word in value if isinstance(value, (list, tuple)) else [] if value is None else [value]:
            words.append((key.replace("_", "-"), ("true" if word else "false") if isinstance(word, bool) else str(word)))
    return words


def read_npz(path: Any) -> Dict[str, numpy.ndarray]:
    """The arrays of an .npz file."""
    try:
        with numpy.load(path) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise_for(3, "%s: no such file" % os.fspath(path))
    except Exception as error:
        raise_for(3, "%s: not an .npz file of arrays by name: %s" % (os.fspath(path), error))
    raise AssertionError


def tensors_of(arrays: Sequence[Tuple[str, Any]]) -> Tuple[Any, int, List[Any]]:
    """An array of tensors over the memory of NumPy's arrays, its length, and what has to be kept meanwhile."""
    tensors, kept = (Tensor * max(1, len(arrays)))(), []
    for slot, (name, value) in zip(tensors, arrays):
        array = numpy.require(value.detach() if hasattr(value, "detach") else value, requirements=["C", "A"])
        dims = (c_int64 * array.ndim)(*array.shape)
        slot.name, slot.dtype, slot.rank, slot.dims = name.encode(), code_of(array.dtype), array.ndim, dims
        slot.data, slot.bytes = array.ctypes.data, array.nbytes
        kept += [array, dims]
    return tensors, len(arrays), kept


# A model that a caller may name or hand over.
ModelLike = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, Any], Any]


def _address(data: Any) -> Tuple[int, int, Any]:
    """{address, bytes, what keeps them} of a bytes-like object."""
    if isinstance(data, bytes):
        return ctypes.cast(c_char_p(data), c_void_p).value or 0, len(data), data
    view = memoryview(data).cast("B")
    if view.readonly:
        array = numpy.frombuffer(view, numpy.uint8)
        return array.ctypes.data, array.size, array
    buffer = (ctypes.c_char * len(view)).from_buffer(view)
    return ctypes.addressof(buffer), len(view), buffer


class GivenModel:
    """A model as the C interface takes it. Bytes are not copied: whoever uses a session keeps this object."""

    def __init__(self, model: ModelLike, name: str = "model.onnx"):
        self.is_proto = hasattr(model, "SerializeToString")
        if self.is_proto:
            model = model.SerializeToString()
        self.in_memory = not isinstance(model, (str, os.PathLike))
        if not self.in_memory:
            self.name = os.fspath(model)
            self._kept: List[Any] = []
            self.c = Model(os.fsencode(self.name), None, 0)
            return
        files: Dict[str, Any] = dict(model) if isinstance(model, Mapping) else {name: model}
        if not files:
            raise_for(2, "the model has no files")
        self.name = next(iter(files))
        array = (File * len(files))()
        self._kept = [array]
        for slot, (file, data) in zip(array, files.items()):
            try:
                slot.data, slot.bytes, kept = _address(data)
            except TypeError:
                raise TypeError("a model is a path, bytes, an onnx.ModelProto or a dict of names and bytes, not %s" % type(data).__name__) from None
            slot.name = file.encode()
            self._kept.append(kept)
        self.c = Model(self.name.encode(), array, len(files))


class Output:
    """The result of a call."""

    def __init__(self, handle: c_void_p):
        self._handle = handle

    def __del__(self) -> None:
        _free_output(self._handle)

    def text(self, kind: str) -> str:
        text = c_char_p()
        check(_TEXTS[kind](self._handle, byref(text)))
        return (text.value or b"").decode("utf-8", "replace")

    def save(self, path: str) -> None:
        check(_save(self._handle, os.fsencode(path)))

    def notes(self) -> List[str]:
        return [_note(self._handle, i).decode("utf-8", "replace") for i in range(_num_notes(self._handle))]

    def files(self) -> Dict[str, bytes]:
        out = {}
        for i in range(_num_files(self._handle)):
            file = File()
            check(_output_file(self._handle, i, byref(file)))
            out[os.fsdecode(file.name)] = ctypes.string_at(file.data, file.bytes)
        return out


@contextlib.contextmanager
def callbacks_of(progress: Optional[Progress]) -> Iterator[Any]:
    """The callbacks for a call. An exception of `progress` stops the call and is raised in its place."""
    raised: List[BaseException] = []

    def tell(_user: int, stage: bytes, done: float, total: float) -> int:
        try:
            return 0 if progress(stage.decode(), done, total) is False else 1  # type: ignore[misc]
        except BaseException as error:  # KeyboardInterrupt, too
            raised.append(error)
            return 0

    try:
        if progress is None:
            yield None
        else:
            yield byref(Callbacks(None, PROGRESS(tell), LOG(0)))
    except Cancelled:
        if raised:
            raise raised[0] from None
        raise
