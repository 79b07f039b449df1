"""Element types: the numbers of the C interface and NumPy's dtypes. Those that NumPy lacks come from the package ml_dtypes, where it is installed."""

from __future__ import annotations

import functools

import numpy

from ._errors import Unsupported

# By the number in tools/c_api/ampc.h: ONNX Runtime's name, NumPy's or ml_dtypes' name.
_TYPES = {
    1: ("bool", "bool"), 2: ("uint8", "uint8"), 3: ("int8", "int8"), 4: ("int16", "int16"), 5: ("int32", "int32"), 6: ("int64", "int64"),
    7: ("float16", "float16"), 8: ("bfloat16", "bfloat16"), 9: ("float", "float32"), 10: ("double", "float64"), 11: ("complex64", "complex64"),
    12: ("complex128", "complex128"), 13: ("uint16", "uint16"), 14: ("uint32", "uint32"), 15: ("uint64", "uint64"), 16: ("uint4", "uint4"),
    17: ("int4", "int4"), 18: ("uint2", "uint2"), 19: ("int2", "int2"), 20: ("float8e4m3fn", "float8_e4m3fn"),
    21: ("float8e4m3fnuz", "float8_e4m3fnuz"), 22: ("float8e5m2", "float8_e5m2"), 23: ("float8e5m2fnuz", "float8_e5m2fnuz"),
    24: ("float8e8m0", "float8_e8m0fnu"), 25: ("float4e2m1", "float4_e2m1fn"),
}  # fmt: skip
_NUMPYS = frozenset((1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15))


@functools.lru_cache(maxsize=None)
def dtype_of(code: int) -> numpy.dtype:
    name = _TYPES[code][1]
    if code in _NUMPYS:
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise Unsupported("NumPy has no %s; the package ml_dtypes, which has, is not installed" % name) from None
    if not hasattr(ml_dtypes, name):
        raise Unsupported("NumPy has no %s, and this version of ml_dtypes neither" % name)
    return numpy.dtype(getattr(ml_dtypes, name))


def code_of(dtype: numpy.dtype) -> int:
    """The number of a dtype, in whatever byte order that is the machine's."""
    for code, (_, name) in _TYPES.items():
        if dtype.name == name and dtype.isnative:
            return code
    raise Unsupported("an array of %s cannot be a feed" % dtype)


def onnx_name(code: int) -> str:
    """As ONNX Runtime says it: tensor(float)."""
    return "tensor(%s)" % _TYPES[code][0]
