#!/usr/bin/env python3
"""Inference engines for common.in_turn: ONNX Runtime, Paddle Inference and ampc on the same feeds, a .npz file by input names.

The peers run in processes of their own, so that one that dies of an illegal instruction costs its row only. Facts beside the times: "load" and
"first" (load and first run; seconds, without imports), "peak_bytes" of the process, "own_peak_bytes" (its growth since the imports).
"""
import os
import time

import common
import numpy as np

# Ways to run a model with Paddle Inference: oneDNN, passes deleted. Some of its passes use AVX-512 whatever the CPU has.
PADDLE = {
    "oneDNN": (True, []),
    "oneDNN, no self_attention_fuse_pass": (True, ["self_attention_fuse_pass"]),
    "plain": (False, []),
}


def child_ort(model, feeds, threads, runs, save):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    tensors = dict(np.load(feeds))
    base = common.peak_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    load = time.perf_counter() - start
    out = session.run(None, tensors)
    first = time.perf_counter() - start
    facts = {"load": load, "first": first, "own_peak_bytes": common.peak_bytes() - base}
    if save:
        np.savez(save, **dict(zip([o.name for o in session.get_outputs()], out)))
    common.serve_runs(lambda: session.run(None, tensors), runs, facts)


def child_paddle(model, feeds, threads, runs, save, way):
    from paddle import inference
    tensors = dict(np.load(feeds))
    base = common.peak_bytes()
    start = time.perf_counter()
    config = inference.Config(model, os.path.splitext(model)[0] + ".pdiparams")
    config.disable_gpu()
    config.disable_glog_info()
    config.enable_memory_optim()
    config.set_cpu_math_library_num_threads(int(threads))
    onednn, deleted = PADDLE[way]
    if onednn:
        config.enable_mkldnn()
    for name in deleted:
        config.delete_pass(name)
    predictor = inference.create_predictor(config)
    load = time.perf_counter() - start
    handles = {name: predictor.get_input_handle(name) for name in predictor.get_input_names()}
    fetches = [predictor.get_output_handle(name) for name in predictor.get_output_names()]

    def run():
        for name, handle in handles.items():
            handle.copy_from_cpu(tensors[name])
        predictor.run()
        return [fetch.copy_to_cpu() for fetch in fetches]

    out = run()
    first = time.perf_counter() - start
    facts = {"load": load, "first": first, "own_peak_bytes": common.peak_bytes() - base}
    if save:
        np.savez(save, **dict(zip(predictor.get_output_names(), out)))
    common.serve_runs(run, runs, facts)


def ort(model, feeds, threads, runs, save=""):
    return common.Worker(__file__, "ort", model, feeds, threads, runs, save)


def paddle(model, feeds, threads, runs, way, save=""):
    return common.Worker(__file__, "paddle", model, feeds, threads, runs, save, way)


if __name__ == "__main__":
    common.serve_child({"ort": child_ort, "paddle": child_paddle})
