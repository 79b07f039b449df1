#!/usr/bin/env python3
"""Section of run.py: the real Paddle reads what `ampc convert` made of Paddle models.

It parses the program, loads the parameters, and computes the program with every low type replaced by float32: the weights as the conversion
left them, all arithmetic in fp32. The error against the original model is then the weights' alone, and the answer must be the same.
"""
import os

import common
import numpy as np
import onnx_answers
from common import convert_ampc, run_child, table

MODELS = {"rec": "ppocrv4_rec_onnx", "cls": "ppocr_cls_onnx"}  # folder of the Paddle model, rules of its answer
WAYS = [(), ("--low-io",), ("--level", "O1")]
TYPES = ("in_dtype", "out_dtype", "dtype")  # attributes of operations that hold a type


def widened_program(program, framework):
    """The program with float32 for every low type, and how many variables and attributes had one."""
    kinds = framework.VarType.Type
    low, wide, changed = (kinds.Value("FP16"), kinds.Value("BF16")), kinds.Value("FP32"), 0
    desc = framework.ProgramDesc.FromString(program.desc.serialize_to_string())
    for block in desc.blocks:
        for var in block.vars:
            for holder in (var.type.lod_tensor, var.type.tensor_array):
                if holder.tensor.data_type in low:
                    holder.tensor.data_type = wide
                    changed += 1
        for attribute in (a for op in block.ops for a in op.attrs if a.name in TYPES and a.i in low):
            attribute.i = wide
            changed += 1
    return desc.SerializeToString(), changed


def widened_values(tensor):
    values = np.array(tensor)
    if values.dtype == np.uint16:  # how Paddle shows bf16
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32) if values.dtype == np.float16 else values


def load(prefix):
    """As a user does: the program and the names of what it fetches, the parameters in the scope."""
    import paddle
    executor = paddle.static.Executor(paddle.CPUPlace())
    program, _, fetches = paddle.static.load_inference_model(prefix, executor)
    return executor, program, [fetch.name for fetch in fetches]


def child_compute(prefix, source, target):
    """Outputs for the feeds in `source`, in fp32 whatever the model's types are."""
    import paddle
    from paddle.base.proto import framework_pb2
    paddle.enable_static()
    executor, program, fetches = load(prefix)
    scope, low = paddle.static.global_scope(), 0
    for var in (v for v in program.list_vars() if v.persistable and v.name not in ("feed", "fetch")):
        tensor = scope.find_var(var.name).get_tensor()
        if tensor._dtype() != var.dtype or tuple(tensor.shape()) != tuple(var.shape):
            raise RuntimeError(f"{var.name} is declared {var.dtype} {var.shape}, its file has {tensor._dtype()} {tensor.shape()}")
        values = widened_values(tensor)
        low += values.dtype != np.array(tensor).dtype
        tensor.set(values, paddle.CPUPlace())
    text, changed = widened_program(program, framework_pb2)
    wide = paddle.static.Program.parse_from_string(text)
    out = executor.run(wide, feed=dict(np.load(source)), fetch_list=fetches)
    np.savez(target, *out)
    return {"operations": len(program.global_block().ops), "low_parameters": low, "low_types": changed}


def outputs(prefix, name, work):
    """One dict of outputs for each set of feeds, and the facts; or None and {"failed": why}."""
    found = []
    for k in (0, 1):
        target = os.path.join(work, "out.npz")
        facts = run_child(__file__, "compute", prefix, feeds_file(name, k), target)
        if "failed" in facts:
            return None, facts
        found.append(dict(np.load(target)))
    return found, facts


def feeds_file(name, k):
    return os.path.join(common.ROOT, "tools/quickstart/data", f"{name}_inputs_{k}.npz")


def judge(rules, name, want, got):
    answers = [[onnx_answers.answer(rules, dict(np.load(feeds_file(name, k))), side[k]) for k in (0, 1)] for side in (want, got)]
    same = all(onnx_answers.same(rules, a, b) for a, b in zip(*answers))
    return max(onnx_answers.error(a, b) for a, b in zip(want, got)), same


def section_paddle(args, work):
    rows, results = [["model", "dtype", "options", "operations", "low weights", "low types", "error", "answer"]], []
    for name, rules in MODELS.items():
        original = os.path.join(args.models, name, "inference")
        want, facts = outputs(original, name, work)
        if want is None:
            raise RuntimeError(f"{original}: {facts['failed']}")
        for dtype in ("fp16", "bf16"):
            for way in WAYS:
                row = {"model": name, "dtype": dtype, "options": " ".join(way)}
                prefix = os.path.join(work, f"{name}_{dtype}")
                facts = convert_ampc(args, original + ".pdmodel", prefix + ".pdmodel", dtype, *way)
                if "failed" not in facts:
                    got, facts = outputs(prefix, name, work)
                if "failed" in facts:
                    row["failed"] = facts["failed"]
                    rows.append([name, dtype, row["options"], "FAILS: " + row["failed"][:100], "", "", "", ""])
                else:
                    row["error"], row["same"] = judge(rules, name, want, got)
                    row.update((key, facts[key]) for key in ("operations", "low_parameters", "low_types"))
                    rows.append([name, dtype, row["options"], str(row["operations"]), str(row["low_parameters"]), str(row["low_types"]), "%.1e" % row["error"],
                                 "same" if row["same"] else "CHANGED"])
                results.append(row)
    table("converted models in the real Paddle, each low type replaced by float32: error and answer against the original", rows)
    return results


if __name__ == "__main__":
    common.serve_child({"compute": child_compute})
