"""Session: runs a model, in the shape of ONNX Runtime's InferenceSession."""

from __future__ import annotations

import ctypes
from operator import itemgetter
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _lib, _native
from ._errors import UsageError, raise_for
from ._metadata import ModelMetadata, read_metadata
from ._types import dtype_of, onnx_name


def _view(address: int, size: int, shape: Tuple[int, ...], dtype: numpy.dtype, owner: Any) -> numpy.ndarray:
    """An array over memory of native code, which `owner` keeps."""
    buffer = (ctypes.c_char * size).from_address(address)
    buffer._owner = owner
    return numpy.frombuffer(buffer, dtype).reshape(shape)


_native.setup(numpy.ndarray, numpy.empty, _view, raise_for)


# Arguments of ONNX Runtime's session.
_ELSEWHERE = {
    "providers": "; here it is device='cpu' or device='cuda:0'",
    "provider_options": "; here it is device='cpu' or device='cuda:0'",
    "sess_options": "; here it is threads=N",
}


class NodeArg(NamedTuple):
    """An input or output of a model. `shape` has None, or a name, for a dim that only a run knows; None for an unknown rank."""

    name: str
    type: str
    shape: Optional[List[Union[int, str, None]]]
    dtype: Any


def _described(handle: Any, count: int, at: Callable) -> List[Tuple[NodeArg, int]]:
    out = []
    for i in range(count):
        value = _lib.Value()
        _lib.check(at(handle, i, ctypes.byref(value)))
        shape = None if value.rank < 0 else [d if d >= 0 else None for d in value.dims[: value.rank]]
        name = value.name.decode("utf-8", "replace")
        out.append((NodeArg(name, onnx_name(value.dtype), shape, dtype_of(value.dtype)), value.dtype))
    return out


class _Handle:
    """The native session; what runs in it outlives a Session that is deleted meanwhile."""

    def __init__(self, model: _lib.GivenModel, options: List[Tuple[str, str]]):
        self.model = model  # its bytes are read as long as the session lives
        self.pointer = ctypes.c_void_p()
        _lib.check(_lib.load_model(ctypes.byref(model.c), *_lib.options_of(options), ctypes.byref(self.pointer)))

    def __del__(self) -> None:
        if self.pointer:
            _lib.free_session(self.pointer)


