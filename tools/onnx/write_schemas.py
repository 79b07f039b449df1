#!/usr/bin/env python3
"""Prints graph/ops/onnx/schemas.inc from the operator definitions of the Python package onnx:

  python3 tools/onnx/write_schemas.py > graph/ops/onnx/schemas.inc
"""

import onnx
from onnx import defs

DTYPES = {
    "tensor(bool)": "b", "tensor(uint8)": "u8", "tensor(int8)": "i8", "tensor(int16)": "i16", "tensor(int32)": "i32", "tensor(int64)": "i64",
    "tensor(float16)": "f16", "tensor(bfloat16)": "bf16", "tensor(float)": "f32", "tensor(double)": "f64", "tensor(complex64)": "c64",
    "tensor(complex128)": "c128", "tensor(uint16)": "u16", "tensor(uint32)": "u32", "tensor(uint64)": "u64", "tensor(uint4)": "u4",
    "tensor(int4)": "i4", "tensor(uint2)": "u2", "tensor(int2)": "i2", "tensor(float8e4m3fn)": "f8e4m3fn", "tensor(float8e4m3fnuz)": "f8e4m3fnuz",
    "tensor(float8e5m2)": "f8e5m2", "tensor(float8e5m2fnuz)": "f8e5m2fnuz", "tensor(float8e8m0)": "f8e8m0", "tensor(float4e2m1)": "f4e2m1",
}
ORDER = list(DTYPES.values()) + ["?"]
KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "GRAPH": "g", "TENSOR": "t", "FLOATS": "F", "INTS": "I", "STRINGS": "S"}
# Integers that are numbers of data types.
DTYPE_ATTRS = {"to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision", "precision"}


def type_set(names):
    found = {DTYPES.get(name, "?") for name in names}
    return "|".join(t for t in ORDER if t in found)


def formal_text(formal, used, constraints):
    key = formal.type_str
    if key not in used:
        used[key] = type_set(constraints.get(key, [key]))
    text = f"{formal.name}:{list(used).index(key)}"
    if formal.option == defs.OpSchema.FormalParameterOption.Optional:
        text += "?"
    elif formal.option == defs.OpSchema.FormalParameterOption.Variadic:
        text += "*" if formal.is_homogeneous else "#"
    return text


def attr_text(attr):
    kind = KINDS.get(attr.type.name, "?")
    if kind == "i" and attr.name in DTYPE_ATTRS:
        kind = "d"
    text = f"{attr.name}:{kind}"
    if attr.required:
        return text + "!"
    default = attr.default_value
    if default.type == onnx.AttributeProto.UNDEFINED:
        return text
    value = onnx.helper.get_attribute_value(default)
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, list):
        value = ",".join(v.decode() if isinstance(v, bytes) else repr(v) for v in value)
    if kind == "f":
        value = f"{value:.9g}"
    return f"{text}={value}"


def row(schema, last):
    """Deprecated by the standard and the last version: taken out. One that a later version follows is in models."""
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    used = {}
    inputs = " ".join(formal_text(f, used, constraints) for f in schema.inputs)
    outputs = " ".join(formal_text(f, used, constraints) for f in schema.outputs)
    attrs = " ".join(attr_text(schema.attributes[name]) for name in sorted(schema.attributes))
    version = -schema.since_version if schema.deprecated and last else schema.since_version
    formals, types = f"{inputs} > {outputs}".strip(), " ".join(used.values())
    parts = [f'{{"{schema.name}", {version}, "{formals}",', f'"{types}",', f'"{attrs}"}},']
    return " ".join(parts) if sum(map(len, parts)) < 138 else "\n ".join(parts)


def main():
    print("// {operator, first operator set (negative where it was taken out), formals, type sets, attributes}; written by tools/onnx/write_schemas.py")
    print(f"// from onnx {onnx.__version__}. Formals: name:type with ? optional, * variadic, # variadic of mixed types. Attributes: name:kind, ! required, =default.")
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain == ""]
    # The row SimplifiedLayerNormalization is kept by hand: ONNX Runtime writes it into the default domain, the standard does not have it.
    schemas.sort(key=lambda s: (s.name, s.since_version))
    for schema, following in zip(schemas, schemas[1:] + [None]):
        print(row(schema, following is None or following.name != schema.name))


if __name__ == "__main__":
    main()
