#!/usr/bin/env python3
"""Prints graph/ops/onnx/schemas_microsoft.inc from the operator definitions of the Python package onnxruntime, of the operators named here:

  python3 tools/onnx/write_microsoft_schemas.py > graph/ops/onnx/schemas_microsoft.inc
"""

import onnx
import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
from onnxruntime.capi.onnxruntime_pybind11_state import schemadef

import write_schemas

OPERATORS = """
Attention BiasAdd BiasGelu BiasSoftmax BiasSplitGelu ConvTransposeWithDynamicPads CropAndResize DequantizeLinear DynamicQuantizeLSTM
DynamicQuantizeMatMul EmbedLayerNormalization ExpandDims FastGelu FusedConv FusedGemm FusedMatMul FusedMatMulActivation Gelu GemmFastGelu
GroupNorm GroupQueryAttention Inverse MatMulIntegerToFloat MatMulNBits MulInteger MultiHeadAttention NhwcConv NhwcFusedConv NhwcMaxPool QAttention
QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearReduceMean
QLinearSigmoid QLinearSoftmax QLinearWhere QuantizeLinear QuickGelu Range RotaryEmbedding SkipGroupNorm SkipLayerNormalization
SkipSimplifiedLayerNormalization TransposeMatMul Trilu UnfoldTensor
""".split()


class Formal:
    """A formal as onnx has it."""

    def __init__(self, formal):
        option = schemadef.OpSchema.FormalParameterOption
        kinds = onnx.defs.OpSchema.FormalParameterOption
        self.name, self.type_str, self.is_homogeneous = formal.name, formal.typeStr, formal.isHomogeneous
        self.option = {option.Single: kinds.Single, option.Optional: kinds.Optional, option.Variadic: kinds.Variadic}[formal.option]


class Attribute:
    def __init__(self, attribute):
        self.name, self.required = attribute.name, attribute.required
        self.type = onnx.defs.OpSchema.AttrType.__members__[attribute.type.name]
        self.default_value = onnx.AttributeProto.FromString(attribute._default_value)


class Schema:
    def __init__(self, schema):
        self.name, self.since_version, self.deprecated = f"{schema.domain}.{schema.name}", schema.since_version, schema.deprecated
        self.inputs, self.outputs = [Formal(f) for f in schema.inputs], [Formal(f) for f in schema.outputs]
        self.type_constraints = schema.type_constraints
        self.attributes = {name: Attribute(a) for name, a in schema.attributes.items()}


def main():
    print("// Rows as in schemas.inc; written by tools/onnx/write_microsoft_schemas.py from onnxruntime " + onnxruntime.__version__ + ".")
    schemas = [s for s in get_all_operator_schema() if s.domain == "com.microsoft" and s.name in OPERATORS]
    for schema in sorted(schemas, key=lambda s: s.name):
        print(write_schemas.row(Schema(schema), True))


if __name__ == "__main__":
    main()
