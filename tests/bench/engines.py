#!/usr/bin/env python3
"""Inference engines for common.in_turn: ONNX Runtime, Paddle Inference, OpenVINO and ampc on the same feeds, a .npz file by input names.

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


def open_openvino(model, threads, precision):
    """Its fastest configuration for one stream, in f32, or in bf16 where the CPU has it: compiled for the shapes of the first feeds, which stay the feeds."""
    import openvino
    core = openvino.Core()
    network, request = core.read_model(model), []

    def run(tensors):
        if not request:
            feed = {port: next((name for name in tensors if name in port.get_names()), list(tensors)[port.get_index()]) for port in network.inputs}
            order = [feed[port] for port in network.inputs]
            try:
                network.reshape({port.get_index(): list(tensors[feed[port]].shape) for port in network.inputs})
            except RuntimeError:
                pass  # it runs with open dims then
            compiled = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                                                           "INFERENCE_NUM_THREADS": str(threads), "ENABLE_CPU_PINNING": "NO"})
            request.append(compiled.create_infer_request())
            for i, name in enumerate(order):
                request[0].set_input_tensor(i, openvino.Tensor(np.ascontiguousarray(tensors[name])))
        request[0].infer()
        return [request[0].get_output_tensor(i).data for i in range(len(network.outputs))]

    return run, [str(i) for i in range(len(network.outputs))]


OPEN = {"ort": open_ort, "paddle": open_paddle, "openvino": open_openvino}


def import_engine(engine):
    if engine == "ort":
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
    elif engine == "openvino":
        import openvino  # noqa: F401
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


def openvino(model, feeds, threads, runs, precision="bf16", save=""):
    return common.Worker(__file__, "measure", "openvino", model, feeds, threads, runs, save, precision)


def once(job, engine, *words):
    """measure without runs, or widths: a process that does it once."""
    return common.run_child(__file__, job, engine, *words)


if __name__ == "__main__":
    common.serve_child({"measure": child_measure, "widths": child_widths})
