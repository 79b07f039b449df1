"""Exported models as users change them: optimised by ONNX Runtime, quantised, weights in a file of their own."""
import os

import onnx
import onnxruntime
from onnxruntime import quantization

LEVELS = {"basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC, "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}
QUANTISED = ("qdq", "qoperator", "dynamic")
# Which exporter's model each is made of: all of them for both would double the time and show little more.
OF = {"script": ("basic", "extended", "all", "qdq", "dynamic"), "dynamo": ("basic", "extended", "qoperator", "external")}


# Of weights, as ONNX Runtime's guide asks for where a processor has no VNNI: there its kernels add pairs of products in 16 bits, which saturate.
SEVEN_BITS = dict(reduce_range=True)


class OneSet(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.rest = [feeds]

    def get_next(self):
        return self.rest.pop() if self.rest else None


def optimised(source, target, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.optimized_model_filepath = LEVELS[level], target
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def static(source, target, quant_format, per_channel, feeds, bits):
    quantization.quantize_static(source, target, OneSet(feeds), quant_format=quant_format, per_channel=per_channel,
                                 activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8, **bits)


def external(source, target):
    onnx.save(onnx.load(source), target, save_as_external_data=True, location=os.path.basename(target) + ".data")


def move_scales(source, target, moved):
    """Writes source with `moved` of each scale, as ONNX Runtime's quantisers name them."""
    model = onnx.load(source)
    for weight in model.graph.initializer:
        if weight.name.endswith("_scale") and weight.data_type == onnx.TensorProto.FLOAT:
            weight.CopyFrom(onnx.numpy_helper.from_array(moved(onnx.numpy_helper.to_array(weight)), weight.name))
    onnx.save(model, target)


def make(variant, source, target, feeds, bits=SEVEN_BITS):
    """Writes target; raises what the tool raises. `bits` goes to quantisers."""
    if variant in LEVELS:
        optimised(source, target, variant)
    elif variant == "qdq":
        static(source, target, quantization.QuantFormat.QDQ, True, feeds, bits)
    elif variant == "qoperator":
        static(source, target, quantization.QuantFormat.QOperator, False, feeds, bits)
    elif variant == "dynamic":
        quantization.quantize_dynamic(source, target, **bits)
    elif variant == "external":
        external(source, target)
    else:
        raise ValueError(variant)
