"""The metadata of an ONNX model: a walk over the fields of its outermost message, which reads no weights."""

from __future__ import annotations

import mmap
from typing import Any, Dict, Iterator, NamedTuple, Tuple

from ._lib import GivenModel


class ModelMetadata(NamedTuple):
    """As ONNX Runtime's."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    version: int
    custom_metadata_map: Dict[str, str]


def _varint(data: Any, at: int) -> Tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: Any, at: int, end: int) -> Iterator[Tuple[int, int, int, int]]:
    """(field, number, begin, end) of each; `number` for varints, begin and end for what has a length."""
    while at < end:
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            number, at = _varint(data, at)
            yield tag >> 3, number, at, at
        elif kind == 2:
            size, at = _varint(data, at)
            yield tag >> 3, 0, at, at + size
            at += size
        else:
            at += 8 if kind == 1 else 4


def _texts(data: Any, begin: int, end: int) -> Dict[int, str]:
    return {field: bytes(data[b:e]).decode("utf-8", "replace") for field, _, b, e in _fields(data, begin, end)}


def _read(data: Any, size: int) -> ModelMetadata:
    text = {2: "", 4: "", 6: ""}  # producer_name, domain, doc_string
    graph, version, custom = "", 0, {}
    for field, number, begin, end in _fields(data, 0, size):
        if field in text:
            text[field] = bytes(data[begin:end]).decode("utf-8", "replace")
        elif field == 5:
            version = number
        elif field == 7:
            for inner, _, b, e in _fields(data, begin, end):
                if inner == 2:
                    graph = bytes(data[b:e]).decode("utf-8", "replace")
        elif field == 14:
            entry = _texts(data, begin, end)
            custom[entry.get(1, "")] = entry.get(2, "")
    return ModelMetadata(text[2], graph, text[4], text[6], version, custom)


def read_metadata(model: GivenModel) -> ModelMetadata:
    if not model.name.endswith(".onnx"):
        return ModelMetadata("", "", "", "", 0, {})
    if model.in_memory:
        import ctypes

        file = model.c.files[0]
        data = (ctypes.c_ubyte * file.bytes).from_address(file.data)
        return _read(data, file.bytes)
    with open(model.name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _read(data, len(data))
