"""A conversion to fp16 or bf16, and what is to be said about it."""
import os

import boxes
import judge
import numpy as np
import onnx
from engines import PLAIN, Crash, Refused, run_ort_apart


def checked(path):
    """"" where the standard's checker takes the model with full type checking, else its sentence."""
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
        return ""
    except Exception as e:
        return next(iter(str(e).strip().splitlines()), "refused")[:200]


def run_ort_if_it_lives(path, feeds):
    """Outputs of ONNX Runtime, and "" or the sentence about its crash where it needs its optimiser turned off to give any."""
    try:
        return run_ort_apart(path, feeds), ""
    except Crash as e:
        return run_ort_apart(path, feeds, PLAIN), f"{e}, and runs the model with its optimiser turned off"


def lower(examination, path, dtype, wanted):
    """`faults` are sentences about what must not be: the checker or ONNX Runtime refuse what they took before, ampc does not run it, or finite answers are lost."""
    low = os.path.join(examination.folder, f"{dtype}.onnx")
    try:
        facts = examination.ampc.convert(path, low, dtype)
    except Refused as e:
        return {"faults": [], "declined": str(e)} if e.code == 4 else {"faults": [str(e)]}
    result = {"low_flops": facts["after"]["low_flops_share"] or 0.0, "faults": []}
    refusal = checked(low)
    if refusal and not checked(path):
        result["faults"].append(f"checker: {refusal}")
    theirs = None
    try:
        theirs, crash = run_ort_if_it_lives(low, examination.feeds)
        result["ort_error"] = far(theirs, wanted, examination)
        result.update({"ort_crash": crash} if crash else {})
    except Exception as e:
        said = str(e).strip().replace("\n", " ")[:300]
        if dtype == "fp16" or "NOT_IMPLEMENTED" not in said:  # its CPU provider has few kernels for bf16
            result["faults"].append(f"ONNX Runtime does not load it: {said}")
    try:
        found = examination.ampc.run(low, examination.feeds, "--strict-rounding")[0]
        result["error"] = far(found, wanted, examination)
        if not np.isfinite(result["error"]):
            result["faults"].append("lost: " + judge.describe(found, wanted, judge.worst(found, wanted)[1]))
        if examination.network.boxes:
            result["boxes"] = agreements(found, theirs, wanted)
    except Refused as e:
        result["faults"].append(f"run: {e}")
    if not examination.options.keep:
        for name in os.listdir(examination.folder):
            if name.startswith(dtype + ".onnx"):
                os.remove(os.path.join(examination.folder, name))
    return result


def agreements(found, theirs, wanted):
    """Of boxes in the lower precision: which share is where fp32 has it, by ampc and by ONNX Runtime, and which is where ONNX Runtime has it."""
    shares = {"ampc": boxes.agreement(found, wanted)}
    if theirs is not None:
        shares.update(ort=boxes.agreement(theirs, wanted), both=boxes.agreement(found, theirs))
    return shares


def far(found, wanted, examination):
    """As judge.worst of the outputs that are numbers; integers (a place, a token) may be others in a lower precision, and then so may what follows: 2."""
    same = all(n in found and found[n].shape == wanted[n].shape for n in wanted)
    if examination.network.boxes:
        why, _, count = boxes.match(found, wanted)
        return 2.0 if why and np.isfinite(found[next(iter(found))]).all() else judge.worst(found, wanted)[0] if not why and count else 0.0
    if not same:
        return 2.0 if any(v.dtype.kind != "f" for v in wanted.values()) else np.inf
    whole = [n for n in wanted if wanted[n].dtype.kind != "f" and not np.array_equal(found[n], wanted[n])]
    numbers = {n: v for n, v in wanted.items() if v.dtype.kind == "f"}
    error = judge.worst(found, numbers)[0]
    return max(error, 2.0) if whole and np.isfinite(error) else error
