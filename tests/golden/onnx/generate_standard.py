#!/usr/bin/env python3
"""The standard's own node models of operators that came behind those of libonnx-testdata, with what its reference implementation gives.

    pip install onnx numpy; python3 generate_standard.py

writes more/test_<name>/model.onnx and its data set next to this file.
"""
import importlib
import os
import shutil

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case import base, node

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = "attention rotaryembedding tensorscatter cumprod swiglu".split()
NAMES = """
attention_3d_diff_heads_sizes_softcap attention_3d_gqa_with_past_and_present attention_3d_local_window attention_4d_attn_mask_bool_4d
attention_4d_attn_mask_3d_causal attention_4d_causal_nonpad_attn_mask_composition attention_4d_causal_nonpad_negative_offset_structural_empty
attention_4d_diff_heads_with_past_and_present_mask4d attention_4d_gqa_causal_nonpad_decode_fp16 attention_4d_scaled
attention_4d_softcap_neginf_mask_poison attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal attention_4d_with_qk_matmul
attention_4d_with_qk_matmul_softcap attention_4d_with_qk_matmul_softmax attention_23_fullymasked_qk_matmul_output_mode3_zero
attention_bidirectional_window attention_local_window_with_past attention_local_window_ext_cache_rank4_batch_mask
cumprod_1d_reverse_exclusive cumprod_1d_int32_exclusive cumprod_2d_negative_axis rotary_embedding_3d_input rotary_embedding_interleaved
rotary_embedding_no_position_ids_rotary_dim rotary_embedding_with_interleaved_rotary_dim swiglu_alpha tensorscatter tensorscatter_3d
tensorscatter_circular
""".split()


def collect():
    """Importing the module of an operator already runs its cases once, where the package is complete."""
    for name in MODULES:
        module = importlib.import_module("onnx.backend.test.case.node." + name)
        for cls in vars(module).values():
            if not (isinstance(cls, type) and issubclass(cls, base.Base) and cls is not base.Base):
                continue
            for export in [f for f in dir(cls) if f.startswith("export")]:
                try:
                    getattr(cls, export)()
                except ValueError:  # there already
                    pass
    return {case.name: case for case in node._NodeTestCases}


def main():
    cases = collect()
    for name in NAMES:
        case = cases["test_" + name]
        folder = os.path.join(HERE, "more", "test_" + name)
        shutil.rmtree(folder, ignore_errors=True)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        onnx.save(case.model, os.path.join(folder, "model.onnx"))
        for kind, arrays in zip(("input", "output"), case.data_sets[0]):
            for i, a in enumerate(arrays):
                tensor = a if isinstance(a, onnx.TensorProto) else numpy_helper.from_array(np.asarray(a))
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                    f.write(tensor.SerializeToString())


if __name__ == "__main__":
    main()
