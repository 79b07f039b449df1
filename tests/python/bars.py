#!/usr/bin/env python3
"""Measures the bars of the Python package; exit status 1 where one is not met.

  python3 tests/python/bars.py [WHEEL]    in an environment with the package, NumPy, onnx and onnxruntime, outside of the tree

The wheel's size; what `import ampc` takes beyond NumPy; Session.run of a tiny model beside ONNX Runtime's, both with one thread, in turns; a
conversion by ampc.convert beside the command's, in processes of their own, in turns: seconds, and peak memory beyond that of the imports.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

BARS = []
LAYERS, WIDTH = 40, 1024  # of the model to convert: 160 MB


def bar(name, most, found, unit=""):
    BARS.append(found <= most)
    print("%-52s %10s %12s   %s" % (name, ("<= %g" % most) + unit, "%.3g%s" % (found, unit), "yes" if found <= most else "NO"), flush=True)


def out_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def import_milliseconds():
    code = "import numpy, time\nstart = time.perf_counter()\nimport ampc\nprint(1e3 * (time.perf_counter() - start))"
    return min(float(out_of(sys.executable, "-c", code)) for _ in range(15))


def save(path, nodes, initializers, width):
    from onnx import TensorProto, helper, save_model

    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], initializers)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def layers(path, count, width):
    """A chain of matrix products and activations."""
    import numpy
    from onnx import helper, numpy_helper

    random = numpy.random.default_rng(0)
    weights = [numpy_helper.from_array(random.standard_normal((width, width), numpy.float32) / width, "w%d" % i) for i in range(count)]
    nodes = []
    for i in range(count):
        nodes.append(helper.make_node("MatMul", ["x" if i == 0 else "r%d" % (i - 1), "w%d" % i], ["m%d" % i]))
        nodes.append(helper.make_node("Relu", ["m%d" % i], ["y" if i == count - 1 else "r%d" % i]))
    save(path, nodes, weights, width)


def run_ratio(folder):
    """Of the best times of one call; what a call costs is nearly all of it."""
    import ampc
    import numpy
    import onnxruntime

    path = os.path.join(folder, "tiny.onnx")
    layers(path, 1, 4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    own = ampc.Session(path, threads=1)
    feeds = {"x": numpy.ones((1, 4), numpy.float32)}
    best = {}
    for _ in range(200):
        for session in (own, peer):
            start = time.perf_counter()
            for _ in range(200):
                session.run(None, feeds)
            best[session] = min(best.get(session, 1.0), (time.perf_counter() - start) / 200)
    print("one run: ampc %.2f us, ONNX Runtime %.2f us" % (1e6 * best[own], 1e6 * best[peer]))
    return best[own] / best[peer]


PEAK = """
def peak():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))
"""


def convert_in_python(path, out):
    code = PEAK + (
        "import json, sys, time, ampc\nbefore, start = peak(), time.perf_counter()\nampc.convert(sys.argv[1], sys.argv[2])\n"
        "print(json.dumps([time.perf_counter() - start, peak() - before]))"
    )
    return json.loads(out_of(sys.executable, "-c", code, path, out))


def convert_by_command(path, out):
    code = "import subprocess, sys, time, resource\nstart = time.perf_counter()\nsubprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
    code += "print('[%f, %f]' % (time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))"
    return json.loads(out_of(sys.executable, "-c", code, sys.executable, "-m", "ampc", "convert", path, "-o", out))


def main():
    print("%-52s %10s %12s" % ("bar", "", "found"))
    if sys.argv[1:]:
        bar("the wheel", 30, os.path.getsize(sys.argv[1]) / 1e6, " MB")
    bar("import beyond NumPy", 100, import_milliseconds(), " ms")
    with tempfile.TemporaryDirectory() as folder:
        bar("Session.run of a tiny model / ONNX Runtime's", 1.2, run_ratio(folder))
        path, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "low.onnx")
        layers(path, LAYERS, WIDTH)
        found = [(convert_in_python(path, out), convert_by_command(path, out)) for _ in range(7)]
        own, command = (tuple(min(turn[k][i] for turn in found) for i in (0, 1)) for k in (0, 1))
        print("a conversion of %d MB: ampc.convert %.3f s, %.0f MB; ampc convert %.3f s, %.0f MB" % (LAYERS * WIDTH * WIDTH * 4 / 1e6, *own, *command))
        bar("ampc.convert / ampc convert, seconds", 1.1, own[0] / command[0])
        bar("ampc.convert / ampc convert, memory", 1.1, own[1] / command[1])
    return 0 if all(BARS) else 1


if __name__ == "__main__":
    sys.exit(main())
