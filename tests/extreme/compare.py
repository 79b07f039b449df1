#!/usr/bin/env python3
"""The models with extreme values in ONNX Runtime: where it gives results, ampc's are the same.

  tests/extreme/compare.py --sweep bazel-bin/tests/extreme/sweep_main --ampc bazel-bin/tools/ampc [--count 500] [--first 0] [--seed 1]

Each model runs in a process of its own that has 4 GB and 20 s. Differences, and models that only one of the two runs, are printed with their indexes; exit status 1 where a
result differs. What only ONNX Runtime runs is counted and does not fail: the standard leaves it open what out-of-range attributes do.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile

_WORKER = """
import sys, numpy as np, onnxruntime as ort
folder = sys.argv[1]
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
session = ort.InferenceSession(folder + "/odd.onnx", options, providers=["CPUExecutionProvider"])
with np.load(folder + "/in.npz") as feeds:
    results = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
np.savez(folder + "/ort.npz", **{o.name: np.asarray(r) for o, r in zip(session.get_outputs(), results)})
"""
_RANDOM = ("Random", "Multinomial", "Bernoulli", "Dropout")


def _limit():
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(args):
    """The exit code, 124 after 20 s; and the last line of what it said."""
    try:
        done = subprocess.run(args, capture_output=True, timeout=20, preexec_fn=_limit, check=False)
    except subprocess.TimeoutExpired:
        return 124, "timeout"
    text = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return done.returncode, text[-1] if text else ""


def difference(folder):
    """The difference between the two results, or ""."""
    import numpy as np  # noqa: E402 (only where it is needed)
    with np.load(folder + "/ort.npz", allow_pickle=True) as ours, np.load(folder + "/out.npz") as theirs:
        for name in ours.files:
            a, b = ours[name], theirs[name]
            if a.shape != b.shape or a.dtype != b.dtype:
                return "%s: %s %s, ONNX Runtime has %s %s" % (name, b.dtype, b.shape, a.dtype, a.shape)
            if a.dtype.kind not in "fc":
                same = np.array_equal(a, b)
            else:
                with np.errstate(all="ignore"):
                    largest = np.max(np.abs(a[np.isfinite(a)].astype("f8")), initial=0)
                    rel = 2e-2 if a.dtype == np.float16 else 1e-4
                    same = np.allclose(b.astype("f8"), a.astype("f8"), rtol=rel, atol=rel * max(largest, 1e-30), equal_nan=True)
            if not same:
                return "%s differs: %s, ONNX Runtime has %s" % (name, b.ravel()[:4], a.ravel()[:4])
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweep", required=True)
    parser.add_argument("--ampc", required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts = {"both, same": 0, "both, other": 0, "only ONNX Runtime": 0, "only ampc": 0, "neither": 0}
    for index in range(options.first, options.first + options.count):
        with tempfile.TemporaryDirectory() as folder:
            wrote = subprocess.run([options.sweep, "--seed", str(options.seed), "--only", "onnx.", "--write", str(index), folder], capture_output=True, check=True)
            what = " ".join(wrote.stdout.decode("utf-8", "replace").split())
            model, feeds = os.path.join(folder, "odd.onnx"), os.path.join(folder, "in.npz")
            ampc, said = run([options.ampc, "run", model, "--input", feeds, "-o", folder + "/out.npz", "--threads", "1", "--strict-rounding"])
            peer, _ = run([sys.executable, "-c", _WORKER, folder])
            if ampc != 0 or peer != 0:
                kind = "only ampc" if ampc == 0 else "only ONNX Runtime" if peer == 0 else "neither"
                if kind == "only ONNX Runtime":
                    print("%d %s\n    %s" % (index, what, said))
            else:
                wrong = "" if any(word in what for word in _RANDOM) else difference(folder)
                kind = "both, other" if wrong else "both, same"
                if wrong:
                    print("%d %s\n    %s" % (index, what, wrong))
            counts[kind] += 1
    print(", ".join("%s: %d" % item for item in counts.items()))
    return 1 if counts["both, other"] else 0


if __name__ == "__main__":
    sys.exit(main())
