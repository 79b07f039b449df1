"""Conversions for a runtime, loaded there, against the originals there: run.sh starts this."""
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "onnx")
TOLERANCE = {"fp16": 0.031, "bf16": 0.125}  # as runtime/compare/verdict.h
RUNTIMES = ("ort-cpu", "openvino")
INPUTS = {"ppocrv4_rec_onnx": "rec", "ppocr_cls_onnx": "cls"}  # of fetched models; others have their own name


def models(folder, only):
    """Name, file and where the feeds are."""
    for path in sorted(glob.glob(os.path.join(GOLDEN, "more", "*", "model.onnx"))):
        yield os.path.basename(os.path.dirname(path)), path, os.path.join(os.path.dirname(path), "test_data_set_0")
    yield "small", os.path.join(GOLDEN, "small.onnx"), os.path.join(GOLDEN, "small_inputs_0.npz")
    for path in sorted(glob.glob(os.path.join(folder, "*", "model.onnx"))) if folder else []:
        name = os.path.basename(os.path.dirname(path))
        file = INPUTS.get(name, name) + "_inputs_0.npz"
        for place in (GOLDEN, os.path.join(ROOT, "tools", "quickstart", "data")):
            if os.path.exists(os.path.join(place, file)):
                yield name, path, os.path.join(place, file)
                break


def serve():
    """A process of its own, because a runtime may crash: runs what the lines of its input name."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    def feeds_of(path, data):
        if data.endswith(".npz"):
            return dict(np.load(data))
        graph = onnx.load(path, load_external_data=False).graph
        stored, feeds = {i.name for i in graph.initializer}, {}
        for k, value in enumerate(i for i in graph.input if i.name not in stored):
            with open(os.path.join(data, "input_%d.pb" % k), "rb") as f:
                tensor = onnx.TensorProto.FromString(f.read())
            feeds[value.name] = numpy_helper.to_array(tensor)
        return feeds

    def run(runtime, path, data):
        feeds = feeds_of(path, data)
        if runtime == "ort-cpu":
            import onnxruntime
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)
        import openvino
        compiled = openvino.Core().compile_model(path, "CPU")
        return list(compiled(feeds).values())

    for line in sys.stdin:
        job = json.loads(line)
        try:
            np.savez(job["out"], *[np.asarray(value) for value in run(job["runtime"], job["path"], job["data"])])
            print("ok", flush=True)
        except Exception as error:
            print(str(error).strip().replace("\n", " ")[-300:] or repr(error), flush=True)


class Worker:
    def __init__(self):
        self.process = None

    def run(self, **job):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return line.strip() if line else "crashes with %d" % self.process.wait()


def classes(x):
    """The first class of each row; of a sequence of rows without repetitions and without class 0, as recognisers of text are read."""
    best = x.argmax(-1)
    return best.tolist() if x.ndim != 3 else [[k for i, k in enumerate(row) if k and (i == 0 or row[i - 1] != k)] for row in best.tolist()]


def difference(a, b):
    """The largest difference over the largest value, of all float results; 0 for probabilities of classes of which the first stays."""
    import numpy as np
    worst = 0.0
    for x, y in zip((a[k] for k in a.files), (b[k] for k in b.files)):
        if x.dtype.kind != "f" or x.size == 0:
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        if x.shape != y.shape or (np.isfinite(x) != np.isfinite(y)).any():
            return np.inf
        if x.ndim > 1 and x.shape[-1] > 1 and (x >= 0).all() and np.allclose(x.sum(-1), 1, atol=1e-3) and classes(x) == classes(y):
            continue
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        worst = max(worst, np.abs(x - y).max(initial=0) / max(np.abs(x).max(initial=0), 1e-6))
    return worst


def main(ampc, left_out, folder, only):
    import numpy as np
    with open(left_out) as f:
        known = {line.split("#")[0].strip(): False for line in f if line.split("#")[0].strip()}
    bad, counts, worker = 0, {}, Worker()
    with tempfile.TemporaryDirectory() as work:
        before, after = os.path.join(work, "before.npz"), os.path.join(work, "after.npz")
        for name, path, data in models(folder, only):
            if only and only not in name:
                continue
            for runtime in RUNTIMES:
                original = worker.run(runtime=runtime, path=path, data=data, out=before)
                for dtype in TOLERANCE:
                    count = counts.setdefault((runtime, dtype), {"passed": 0, "left out": 0, "original does not run": 0, "not converted": 0, "nothing low": 0})
                    if original != "ok":
                        count["original does not run"] += 1
                        continue
                    low = os.path.join(work, "low.onnx")
                    done = subprocess.run([ampc, "convert", path, "-o", low, "--dtype", dtype, "--runtime", runtime, "--json", "--no-sync"], capture_output=True, text=True)
                    if done.returncode == 4:
                        count["not converted"] += 1
                        continue
                    what = done.stderr.strip() if done.returncode else worker.run(runtime=runtime, path=low, data=data, out=after)
                    if what == "ok":
                        with np.load(before) as a, np.load(after) as b:
                            error = difference(a, b)
                        what = "ok" if error <= TOLERANCE[dtype] else "differs by %.3g" % error
                    key = "%s %s %s" % (name, runtime, dtype)
                    if what == "ok":
                        count["passed"] += 1
                        count["nothing low"] += json.loads(done.stdout)["after"]["low_ops"] == 0
                    elif key in known:
                        known[key], count["left out"] = True, count["left out"] + 1
                    else:
                        bad += 1
                        print("%s: %s" % (key, what), flush=True)
    for key, met in known.items():
        if not met and not only and (folder or key.startswith(("test_", "small"))):
            bad += 1
            print("left_out.txt names %s, which passes" % key)
    for (runtime, dtype), count in counts.items():
        print(runtime, dtype + ":", ", ".join("%d %s" % (n, what) for what, n in count.items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1:] == ["serve"] else main(*sys.argv[1:]))