class Session:
    """A model ready to run.

    Args:
      model: a path (.onnx, .pdmodel, .json, .ampc, a folder), the bytes of an ONNX model, an onnx.ModelProto, or a dict {name: bytes} whose first
        entry is the program and the others the files that it refers to.
      device: "cpu", or "cuda:0" in a build with CUDA.
      threads: of one run; 0: all processors.
      params: the file with the weights where the model's name does not imply it.
      strict_rounding: every operator rounds its result to its declared type.
      tune_plans: a JSON file of measured choices between implementations of convolutions and products; shapes that it lacks are measured in the
        first run with them, and added.

    Raises BadInput for a file that is absent or malformed, Unsupported for an operator or device that cannot be run.

    Any number of threads may use one Session at the same time; Python's lock is released during a run.
    """

    def __init__(
        self,
        model: _lib.ModelLike,
        device: str = "cpu",
        threads: int = 0,
        *,
        params: Optional[str] = None,
        strict_rounding: bool = False,
        tf32: bool = False,
        tune_plans: Optional[str] = None,
        **others: Any,
    ):
        for name in others:
            raise UsageError("a session has no argument '%s'%s" % (name, _ELSEWHERE.get(name, "")))
        options = [("device", device), ("threads", str(int(threads)))]
        options += [(key, "true") for key, value in (("strict-rounding", strict_rounding), ("tf32", tf32)) if value]
        options += [(key, str(path)) for key, path in (("params", params), ("tune-plans", tune_plans)) if path is not None]
        self._device = device
        self._given = _lib.GivenModel(model)
        self._handle = _Handle(self._given, options)
        pointer = self._handle.pointer
        inputs = _described(pointer, _lib.num_inputs(pointer), _lib.input_at)
        outputs = _described(pointer, _lib.num_outputs(pointer), _lib.output_at)
        self._inputs = [value for value, _ in inputs]
        self._outputs = [value for value, _ in outputs]
        self._input_names = [value.name for value in self._inputs]
        self._output_names = [value.name for value in self._outputs]
        self._runner = _native.prepare(
            pointer.value, tuple(v.dtype for v in self._inputs), tuple(code for _, code in inputs), tuple(v.dtype for v in self._outputs)
        )
        names = self._input_names
        if len(names) == 1:
            name = names[0]
            self._pick = lambda feeds: (feeds[name],)
        else:
            self._pick = itemgetter(*names) if names else lambda feeds: ()

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any], run_options: Any = None) -> List[numpy.ndarray]:
        """One run: the outputs named, in that order; None: all, in the order of get_outputs().

        Feeds are arrays, or what numpy.asarray or DLPack makes arrays of, with the dtype and dims of get_inputs(); contiguous arrays are taken as they
        are. A missing or unknown feed, another dtype or dims that do not fit are UsageErrors.
        """
        try:
            feeds = self._pick(input_feed)
        except Exception:  # whatever is no mapping raises when it is asked
            feeds = None
        if feeds is None or len(input_feed) != len(feeds):
            self._check_names(input_feed)
        results = _native.run(self._runner, feeds)
        if results is None:
            results = _native.run(self._runner, tuple(_array(feed, value) for feed, value in zip(feeds, self._inputs)))
        return results if output_names is None else self._named(results, output_names)

    def __call__(self, *args: Any, **feeds: Any) -> Any:
        """s(x=image), or s(image) in the order of the inputs: the output, or a tuple where the model has several."""
        if len(args) > len(self._input_names):
            raise UsageError("found %d inputs, the model has %d: %s" % (len(args), len(self._input_names), ", ".join(self._input_names)))
        for name, value in zip(self._input_names, args):
            if name in feeds:
                raise UsageError("input '%s' is given twice" % name)
            feeds[name] = value
        results = self.run(None, feeds)
        return results[0] if len(results) == 1 else tuple(results)

    def get_inputs(self) -> List[NodeArg]:
        return list(self._inputs)

    def get_outputs(self) -> List[NodeArg]:
        return list(self._outputs)

    def get_providers(self) -> List[str]:
        """For programs that ask an ONNX Runtime session."""
        return ["CPUExecutionProvider" if self._device == "cpu" else "CUDAExecutionProvider"]

    def get_modelmeta(self) -> ModelMetadata:
        """Producer, names and custom_metadata_map of an ONNX model; empty for other formats."""
        return read_metadata(self._given)

    def __repr__(self) -> str:
        def signature(values: List[NodeArg]) -> str:
            return ", ".join("%s: %s%s" % (v.name, v.dtype, "" if v.shape is None else v.shape) for v in values)

        return "ampc.Session(%s -> %s)" % (signature(self._inputs), signature(self._outputs))

    def _check_names(self, feeds: Mapping[str, Any]) -> None:
        if not isinstance(feeds, Mapping):
            raise UsageError("feeds are a dict of arrays by name, {%s}, not %s" % (", ".join("'%s': ..." % n for n in self._input_names), type(feeds).__name__))
        for name in self._input_names:
            if name not in feeds:
                raise UsageError("feed '%s' is missing, the model needs %s" % (name, ", ".join(self._input_names)))
        for name in feeds:
            if name not in self._input_names:
                raise UsageError("the model has no feed '%s'; it has %s" % (name, ", ".join(self._input_names)))

    def _named(self, results: List[numpy.ndarray], names: Sequence[str]) -> List[numpy.ndarray]:
        by_name: Dict[str, numpy.ndarray] = dict(zip(self._output_names, results))
        for name in names:
            if name not in by_name:
                raise UsageError("the model has no output '%s'; it has %s" % (name, ", ".join(self._output_names)))
        return [by_name[name] for name in names]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int), ("device_id", ctypes.c_int), ("rank", ctypes.c_int), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]  # fmt: skip


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_DL_CPU, _DL_BFLOAT = 1, 4


def _from_dlpack(feed: Any) -> Optional[numpy.ndarray]:
    """An array over a bfloat16 tensor of another framework, which NumPy's own reader refuses; None for other types."""
    capsule = feed.__dlpack__()
    tensor = ctypes.cast(_pointer_in(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    if tensor.code != _DL_BFLOAT or tensor.bits != 16 or tensor.device_type != _DL_CPU:
        return None
    shape = tensor.shape[: tensor.rank]
    if not feed.is_contiguous():
        return _from_dlpack(feed.contiguous())
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if count == 0:
        return numpy.empty(shape, dtype_of(8))
    return _view(tensor.data + tensor.offset, 2 * count, tuple(shape), dtype_of(8), (capsule, feed))


def _array(feed: Any, value: NodeArg) -> numpy.ndarray:
    """An array as native code takes it: contiguous, with the model's dtype."""
    array = feed
    if not isinstance(feed, numpy.ndarray):
        if hasattr(feed, "detach"):
            feed = feed.detach()
        if hasattr(feed, "__dlpack__") and hasattr(feed, "is_contiguous"):
            array = _from_dlpack(feed)
            if array is None:
                array = numpy.from_dlpack(feed)
        elif hasattr(feed, "__dlpack__") and not isinstance(feed, numpy.generic):
            array = numpy.from_dlpack(feed)
        else:
            array = numpy.asarray(feed)
            if array.dtype != value.dtype and not hasattr(feed, "dtype") and array.dtype.kind in "biuf":
                array = array.astype(value.dtype)  # numbers of Python have no type that a model could mean
    if array.dtype != value.dtype:
        raise UsageError("feed '%s' is %s, the model needs %s" % (value.name, array.dtype, value.dtype))
    # Exactly an array in native byte order, whose dtype is the object that the runner knows.
    return numpy.require(array, value.dtype, ["C", "A"]).view(numpy.ndarray).reshape(array.shape).view(value.dtype)
