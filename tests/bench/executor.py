#!/usr/bin/env python3
"""Section of run.py: what an operation costs that does next to nothing, a chain of 10,000 relu of one element, with fusion and reuse of operands off."""
import os
import time

import common
import onnx_made
from common import table

OPS = 10000


def child_ort(model, threads, runs):
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = int(threads), 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {"x": np.full([1], 0.5, np.float32)}
    session.run(None, feeds)
    common.serve_runs(lambda: session.run(None, feeds), runs, {"first": time.perf_counter() - start})


def section_executor(args, work):
    path, results, rows = os.path.join(work, "chain.onnx"), [], [["a chain of %d relu" % OPS, "threads", "per op", "load + first run"]]
    onnx_made.relus(path, OPS)
    for threads in args.threads:
        ours = common.AmpcBench(args, "chain", None, threads, "--strict-rounding", "--no-in-place")
        best = common.in_turn({"ampc": ours, "ort": common.Worker(__file__, "ort", path, threads, 20)}, 2 * args.rounds)
        for r in best.values():
            if "failed" not in r:
                r["seconds_per_op"] = r["best"] / OPS
        results.append({"threads": threads, **best})
        rows += [[who, str(threads), r["failed"] if "failed" in r else "%.1f ns" % (1e9 * r["seconds_per_op"]), common.ms(r, "first")] for who, r in best.items()]
    table("the executor alone", rows)
    return results


if __name__ == "__main__":
    common.serve_child({"ort": child_ort})
