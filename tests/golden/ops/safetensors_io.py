"""Writes .safetensors files, small and the same on every run."""

import json

import numpy as np

_TYPES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64",
    "float16": "F16", "float32": "F32", "float64": "F64",
}


def write(path, tensors):
    """`tensors`: name -> array, written in the order of the names."""
    header, data = {}, b""
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        raw = array.tobytes()
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)
