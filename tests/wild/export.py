"""Both of torch's exporters: "script" traces, "dynamo" captures the graph by torch.export."""
import warnings

import make
import torch

OPSETS = {"script": 17, "dynamo": 18}


def export(module, inputs, network, exporter, path):
    """Writes path; raises what the exporter raises. Outputs are named out_0, out_1, ..."""
    with torch.no_grad():
        count = len(make.flatten(module(*inputs.values())))
    names = {"input_names": list(inputs), "output_names": [f"out_{k}" for k in range(count)]}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if exporter == "script":
            torch.onnx.export(module, tuple(inputs.values()), path, dynamo=False, opset_version=OPSETS[exporter], dynamic_axes=network.dynamic or None,
                              do_constant_folding=True, **names)
            return
        shapes = None
        if network.dynamic:
            shapes = (tuple({axis: torch.export.Dim.AUTO for axis in network.dynamic.get(name, {})} for name in inputs),)
        torch.onnx.export(module, tuple(inputs.values()), path, dynamo=True, opset_version=OPSETS[exporter], dynamic_shapes=shapes, external_data=False,
                          verbose=False, **names)
