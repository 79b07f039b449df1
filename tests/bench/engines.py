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


def open_ort(model, threads):
    """A function from feeds to outputs, in the order of the names that come with it. The library is imported by import_engine before."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda tensors: session.run(None, tensors), [o.name for o in session.get_outputs()]


def open_paddle(model, threads, way):
    from paddle import inference
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
    handles = {name: predictor.get_input_handle(name) for name in predictor.get_input_names()}
    fetches = [predictor.get_output_handle(name) for name in predictor.get_output_names()]

    def run(tensors):
        for name, handle in handles.items():
            handle.copy_from_cpu(tensors[name])
        predictor.run()
        return [fetch.copy_to_cpu() for fetch in fetches]

    return run, predictor.get_output_names()


OPEN = {"ort": open_ort, "paddle": open_paddle}


def import_engine(engine):
    if engine == "ort":
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
    else:
        import paddle.inference  # noqa: F401


def child_measure(engine, model, feeds, threads, runs, save, *way):
    tensors = dict(np.load(feeds))
    import_engine(engine)
    base, start = common.peak_bytes(), time.perf_counter()
    run, names = OPEN[engine](model, threads, *way)
    load = time.perf_counter() - start
    out = run(tensors)
    facts = {"load": load, "first": time.perf_counter() - start, "own_peak_bytes": common.peak_bytes() - base}
    if save:
        np.savez(save, **dict(zip(names, out)))
    if not int(runs):
        return facts
    return common.serve_runs(lambda: run(tensors), runs, facts)


def child_widths(engine, model, feeds, threads, widths, *way):
    """Seconds of the first run with each width (the last dim of the only feed) and of the fastest of the next three."""
    (name, values), = np.load(feeds).items()
    import_engine(engine)
    run, _ = OPEN[engine](model, threads, *way)
    run({name: values})
    first, later = [], []
    for width in map(int, widths.split(",")):
        tensors = {name: np.resize(values, (*values.shape[:-1], width))}
        times = []
        for _ in range(4):
            start = time.perf_counter()
            run(tensors)
            times.append(time.perf_counter() - start)
        first.append(times[0])
        later.append(min(times[1:]))
    return {"first": first, "later": later}


def ort(model, feeds, threads, runs, save=""):
    return common.Worker(__file__, "measure", "ort", model, feeds, threads, runs, save)


def paddle(model, feeds, threads, runs, way, save=""):
    return common.Worker(__file__, "measure", "paddle", model, feeds, threads, runs, save, way)


def once(job, engine, *words):
    """measure without runs, or widths: a process that does it once."""
    return common.run_child(__file__, job, engine, *words)


if __name__ == "__main__":
    common.serve_child({"measure": child_measure, "widths": child_widths})
