"""ONNX Runtime in this process and ampc in one of its own: outputs by name, and seconds of the best run, both on one thread."""
import json
import os
import pickle
import signal
import subprocess
import time

import numpy as np
import onnxruntime

PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
BEST = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL


class Refused(Exception):
    """ampc's own sentence; `code` is its exit code."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class Crash(Exception):
    """ONNX Runtime's process ended by a signal, which no model is to be blamed for."""


def session(path, level=BEST):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads, options.log_severity_level = level, 1, 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_ort(path, feeds, level=BEST, repeat=0):
    """Outputs by name and, with repeat, the seconds of the best of so many further runs."""
    found = session(path, level)
    wanted = {i.name: feeds[i.name] for i in found.get_inputs()}
    outputs = dict(zip([o.name for o in found.get_outputs()], found.run(None, wanted)))
    best = None
    for _ in range(repeat):
        start = time.perf_counter()
        found.run(None, wanted)
        best = min(best or 1e9, time.perf_counter() - start)
    return outputs, best


def run_ort_apart(path, feeds, level=BEST):
    """Outputs by name of ONNX Runtime in a process of its own, which a crash ends instead of this one."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            answer = run_ort(path, feeds, level)[0]
        except Exception as e:
            answer = str(e)
        with os.fdopen(writer, "wb") as f:
            pickle.dump(answer, f)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as f:
        said = f.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise Crash(f"ONNX Runtime dies of {signal.Signals(-code).name}")
    answer = pickle.loads(said)
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return answer


class Ampc:
    def __init__(self, binary, folder, patience):
        self.binary, self.folder, self.patience = binary, folder, patience

    def call(self, *words):
        try:
            done = subprocess.run([self.binary, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=self.patience)
        except subprocess.TimeoutExpired:
            raise Refused(-1, f"ampc {words[0]} needs more than {self.patience} seconds") from None
        if done.returncode < 0:
            raise Refused(done.returncode, f"ampc {words[0]} dies of {signal.Signals(-done.returncode).name}")
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            raise Refused(done.returncode, f"exit {done.returncode}: {lines[-1] if lines else 'nothing said'}")
        return done.stdout

    def run(self, model, feeds, *options, repeat=1):
        """Outputs by name and the seconds of the best run."""
        source, target = os.path.join(self.folder, "in.npz"), os.path.join(self.folder, "out.npz")
        np.savez(source, **feeds)
        said = self.call("run", model, "--input", source, "-o", target, "--threads", 1, "--repeat", repeat, "--json", *options)
        with np.load(target) as found:
            outputs = dict(found)
        facts = json.loads(said)
        return outputs, facts.get("best_seconds") or facts.get("seconds")

    def convert(self, model, target, dtype):
        return json.loads(self.call("convert", model, "-o", target, "--dtype", dtype, "--json", "--no-sync"))
